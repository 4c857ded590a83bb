"""`translate` and `evaluate`: text in and out, line by line, and a clear line for whatever cannot be done."""

import gzip
import io
import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.unit.command import ENVIRONMENT
from tests.unit.small_model import POSITIONS, make_model
from transformer_edu.book.commands.main import main
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.translate.commands import evaluate as evaluate_command

pytestmark = pytest.mark.usefixtures("at_readers_speed")

LONG = "cat " * 50
TEXT = "the cat\n\na dog\r\nder Hund\u2028läuft\nsmall\rcat\n".encode()
BROKEN = b"the cat\n" + LONG.encode() + b"\na d\xffog\nder Hund\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    path.write_text("the cat\tder Hund\na dog\tein Hund\n", encoding="utf-8")
    return path


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command on bytes as standard input: exit status, lines of its answer, standard error."""

    def run(*arguments, given=None):
        monkeypatch.setattr(sys, "stdin", None if given is None else io.TextIOWrapper(io.BytesIO(given), "ascii"))
        status = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        out, errors = capsys.readouterr()
        assert out == "" or out.endswith("\n")
        return status, out.split("\n")[:-1], errors

    return run


def translate(model, *options):
    return ("translate", "--model", model, "--max-len", "6", *options)


@pytest.mark.parametrize(
    ("content", "lines"),
    [(TEXT, 5), (b"\xef\xbb\xbf" + TEXT, 5), (TEXT[:-1], 5), (b"\n", 1), (b"\n\n\xef\xbb\xbf\n", 3), (BROKEN, 4)],
    ids=["plain", "byte order mark", "no last line feed", "one empty line", "empty lines", "lines that fail"],
)
def test_text_means_the_same_from_a_file_and_from_standard_input(command, model, tmp_path, content, lines):
    (tmp_path / "text").write_bytes(content)
    (tmp_path / "text.gz").write_bytes(gzip.compress(content))
    status, answers, errors = command(*translate(model), given=content)
    assert len(answers) == lines
    for name in ("text", "text.gz"):
        found = command(*translate(model), tmp_path / name)
        assert found == (status, answers, errors.replace("standard input", str(tmp_path / name)))


@pytest.mark.parametrize(
    ("content", "status", "says"),
    [
        (b"", 2, "standard input is empty: it must hold at least one line of text"),
        (b"\xef\xbb\xbf", 2, "standard input is empty"),
        (gzip.compress(b"the cat\n", mtime=0), 1, "line 1 of standard input: it must be UTF-8"),
        (None, 2, "standard input is closed: name a file, or pipe sentences in"),
    ],
    ids=["nothing", "a byte order mark", "packed", "closed"],
)
def test_what_is_no_text_is_told(command, model, content, status, says):
    found, answers, errors = command(*translate(model), given=content)
    assert (found, set(answers) - {""}) == (status, set())
    assert errors.startswith(f"transformer-edu: {says}")


@pytest.mark.parametrize("n_best", [1, 3])
def test_a_line_that_fails_is_named_and_the_others_are_translated(command, model, n_best):
    options = ("--n-best", n_best, "--beam-size", 3)
    good = command(*translate(model, *options), given=b"the cat\nder Hund\n")[1]
    status, answers, errors = command(*translate(model, *options), given=BROKEN)
    assert status == 1
    assert answers == [*good[:n_best], *[""] * (2 * n_best), *good[n_best:]]
    first, second = errors.splitlines()
    assert first.startswith(f"transformer-edu: line 2 of standard input: a sentence must have at most {POSITIONS} ")
    assert second.startswith("transformer-edu: line 3 of standard input: it must be UTF-8, and is not (byte 0xff)")


def test_every_line_has_as_many_answers_as_were_asked_for(command, model):
    status, answers, _ = command(*translate(model, "--n-best", 4, "--max-len", 2), given=b"the cat\n\na dog\n")
    assert (status, len(answers)) == (0, 12)
    assert answers[4:8] == [""] * 4
    scores = [float(answer.split("\t")[0]) for answer in answers[:4]]
    assert scores == sorted(scores, reverse=True)


def test_an_answer_is_one_line_whatever_the_model_writes(command, model, monkeypatch):
    ends = "a\nb\rc\u2028d\u2029e\x85f\x0bg\x0ch\x1ci\x1dj\x1ek\r\n"
    monkeypatch.setattr(Tokenizer, "decode", lambda self, ids: ends)
    monkeypatch.setattr(Tokenizer, "id_to_token", lambda self, index: "\t\n")
    status, answers, _ = command(*translate(model, "--alignments"), given=b"the cat\na dog\n")
    heads = [line for line in answers if not line.startswith("  ")]
    assert (status, heads) == (0, ["a b c d e f g h i j k  "] * 2)
    assert {line.rpartition("\t")[0] for line in answers if line.startswith("  ")} == {"    \t  "}
    assert "".join(answers).splitlines() == ["".join(answers)]


@pytest.mark.long
def test_more_lines_than_a_chunk_keep_their_places(command, model, monkeypatch):
    monkeypatch.setattr("transformer_edu.translate.commands.translate.CHUNK", 3)
    words = [b"cat", b"dog", b"", b"Hund", LONG.encode(), b"small", b"the", b"a"]
    alone = [command(*translate(model), given=word + b"\n")[1] for word in words]
    status, answers, errors = command(*translate(model), given=b"\n".join(words))
    assert (status, [[answer] for answer in answers]) == (1, alone)
    assert errors.startswith("transformer-edu: line 5 of standard input: ")


COMMANDS = dict.fromkeys(("--text", "--out", "--split", "--data-dir"), "evaluate")
COMMANDS |= dict.fromkeys(("--steps", "--train"), "train")
# what is typed for an option, and words of the one line that answers
NUMBERS = {
    "--beam-size": "must be a whole number of at least 1, got ",
    "--length-penalty": "must be a number from 0 to 10, got ",
    "--max-len": "must be a whole number of at least 2, got ",
    "--n-best": "must be a whole number of at least 1, got ",
}
HOSTILE = ["", "-1", "x", "nan", "-inf", "1e999", "9" * 5000, "0x10", "\ud800", "a\nb"]
PLACES = {
    "--model": ("model must be a folder written by train", ["", "nowhere", "/dev/null", "x" * 5000, "\udcff", "a\nb"]),
    "file": ("", ["nowhere", "/", "x" * 5000, "\udcff"]),
    "--text": ("", ["", "nowhere", "/", "\udcff"]),
    "--out": ("", ["", "/", "x" * 300, "/dev/null/x", "\udcff" * 300]),
    "--split": ("invalid choice", ["", "é", "\udcff"]),
    "--data-dir": ("must hold test_2016_flickr.de.gz", ["nowhere", "~nobody", "/dev/null", "\udcff"]),
    "--unknown": ("unrecognized arguments", ["1"]),
}
BAD = [
    *((option, value, says) for option, says in NUMBERS.items() for value in HOSTILE),
    *((option, value, says) for option, (says, values) in PLACES.items() for value in values),
    ("--beam-size", "1.5", NUMBERS["--beam-size"]),
    ("--beam-size", "١", NUMBERS["--beam-size"]),
    ("--beam-size", "100000", "--beam-size must be at most 290, the tokens of the vocabulary"),
    ("--n-best", "5", "--n-best must be at most --beam-size=4, got 5"),
    ("--max-len", "33", "--max-len must be at most 32, the positions of this model"),
    ("--max-len", "1", NUMBERS["--max-len"]),
    ("--length-penalty", "500", NUMBERS["--length-penalty"]),
    ("--steps", "0", "steps must be at least 1, got 0"),
    ("--train", "a.tsv", "train and valid must be given together"),
]


@pytest.mark.parametrize(("option", "value", "says"), BAD, ids=lambda value: ascii(value)[1:-1][:20])
def test_whatever_is_typed_is_answered_in_a_line(command, model, pairs, tmp_path, monkeypatch, option, value, says):
    monkeypatch.chdir(tmp_path)
    arguments = [COMMANDS.get(option, "translate"), value if option == "file" else f"{option}={value}"]
    arguments += ["--model", model] if arguments[0] != "train" and option != "--model" else []
    arguments += ["--text", pairs] if option == "--out" else []
    status, answers, errors = command(*arguments, given=b"the cat\n")
    assert (status, answers) == (2, [])
    assert errors.startswith("transformer-edu: ")
    assert len(errors.splitlines()) == 1
    assert says in errors
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("device", ["meta", "nonsense", "cuda:999"])
def test_a_device_that_is_not_there_is_told_in_a_line(command, model, monkeypatch, device):
    monkeypatch.setenv("TRANSFORMER_EDU_DEVICE", device)
    status, _, errors = command(*translate(model), given=b"the cat\n")
    assert status == 2
    assert errors.startswith("transformer-edu: TRANSFORMER_EDU_DEVICE must name a ")
    assert repr(device) in errors


DAMAGED = [
    "[]",
    "",
    "[" * 100_000,
    "\udcff",
    {"search": None},
    {"search": {"beam_size": "4"}},
    {"search": {"beam_size": 0}},
    {"search": {"length_penalty": "0.6"}},
    {"search": {"length_penalty": float("nan")}},
    {"languages": ["de"]},
    {"languages": [1, 2]},
    {"name": []},
    {"weights_sha256": None},
    {"weights_sha256": "0" * 64},
]


@pytest.mark.parametrize("card", DAMAGED, ids=lambda card: ascii(card)[:40])
def test_a_damaged_card_is_told_in_a_line(command, tmp_path, card):
    make_model(tmp_path)
    if isinstance(card, dict):
        card = json.dumps(json.loads((tmp_path / "card.json").read_text()) | card)
    (tmp_path / "card.json").write_text(card, encoding="utf-8", errors="surrogateescape")
    status, _, errors = command(*translate(tmp_path), given=b"the cat\n")
    assert status == 2
    assert len(errors.splitlines()) == 1
    assert "card.json" in errors


@pytest.mark.parametrize("spoil", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused_by_name(command, tmp_path, pairs, spoil):
    make_model(tmp_path, spoil)
    for arguments in (translate(tmp_path), ("evaluate", "--model", tmp_path, "--text", pairs)):
        status, answers, errors = command(*arguments, given=b"the cat\n")
        assert (status, answers) == (2, [])
        assert "model.safetensors must hold finite weights, but " in errors


def test_finite_weights_whose_probabilities_are_not_are_told_line_by_line(command, tmp_path):
    make_model(tmp_path, 3e38)
    for beam_size in (1, 3):
        _, answers, errors = command(*translate(tmp_path, "--beam-size", beam_size), given=b"!\n\nx\n")
        assert len(answers) == 3
        assert all(": the model must give each word a probability" in line for line in errors.splitlines())


def evaluation(model, pairs, *options):
    return ("evaluate", "--model", model, "--text", pairs, "--max-len", "6", *options)


def test_the_place_for_the_result_is_tried_before_the_work(command, model, pairs, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate_command, "open_model", lambda name: pytest.fail("the work has begun"))
    (tmp_path / "file").write_bytes(b"")
    for name in (".", "file/below", "x" * 256):
        status, _, errors = command(*evaluation(model, pairs, "--out", tmp_path / name))
        assert status == 2
        assert errors.startswith(f"transformer-edu: {tmp_path}")
    assert os.listdir(tmp_path) == ["file"]


def test_evaluate_writes_valid_json_from_which_it_can_be_repeated(command, model, pairs, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["transformer-edu", "evaluate", "--out", "\udcff"])  # a name that is no text
    found = []
    for _ in range(2):
        assert command(*evaluation(model, pairs, "--out", tmp_path / "out"))[0] == 0
        content = (tmp_path / "out").read_bytes().decode()
        found.append({**json.loads(content, parse_constant=pytest.fail), "seconds": 0, "date": 0})
    assert found[0] == found[1]
    assert found[0]["command"].endswith("--out '\udcff'")
    assert found[0]["sentences"] == len(found[0]["translations"]) == 2
    assert found[0]["search"]["max_len"] == 6
    settings = {"bleu_lowercase": "case:lc", "bleu": "case:mixed", "chrf": "nc:6"}
    assert all(setting in found[0]["scores"][score]["signature"] for score, setting in settings.items())


def test_a_sentence_that_cannot_be_scored_is_named_before_the_work(command, model, tmp_path):
    (tmp_path / "pairs.tsv").write_text(f"the cat\tder Hund\n{LONG}\tHund\n")
    status, answers, errors = command(*evaluation(model, tmp_path / "pairs.tsv"))
    assert (status, answers) == (2, [])
    assert f"line 2 of {tmp_path}/pairs.tsv: a sentence must have at most {POSITIONS} tokens" in errors
    errors = command("evaluate", "--model", model, "--text", "a", "b", "c")[2]
    assert "--text must be two line-aligned files or one TSV, got 3" in errors


SHELL = {
    "the same bytes in any locale": (
        "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 PYTHONIOENCODING=ascii $TRANSLATE < text > ascii && "
        "LC_ALL=C.UTF-8 $TRANSLATE text > utf8 && cmp ascii utf8",
        0,
        "",
    ),
    "closed output": ("$TRANSLATE text >&-", 2, "transformer-edu: standard output is closed"),
    "closed errors": ("$TRANSLATE text 2>&- > out && test $(wc -l < out) = 5", 0, ""),
    "a reader that leaves": ("yes 'the cat' | $TRANSLATE | head -n 3 > out; test $(wc -l < out) = 3", 0, ""),
    "a full disk": ("$TRANSLATE text > /dev/full", 2, "transformer-edu: standard output: No space left on device"),
}


SELDOM = ("closed output", "closed errors", "a full disk")


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.weekly if case in SELDOM else ()) for case in SHELL]
)
def test_streams_of_a_shell(model, tmp_path, case):
    (tmp_path / "text").write_bytes(TEXT)
    script, status, says = SHELL[case]
    translate = f"{sys.executable} -m transformer_edu translate --max-len 6 --model {model}"
    environment = {**ENVIRONMENT["env"], "PYTHONPATH": str(ROOT), "TRANSLATE": translate}
    found = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (status, ""), found.stderr
    assert found.stderr.count("\n") == (1 if says else 0), found.stderr
    assert found.stderr.startswith(says)
