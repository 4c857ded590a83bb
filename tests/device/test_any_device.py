"""Everything runs on another device as on the CPU: tried on one that is not there (pretend.py), for want of a GPU.

Where TRANSFORMER_EDU_DEVICE names one that is there, on that (`tools/device_report.py`).
"""

import contextlib
import io
import json
import os

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import nn

import transformer_edu as te
from tests.device.pretend import DEVICE, pretended
from tests.properties.models import BOS, EOS, PAD, SOURCE, TARGET, VOCAB, small_model
from tests.unit import test_models as families
from transformer_edu import fast
from transformer_edu.data import Batch, iterate_batches, reverse_pairs
from transformer_edu.inspect.changes import changed
from transformer_edu.inspect.contributions import rollout
from transformer_edu.inspect.head_effects import head_effects, token_losses
from transformer_edu.inspect.heads import attention_distance, head_entropies, offset_share
from transformer_edu.inspect.lens import stream_logits
from transformer_edu.training import evaluate_loss, exact_match, load_model, save_model, train

pytestmark = pytest.mark.usefixtures("at_readers_speed")
THERE = torch.device(os.environ.get("TRANSFORMER_EDU_DEVICE") or DEVICE)
ABOUT = {"rtol": 1e-5, "atol": 1e-5} if THERE != DEVICE else {}  # processors differ in the last digits
X = torch.linspace(-2, 2, 48).reshape(2, 3, 8)
MASK = torch.tensor([[True, True, False], [True, False, False], [False, False, False]])
IMAGES = torch.linspace(-1, 1, 432).reshape(1, 3, 12, 12)
BATCH = Batch(SOURCE, TARGET[:, :-1], TARGET[:, 1:])
MAPS = torch.linspace(0, 1, 72).reshape(2, 4, 3, 3).softmax(-1)


def module(kind, *sizes, **options):
    torch.manual_seed(0)
    return kind(*sizes, **options).eval()


def recorded(model):
    with te.record_attention(model) as maps, te.record_activations(model) as stream:
        model(SOURCE.to(place(model)), TARGET.to(place(model)))
    return {**maps, **stream}


def place(model):
    return next(model.parameters()).device


def of_family(on, name):
    model = on(families.made(name))
    if isinstance(model, families.ViT):
        return model(on(IMAGES))
    reads_two = isinstance(model, families.T5 | families.Marian)
    return model(on(SOURCE), on(TARGET)) if reads_two else model(on(SOURCE))


def changed_output(model):
    with changed(model, unscaled=True, unmasked=True, heads={"encoder.0.self.0": "off"}):
        return model(SOURCE.to(place(model)), TARGET.to(place(model)))


def with_blocked_position(model):
    with te.mask_position([layer.self_attention for layer in model.encoder.layers], 0, 1):
        return model(SOURCE.to(place(model)), TARGET.to(place(model)))


def step_by_step(model, source):
    writer = model.start(source)
    first = writer.next_logits(source[:, :1])
    writer.reorder(torch.tensor([2, 0, 0], device=source.device))
    return first, writer.next_logits(source[:, 1:3])


def model_of(**fields):
    return small_model(**fields).eval()


