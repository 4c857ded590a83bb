"""A language model from one command: what it reads, that it can be stopped anywhere, what it writes and measures."""

import hashlib
import json
import math
import shutil
from itertools import pairwise

import pytest
import torch

from transformer_edu.book.commands.main import main
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.decoding.continuation import continue_text
from transformer_edu.decoding.sampling import sampling_probabilities
from transformer_edu.language.export import bits_with_interval
from transformer_edu.language.model import LanguageModel, load_language_model, nats_of
from transformer_edu.language.settings import LanguageSettings
from transformer_edu.language.task import prepare_task, read_texts
from transformer_edu.models.gpt import GPT, GPTConfig, build_gpt
from transformer_edu.runs.distributed import Processes
from transformer_edu.saving.checkpoint import save_model
from transformer_edu.transformer import build_transformer

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("at_readers_speed")]
ALONE = Processes(0, 1, torch.device("cpu"))
SMALL = {"vocab_size": 280, "context": 16, "batch_size": 4, "d_model": 16, "num_heads": 2, "d_ff": 16, "num_layers": 1}
SMALL |= {"steps": 12, "warmup_steps": 3, "every": 4, "average": 2, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    texts = [f"{name} had a {thing}.\n{name} was glad." for name in ("Ann", "Ben", "Mia") for thing in ("ball", "hat")]
    (folder / "train.txt").write_text("\n\n".join(texts * 4) + "\n\n\n", encoding="utf-8")
    (folder / "valid.txt").write_text("Ben had a kite.\n\nAnn sang.\nÄ ☃\n", encoding="utf-8")
    return {"train": (str(folder / "train.txt"),), "valid": (str(folder / "valid.txt"),)}


def arguments(out, files, **changes):
    given = {"out": out, **SMALL, **changes}
    words = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    return ["train-lm", "--quiet", "--train", *files["train"], "--valid", *files["valid"], *words]


@pytest.fixture(scope="module")
def run(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    main(arguments(folder, files))
    return folder


def task_of(files, out, **changes):
    return prepare_task(LanguageSettings(out=str(out), **files, **{**SMALL, **changes}), ALONE)


def test_an_empty_line_ends_a_text_and_several_end_one(files):
    texts = read_texts(files["train"])
    assert len(texts) == 24
    assert texts[0] == "Ann had a ball.\nAnn was glad."
    assert read_texts(files["valid"]) == ["Ben had a kite.", "Ann sang.\nÄ ☃"]


def test_every_token_of_an_epoch_is_asked_for_once_after_the_one_before_it(files, tmp_path):
    task = task_of(files, tmp_path)
    rows = task.rows(0)
    long = torch.cat([rows[0], *(row[1:] for row in rows[1:])]).tolist()
    texts = [task.tokenizer.encode(text) for text in read_texts(files["train"])]
    whole = [[1, *text, 2] for text in texts]
    starts = [at for at, index in enumerate(long) if index == 1]
    for start, end in pairwise(starts):
        assert long[start:end] in whole
    read, asked = task.tensors([2, 5])
    assert read.tolist() == rows[[2, 5], :-1].tolist()
    assert asked.tolist() == rows[[2, 5], 1:].tolist()


def test_each_epoch_has_its_own_order_and_the_seed_decides_it(files, tmp_path):
    one, same, other = (task_of(files, tmp_path / str(n), seed=seed) for n, seed in enumerate((0, 0, 1)))
    assert one.batches(1) == same.batches(1)
    assert torch.equal(one.rows(1), same.rows(1))
    assert not torch.equal(one.rows(1), other.rows(1))
    assert not torch.equal(one.rows(0), one.rows(1))
    rows = len(one.rows(1))
    assert all(rows <= row < 2 * rows for batch in one.batches(1) for row in batch)


def test_the_learning_rate_rises_and_falls_to_nothing(files, tmp_path):
    task = task_of(files, tmp_path)
    rates = [task.learning_rate(step) for step in range(1, 14)]
    assert rates[2] == max(rates) == pytest.approx(0.01)
    assert rates[:3] == sorted(rates[:3])
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert rates[11] > rates[12] == 0


def test_the_run_learns_and_its_model_is_the_one_on_its_card(run):
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    bits = [line["bits_per_byte"] for line in log if "bits_per_byte" in line]
    assert len(bits) == 3
    assert bits[-1] < bits[0]
    language = load_language_model(run)
    card = language.card
    assert card["training"]["texts"] == 24
    assert language.bits_per_byte(["Ben had a kite.", "Ann sang.\nÄ ☃"]) == pytest.approx(
        card["bits_per_byte"]["value"], abs=1e-3
    )
    low, high = card["bits_per_byte"]["interval"]
    assert low <= card["bits_per_byte"]["value"] <= high


def test_stopped_and_resumed_it_is_the_same_to_the_last_bit(run, files, tmp_path):
    stopped = tmp_path / "stopped"
    shutil.copytree(run, stopped)
    for name in ("model.safetensors", "card.json", "checkpoint-00000012.safetensors", "weights-00000012.safetensors"):
        (stopped / name).unlink()
    main(["train-lm", "--quiet", "--resume", "--out", str(stopped)])
    one, other = (load_language_model(folder).model.state_dict() for folder in (run, stopped))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_with_other_settings_is_refused_by_name(run, files, capsys):
    with pytest.raises(SystemExit):
        main([*arguments(run, files, steps=13), "--resume"])
    assert "steps: 12 then, 13 now" in capsys.readouterr().err, "it decides the learning rate"
    with pytest.raises(SystemExit):
        main([*arguments(run, files, d_model=32), "--resume"])
    assert "d_model: 16 then, 32 now" in capsys.readouterr().err


def test_write_goes_on_from_a_beginning(run, capsys):
    main(["write", "Ann had", "--model", str(run), "--steps", "5", "--count", "2", "--temperature", "1.0"])
    first, second = capsys.readouterr().out.strip("\n").split("\n\n", 1)
    assert first.startswith("Ann had")
    assert second.startswith("Ann had")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["write", "x", "--model", "nowhere"], "written by train-lm, or stories or answering, got 'nowhere'"),
        (["write", "x", "--top-p", "2"], "must be a number from"),
        (["write", "x", "--steps", "0"], "at least 1"),
        (["train-lm", "--valid", "v"], "train and valid must name files"),
        (["train-lm", "--train", "v", "--valid", "v", "--steps", "5", "--warmup-steps", "9"], "warmup_steps must be"),
        (["train-lm", "--train", "missing", "--valid", "missing"], "missing"),
        (["train-lm", "--train", "v", "--valid", "v", "--d-model", "7"], "divisible"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_a_line(words, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(words)
    assert says in capsys.readouterr().err


def test_too_little_text_is_an_error_that_counts(tmp_path):
    (tmp_path / "t.txt").write_text("a b")
    files = {"train": (str(tmp_path / "t.txt"),), "valid": (str(tmp_path / "t.txt"),)}
    with pytest.raises(ValueError, match=r"train must hold 65 tokens, those of one batch, got \d"):
        task_of(files, tmp_path / "run")
    (tmp_path / "t.txt").write_text("\n\n")
    with pytest.raises(ValueError, match="must hold text, got empty lines only"):
        read_texts(files["train"])


def test_what_is_no_list_of_texts_is_refused(language):
    assert language.write_all([], 3) == []
    with pytest.raises(TypeError, match="texts must be a list of sentences, got one string"):
        language.write_all("the cat", 3)
    with pytest.raises(ValueError, match="half a character"):
        language.write("the \ud800", 3)


def test_a_damaged_or_foreign_folder_is_named(run, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no card\.json"):
        load_language_model(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    save_model(build_gpt(GPTConfig(280, 8, 2, 8, 1, max_len=16, pad_id=0)), copy / "model.safetensors")
    with pytest.raises(ValueError, match="its checksum differs"):
        load_language_model(copy)
    (copy / "card.json").write_text("[]")
    with pytest.raises(ValueError, match="is damaged"):
        load_language_model(copy)
    shutil.rmtree(copy)
    shutil.copytree(run, copy)
    save_model(build_transformer(9, 9, d_model=8, num_heads=2, d_ff=8, num_layers=1), copy / "model.safetensors")
    card = json.loads((copy / "card.json").read_text())
    card["weights_sha256"] = hashlib.sha256((copy / "model.safetensors").read_bytes()).hexdigest()
    (copy / "card.json").write_text(json.dumps(card))
    with pytest.raises(ValueError, match=r"must hold a GPT, but .* holds a Transformer"):
        load_language_model(copy)


@pytest.fixture(scope="module")
def language():
    torch.manual_seed(1)
    tokenizer = Tokenizer.train(["the cat sat on the mat", "a dog ran"] * 3, 280)
    model = GPT(GPTConfig(len(tokenizer), 16, 2, 24, 2, dropout=0.0, max_len=12, pad_id=0)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.3)
    return LanguageModel(model, tokenizer)


@torch.no_grad()
def test_prompts_of_different_lengths_go_on_as_each_does_alone(language):
    texts = ["the cat", "a dog ran on", "mat"]
    assert language.write_all(texts, 5) == [language.write(text, 5) for text in texts]


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_prompt_in_one_pass_and_token_by_token_and_without_a_cache_are_the_same(language, dtype):
    model = GPT(language.model.config).to(dtype).eval()
    ids = torch.tensor([language.prompt("the cat"), [0, *language.prompt("the cat")[:-1]]])
    expected = ids
    for _ in range(4):
        expected = torch.cat([expected, model(expected)[:, -1:].argmax(dim=-1)], dim=1)
    assert continue_text(model, ids, 4).tolist() == expected.tolist()


@torch.no_grad()
def test_a_text_that_outgrows_its_positions_loses_its_older_half(language):
    model, ids = language.model, torch.tensor([language.prompt("a cat")])
    room = model.config.max_len - ids.shape[1] + 1  # tokens that still see everything
    text = continue_text(model, ids, room + 3)
    seen = text[:, : ids.shape[1] + room]
    for at in range(seen.shape[1], text.shape[1]):
        window = text[:, seen.shape[1] - model.config.max_len // 2 : at]
        assert text[0, at] == model(window)[0, -1].argmax()


@torch.no_grad()
def test_a_text_ends_with_its_end_token_and_the_others_go_on(language):
    ids, ends = torch.tensor([language.prompt("cat"), language.prompt("dog")]), iter([[5, 2], [6, 7], [8, 9]])
    text = continue_text(language.model, ids, 3, eos_id=2, choose=lambda logits: torch.tensor(next(ends)))
    assert text[:, ids.shape[1] :].tolist() == [[5, 6, 8], [2, 0, 0]]
    stopped = continue_text(language.model, ids, 9, eos_id=2, choose=lambda logits: torch.tensor([2, 2]))
    assert stopped.shape[1] == ids.shape[1] + 1


def test_surprise_adds_up_over_tokens_texts_and_pieces(language):
    texts = ["the cat sat", "a dog", "the mat " * 9]
    nats, tokens = nats_of(language.model, language.tokenizer, texts)
    for text, total, count in zip(texts[:2], nats.tolist(), tokens, strict=False):
        row = language.nats(text)
        assert [piece for piece, _ in row][-1] == "<eos>"
        assert sum(value for _, value in row) == pytest.approx(total, rel=1e-5)
        assert len(row) == count
    size = sum(len(text.encode()) for text in texts)
    assert language.bits_per_byte(texts) == pytest.approx(nats.sum().item() / math.log(2) / size)
    assert tokens[2] == len(language.tokenizer.encode(texts[2])) + 1


def test_bits_have_an_interval_that_many_texts_narrow():
    generator = torch.Generator().manual_seed(0)
    nats = torch.rand(900, generator=generator, dtype=torch.float64) * 100
    wide, narrow = (bits_with_interval(nats[:n], torch.full((n,), 50.0, dtype=torch.float64)) for n in (30, 900))
    for found in (wide, narrow):
        assert found["interval"][0] < found["value"] < found["interval"][1]
    assert wide["interval"][1] - wide["interval"][0] > 3 * (narrow["interval"][1] - narrow["interval"][0])


def test_min_p_keeps_what_is_near_the_best():
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    torch.testing.assert_close(sampling_probabilities(logits, min_p=0.3), torch.tensor([0.5, 0.3, 0.15, 0]) / 0.95)
    torch.testing.assert_close(sampling_probabilities(logits, min_p=0.0), logits.exp())
    with pytest.raises(ValueError, match="min_p"):
        sampling_probabilities(logits, min_p=1.5)


def test_a_gpt_starts_small_where_it_writes_into_the_stream():
    torch.manual_seed(0)
    weights = build_gpt(GPTConfig(50, 64, 4, 256, 8, max_len=9)).state_dict()
    assert weights["decoder.layers.0.feed_forward.expand.weight"].std() == pytest.approx(0.02, rel=0.1)
    for part in ("feed_forward.contract", "self_attention.output_projection"):
        assert weights[f"decoder.layers.3.{part}.weight"].std() == pytest.approx(0.005, rel=0.1)
        assert weights[f"decoder.layers.3.{part}.bias"].abs().max() == 0
