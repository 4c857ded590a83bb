"""The machine on one page is the package's and torch.nn's, learns by itself, and its page shows every line of it."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import transformer_edu as te
from tests.parity.parity import assert_equal, random_weights
from transformer_edu import checks, pretrained

BOOK = Path(__file__).resolve().parents[2] / "book"


def page_of(name):
    """A file of the book as a module."""
    spec = importlib.util.spec_from_file_location(name, BOOK / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown_on(page, name):
    """The text of a file, as the blocks of its page show it one after the other."""
    text, shown = (BOOK / f"{name}.py").read_text(encoding="utf-8"), ""
    for options in re.findall(rf"```\{{literalinclude\}} {name}\.py\n(.*?)```", page, re.S):
        start, end = (re.search(rf":{key}: (.*)", options) for key in ("start-at", "end-before"))
        shown += text[text.index(start[1]) if start else 0 : text.index(end[1]) if end else None]
    return shown


@pytest.fixture(scope="module")
def page():
    return page_of("one_page")


PARTS = (
    *("InputEmbedding", "PositionalEncoding", "attention", "MultiHeadAttention", "PositionwiseFeedForward"),
    *("LayerNorm", "ResidualConnection", "EncoderLayer", "DecoderLayer"),
)


def test_every_part_fits_into_the_package_s_machine(page):
    checks.check_fit(*(getattr(page, name) for name in PARTS))


def renamed(state):
    """The package keeps its layers in a stack of their own and its projection in a class."""
    return {name.replace("coder.layers.", "coder.").replace("projection.linear.", "projection."): value
            for name, value in state.items()}  # fmt: skip


def test_with_the_shipped_weights_it_writes_what_the_package_writes(page):
    translator = pretrained.load_grammar()
    c = translator.model.config
    model = page.Transformer(c.source_vocab_size, c.target_vocab_size, c.d_model, c.num_heads, c.d_ff, c.num_layers)
    model.load_state_dict(renamed(translator.model.state_dict()))
    model.eval()
    english = [te.RUNNING_SENTENCE, "a red hen sees my boats"]
    ids = [torch.tensor(translator.source_vocabulary.encode(sentence)) for sentence in english]
    source = nn.utils.rnn.pad_sequence(ids, batch_first=True)
    french = translator.target_vocabulary
    target = torch.tensor([french.encode(te.RUNNING_TRANSLATION, add_bos=True)]).expand(2, -1)
    with torch.no_grad():
        assert_equal(model(source, target), translator.model(source, target), "logits")
    assert (french.pad_id, french.bos_id, french.eos_id) == (page.PAD, page.BOS, page.EOS)
    written = page.translate(model, source)
    expected = te.greedy_search(translator.model, source, page.BOS, page.EOS, max_len=20)
    assert written.tolist() == expected.tolist(), "ended sentences are padded, as in the package"


def test_its_layers_are_torch_nn_s(page):
    theirs = random_weights(nn.Transformer(16, 4, 2, 2, 32, 0.0, batch_first=True, dtype=torch.float64))
    theirs.encoder.norm = theirs.decoder.norm = None  # the paper has no final norm
    config = te.TransformerConfig(9, 9, d_model=16, num_heads=4, d_ff=32, num_layers=2, dropout=0.0)
    package = te.Transformer(config).double()
    te.copy_weights(theirs, package)
    ours = page.Transformer(9, 9, 16, 4, 32, 2, dropout=0.0).double()
    ours.load_state_dict(renamed(package.state_dict()))
    source, target = torch.tensor([[4, 5, 6, 7], [4, 8, 0, 0]]), torch.tensor([[1, 3, 5], [1, 4, 0]])
    embed, place = ours.source_embedding, ours.positional_encoding
    with torch.no_grad():
        memory = theirs.encoder(place(embed(source)), src_key_padding_mask=source == 0)
        assert_equal(ours.encode(source)[source != 0], memory[source != 0], "memory")
        written = theirs.decoder(
            place(ours.target_embedding(target)),
            memory,
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64),
            tgt_key_padding_mask=torch.zeros(2, 3, dtype=torch.float64).masked_fill(target == 0, -torch.inf),
            memory_key_padding_mask=source == 0,
        )
        logits = ours.projection(written)
    assert_equal(ours(source, target)[target != 0], logits[target != 0], "logits")


@pytest.mark.weekly
@pytest.mark.long
def test_it_learns_and_translates_by_itself(tmp_path):
    done = subprocess.run(
        [sys.executable, BOOK / "one_page.py"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    right, of = map(int, re.search(r"(\d+) of (\d+) new combinations", done.stdout).groups())
    assert right >= 0.97 * of, done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_page_shows_every_line_once_and_in_order():
    text = (BOOK / "one_page.py").read_text(encoding="utf-8")
    page = (BOOK / "one-page.md").read_text(encoding="utf-8")
    assert shown_on(page, "one_page") == text
    assert 200 <= len([line for line in text.splitlines() if line.strip()]) <= 240
    assert max(map(len, text.splitlines())) <= 80, "what is wider is cut off in its box"
    assert len(set(re.findall(r"/notebooks/(\d\d)-", page))) >= 10