# name -> what runs on a device: a function of `on`, which puts a tensor or a module there
RUNS = {
    "attention": lambda on: te.scaled_dot_product_attention(*[on(X)] * 3, on(MASK)),
    "attention, fused": lambda on: te.scaled_dot_product_attention(*[on(X)] * 3, on(MASK), need_weights=False)[0],
    "multi-head attention": lambda on: on(module(te.MultiHeadAttention, 8, 2))(*[on(X)] * 3, on(MASK)),
    "causal mask": lambda on: te.causal_mask(3, on(X).device),
    "padding mask": lambda on: te.padding_mask(on(SOURCE), PAD),
    "input embedding": lambda on: on(module(te.InputEmbedding, VOCAB, 8))(on(SOURCE)),
    "positions": lambda on: on(te.PositionalEncoding(8))(on(X), 2),
    "learned positions": lambda on: on(module(te.LearnedPositionalEncoding, 8))(on(X)),
    "layer norm": lambda on: on(te.LayerNorm(8))(on(X)),
    "RMS norm": lambda on: on(te.RMSNorm(8))(on(X)),
    "feed-forward": lambda on: on(module(te.PositionwiseFeedForward, 8, 16, activation="gelu"))(on(X)),
    "rotary positions": lambda on: on(te.parts.RotaryPositions(8, pairs="halves"))(on(X[:, None])),
    "gated feed-forward": lambda on: on(module(te.parts.GatedFeedForward, 8, 16))(on(X)),
    "projection": lambda on: on(module(te.ProjectionLayer, 8, VOCAB))(on(X)),
    "loss": lambda on: te.label_smoothing(on(X), on(TARGET[:2, :3] % 8), PAD, 0.1),
    "model": lambda on: on(model_of())(on(SOURCE), on(TARGET)),
    "pre-norm, tied": lambda on: on(model_of(norm="pre", tie_embeddings="all"))(on(SOURCE), on(TARGET)),
    **{name: lambda on, name=name: of_family(on, name) for name in families.MODELS},
    "recorded": lambda on: recorded(on(model_of())),
    "changed": lambda on: changed_output(on(model_of())),
    "a blocked position": lambda on: with_blocked_position(on(model_of())),
    "greedy search": lambda on: te.greedy_search(on(model_of()), on(SOURCE), BOS, EOS, 7),
    "beam search": lambda on: te.beam_search(on(model_of()), on(SOURCE), BOS, EOS, 7, beam_size=3),
    "quick search": lambda on: te.beam_search(fast.switch_on(on(model_of())), on(SOURCE), BOS, EOS, 7),
    "steps with a cache": lambda on: step_by_step(on(model_of()), on(SOURCE)),
    "losses of tokens": lambda on: token_losses(on(model_of()), on(SOURCE), on(TARGET)),
    "effects of heads": lambda on: [
        head_effects(on(model_of()), on(SOURCE), on(TARGET), how) for how in ("off", "uniform", "mean")
    ],
    "entropy": lambda on: head_entropies({"decoder.0.self": on(MAPS[0]), "encoder.0.self": on(MAPS[1])}),
    "distance": lambda on: (attention_distance(on(MAPS)), offset_share(on(MAPS), 0), rollout(on(MAPS))),
    "lens": lambda on: stream_logits(on(model_of()), on(SOURCE), on(TARGET)),
    "loss of batches": lambda on: evaluate_loss(on(model_of()), [BATCH]),
    "exact match": lambda on: exact_match(on(model_of()), reverse_pairs(4, vocab_size=VOCAB)),
}


def plain(value):
    """What a run gives, as nested lists and dictionaries of tensors of the CPU and of numbers."""
    if isinstance(value, torch.Tensor):
        return value.cpu().detach()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, te.Hypothesis):
        return vars(value)
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def elsewhere():
    """Inside the `with` block THERE is a device."""
    return pretended() if THERE == DEVICE else contextlib.nullcontext()


LONG = {"effects of heads", "lens"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in RUNS])
def test_it_computes_there_what_it_computes_on_the_cpu(name):
    expected = plain(RUNS[name](lambda x: x))
    with elsewhere():
        made = RUNS[name](lambda x: x.to(THERE))
        found = plain(made)
    torch.testing.assert_close(found, expected, **ABOUT)


@pytest.mark.long
def test_a_sample_is_drawn_there():
    with elsewhere():
        ids = te.sample(model_of().to(THERE), SOURCE.to(THERE), BOS, EOS, 6, temperature=0.8, top_k=5, top_p=0.9)
        assert ids.device.type == THERE.type
        assert ids[:, 0].tolist() == [BOS] * len(SOURCE)


@pytest.mark.long
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_gradients_and_training_are_the_same_there(norm):
    def losses(on):
        torch.manual_seed(0)
        model = on(te.build_transformer(20, 20, d_model=16, num_heads=2, d_ff=32, num_layers=1, dropout=0.0, norm=norm))
        batches = iterate_batches(reverse_pairs(64), 16, epochs=2, seed=0)
        history = train(model, batches, learning_rate=0.003, progress=False, seed=0)
        return history.losses, {name: plain(weight) for name, weight in model.named_parameters()}

    expected = losses(lambda model: model)
    with elsewhere():
        found = losses(lambda model: model.to(THERE))
    torch.testing.assert_close(found, expected, **ABOUT)


@pytest.mark.long
def test_a_model_is_saved_from_there_and_loaded_to_there(tmp_path):
    model = model_of()
    with elsewhere():
        save_model(model.to(THERE), tmp_path / "model.safetensors")
        loaded = load_model(tmp_path / "model.safetensors", THERE)
        assert {weight.device.type for weight in loaded.parameters()} == {THERE.type}
        found = plain(loaded(SOURCE.to(THERE), TARGET.to(THERE)))
    torch.testing.assert_close(found, model_of()(SOURCE, TARGET).detach().float(), **ABOUT)


class MaskOfTheCPU(te.Transformer):
    def source_mask(self, source):
        return te.padding_mask(source.cpu(), PAD)


class TableLeftBehind(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = te.sinusoidal_table(16, 16)  # no buffer: `.to` does not know it

    def forward(self, x, offset=0):
        return x + self.table[offset : offset + x.shape[1]]


def with_mistake(name):
    model = model_of()
    if name == "a mask made on the CPU":
        model.__class__ = MaskOfTheCPU
    elif name == "a table left behind":
        model.positional_encoding = TableLeftBehind()
    return model


@pytest.mark.parametrize("name", ["a mask made on the CPU", "a table left behind", "an index of the wrong device"])
def test_the_usual_mistakes_are_refused(name):
    model = with_mistake(name)
    model(SOURCE, TARGET)  # on the CPU nothing shows
    with pretended():
        model.to(DEVICE)
        source = SOURCE if name == "an index of the wrong device" else SOURCE.to(DEVICE)
        with pytest.raises(RuntimeError, match="at least two devices"):
            model(source, TARGET.to(DEVICE))


@pytest.mark.long
def test_nobody_asks_for_a_number_but_a_search_at_the_end_of_each_step():
    with pretended() as asked:
        model, source, target = model_of().to(DEVICE), SOURCE.to(DEVICE), TARGET.to(DEVICE)
        model(source, target).sum().backward()
        assert asked == []
        ids = te.greedy_search(model, source, BOS, EOS, 7)
        assert len(asked) <= ids.shape[1]
        asked.clear()
        bool((ids == EOS).any())
        assert [name for name, _ in asked] == ["_local_scalar_dense"]


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setenv("TRANSFORMER_EDU_DEVICE", DEVICE.type)
    monkeypatch.setenv("MPLBACKEND", "agg")
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


WATCHED = (
    "theirs.decoder.train(grad)",  # chapter 11 shows a fast path that PyTorch does not take while it is watched
    "tensor.untyped_storage()",  # chapter 20 counts storages, and a pretended tensor has none
)
QUICK = ("06",)
CHAPTERS = [pytest.param(f"{number:02}", marks=() if f"{number:02}" in QUICK else pytest.mark.weekly)
            for number in range(1, 22)]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("number", CHAPTERS)
@pytest.mark.filterwarnings("default")
def test_a_chapter_runs_there_and_what_it_asserts_holds(number, shell, root):
    (path,) = (root / "notebooks").glob(f"{number}-*.ipynb")
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    with pretended():
        for cell in cells:
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                ran = shell.run_cell("".join(cell["source"]))
            source = "".join(cell["source"])
            meant = "raises-exception" in cell["metadata"].get("tags", []) or any(seen in source for seen in WATCHED)
            assert ran.success or meant, f"{source}\n{said.getvalue()[-2000:]}"
