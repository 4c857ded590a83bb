"""`transformer-edu check` on good, bad and hostile files: what it says, and with which status it leaves."""

import copy
import json
import os
import shutil
import sys
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch

from transformer_edu import PositionwiseFeedForward
from transformer_edu.book.commands import check as check_command
from transformer_edu.book.commands.main import main
from transformer_edu.book.exercises.judge import judging
from transformer_edu.book.exercises.judge.calculator import Calculator
from transformer_edu.book.exercises.judge.judging import guess, judge_file
from transformer_edu.book.exercises.judge.kinds import KINDS
from transformer_edu.book.exercises.judge.packing import pack, pack_seen, unpack
from transformer_edu.book.exercises.judge.verdict import ELSEWHERE, Verdict, beyond
from transformer_edu.book.exercises.judge.worker import _reply
from transformer_edu.book.sandbox.sandbox import Conversation, Limits

pytestmark = pytest.mark.long  # processes of their own

MASK = "import torch\ndef causal_mask(size):\n    return torch.ones(size, size).tril().bool()\n"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """`check(text, *options)`: status, standard output and standard error of the command on a file with this text."""
    monkeypatch.chdir(tmp_path)

    def run(text, *options, name="causal_mask"):
        (tmp_path / "own.py").write_text(text)
        with pytest.raises(SystemExit) as left:
            main(["check", f"own.py:{name}", *options])
        return left.value.code, *capsys.readouterr()

    return run


def test_what_is_right_passes_and_its_kind_is_guessed_and_said(check):
    status, out, err = check(MASK)
    assert status == 0
    assert out.startswith("✓ causal_mask (causal_mask): ")
    assert "is judged as causal_mask" in err


def test_a_fault_has_a_name_a_reason_and_a_hint(check):
    status, out, _ = check(MASK.replace("tril", "triu"), "--as", "causal_mask", "--json")
    told = json.loads(out)
    assert status == told["status"] == 1
    assert "upper triangle" in told["fault"]["name"]
    assert all(told["fault"][part] for part in ("why", "symptom", "hint"))
    assert told["known"]


def test_an_adapter_makes_of_it_what_is_asked_for(check, tmp_path):
    other = "def adapt(owner):\n    return lambda size: owner(size).T\n"
    (tmp_path / "fit.py").write_text(other)
    turned = MASK.replace("tril", "triu")
    assert check(turned, "--as", "causal_mask")[0] == 1
    assert check(turned, "--as", "causal_mask", "--adapter", "fit.py:adapt")[0] == 0


BODY = "\ndef causal_mask(size):\n    {}\n    return torch.ones(size, size).tril().bool()\n"
HOSTILE = {
    "an endless loop": "while True: pass",
    "exit()": "exit(0)",
    "os._exit": "import os; os._exit(0)",
    "an answer of its own": "import sys; sys.stdout.write('right'); sys.exit(0)",
    "4 GB": "kept = torch.ones(1 << 30)",
    "monkeypatched torch": "torch.allclose = lambda *a, **k: True",
    "another default dtype": "torch.set_default_dtype(torch.float64)",
    "another gradient mode": "torch.set_grad_enabled(False)",
    "an object that equals everything": (
        "return type('Yes', (), {'__eq__': lambda s, o: True, '__bool__': lambda s: True})()"
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_hostile_code_cannot_be_judged_and_changes_nothing(line, tmp_path):
    file = tmp_path / "own.py"
    file.write_text("import torch" + BODY.format(line))
    found = judge_file(file, "causal_mask", "causal_mask", limits=Limits(seconds=4.0))
    assert found.status == 2, found
    assert found.trouble
    assert {path.name for path in tmp_path.iterdir()} <= {"own.py", "__pycache__"}


RUDE = """
Rude = type("E\\n✓ causal_mask: fine\\x1b[2J", (Exception,), {})
import sys
print("\\x1b[2J\\n✓ causal_mask (causal_mask): right", file=sys.stderr)
def causal_mask(size):
    raise Rude("\\ud800 \\u202e" + "x" * 10_000_000)
"""


@pytest.mark.long
@pytest.mark.parametrize("text", [RUDE, RUDE + "import os; os._exit(3)"])
def test_what_others_wrote_neither_forges_a_line_nor_fills_the_terminal(text, check):
    status, out, err = check(text)
    assert status == 2
    assert out.startswith("? causal_mask (causal_mask): it ")
    assert not [line for line in out.splitlines() if line.startswith("✓")]
    assert not [character for character in out + err if not character.isprintable() and character != "\n"]
    assert max(len(line) for line in out.splitlines() if " " in line.strip()) <= 72
    assert len(out) < 3000
    assert "more characters)" in out or "os._exit" in text
    status, out, _ = check(text, "--json")
    assert status == json.loads(out)["status"] == 2
    assert len(out.encode()) < 5000


NAN = float("nan")
TOLD = {"unprotected": [], "trouble": None}
RIGHT = Calculator(KINDS["feed_forward"], PositionwiseFeedForward)
SEEN, LEARNED = RIGHT.observe()


def changed(change):
    """What was seen, after `change` to the first experiment's observation and to the last one's."""
    seen = copy.deepcopy(SEEN)
    for observation in (seen[0], seen[-1]):
        change(observation)
    return pack_seen(seen, LEARNED)


def looked(**tensors):
    """An answer to a look."""
    return pack({}, tensors)


FORGED = {  # what is answered to which question
    "nothing": {"load": b""},
    "no JSON": {"load": (9).to_bytes(8, "big") + b"[[[[[[[[["},
    "deep JSON": {"load": (10**6).to_bytes(8, "big") + b"[" * 10**6},
    "NaN for words": {"load": pack({"unprotected": [NAN], "trouble": NAN})},
    "no list": {"load": pack({"unprotected": 3, "trouble": None})},
    "a list without end": {"load": pack({"unprotected": ["x\n"] * 10**5, "trouble": "\ud800"})},
    "nothing told": {"load": pack({})},
    "no experiments": {"observe": pack_seen([], LEARNED)},
    "an experiment too few": {"observe": pack_seen(SEEN[:-1], LEARNED)},
    "nothing seen": {"observe": changed(dict.clear)},
    "words for numbers": {"observe": changed(lambda observation: observation.update(output="3", again="4"))},
    "numbers without end": {"observe": pack_seen(SEEN, replace(LEARNED, numbers=torch.zeros(1 << 21)))},
    "one number too few": {"observe": pack_seen(SEEN, replace(LEARNED, numbers=LEARNED.numbers[1:]))},
    "no observation": {"observe": pack({})},
    "no gradient": {"look": looked(answer=torch.zeros(2, 5, 12))},
    "a gradient of one number": {"look": looked(answer=torch.zeros(2, 5, 12), gradient=torch.zeros(1))},
    "NaN everywhere": {"look": looked(answer=torch.full((2, 5, 12), NAN), gradient=torch.full((512,), NAN))},
    "another answer each time": {"look": None},
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_forged_answers_are_no_right_no_traceback_and_valid_json(forged, tmp_path, monkeypatch, capsys):
    (tmp_path / "own.py").touch()

    def answer(question):
        asked = unpack(question)[0]["do"]
        if asked in forged:
            return forged[asked] or looked(answer=torch.randn(2, 5, 12), gradient=torch.randn(512))
        return pack(TOLD) if asked == "load" else _reply(question, TOLD, [RIGHT], {})

    monkeypatch.setattr(judging, "conversation", lambda *given: nullcontext(Conversation(answer, "\x1b[2J")))
    for option, read in (("--json", lambda out: json.loads(out, parse_constant=pytest.fail)), ("--seconds=9", str)):
        with pytest.raises(SystemExit) as left:
            main(["check", f"{tmp_path}/own.py:feed_forward", "--as", "feed_forward", option])
        out = capsys.readouterr().out
        assert left.value.code == 2 or ("look" in forged and left.value.code == 1), out
        assert len(out) < 5000
        assert read(out)
        assert not [line for line in out.encode().decode().splitlines() if line.startswith("✓")]


@pytest.mark.parametrize(("terminal", "widest"), [(False, 72), (True, 50)])
def test_a_diagnosis_wraps_under_its_text(terminal, widest, tmp_path, monkeypatch, capsys):
    (tmp_path / "own.py").touch()
    found = judging.Judgement("attention", Verdict("attention", beyond(ELSEWHERE)), None, (), "")
    monkeypatch.setattr(check_command, "judge_file", lambda *given: found)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_, **__: os.terminal_size((50, 20)))
    with pytest.raises(SystemExit):
        main(["check", f"{tmp_path}/own.py:attention", "--as", "attention"])
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("✗ attention")
    assert 40 < max(map(len, lines)) <= widest
    assert {line[:12].strip() for line in lines} >= {"Why:", "Hint:", ""}
    assert all(line[12:].strip() for line in lines)


def test_help_says_what_a_verdict_is_worth(capsys):
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    out = capsys.readouterr().out
    assert "code that means to deceive" in out
    assert "can read every file" in out


@pytest.mark.parametrize("text", ["raise RuntimeError('no')", "import torch\ncausal_mask = 3", "def broken(:"])
def test_what_cannot_be_loaded_is_said(text, check):
    status, out, _ = check(text, "--as", "causal_mask")
    assert status == 2
    assert "could not be loaded" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.py:f", "--as", "attention"], "FILE must be a Python file"),
        (["own.py", "--as", "attention"], "FILE.py:NAME must be a file and a name"),
        (["own.py:strange"], "does not say what it is"),
        (["own.py:f", "--as", "gru"], "--as"),
        (["own.py:f", "--as", "attention", "--seconds", "0"], "--seconds must be above 0"),
        (["own.py:f", "--as", "attention", "--adapter", "fit"], "--adapter must be a file and a name"),
    ],
)
def test_bad_arguments_are_said_in_one_line(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("f = strange = 1")
    with pytest.raises(SystemExit) as left:
        main(["check", *arguments])
    assert left.value.code == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("MultiHeadAttention", "multi_head_attention"),
        ("MHA", "multi_head_attention"),
        ("scaled_dot_product", "attention"),
        ("SublayerConnection", "residual"),
        ("subsequent_mask", "causal_mask"),
        ("make_pad_mask", "padding_mask"),
        ("PositionwiseFeedForward", "feed_forward"),
        ("TransformerDecoderLayer", "decoder_layer"),
        ("TransformerEncoderLayer", "encoder_layer"),
        ("Seq2SeqTransformer", "transformer"),
        ("LabelSmoothingLoss", "label_smoothing"),
        ("NoamOpt", "warmup_schedule"),
        ("RMSNorm", "rms_norm"),
        ("LayerNorm", "layer_norm"),
        ("PositionalEncoding", "positional_encoding"),
        ("TokenEmbedding", "input_embedding"),
        ("greedy_decode", "greedy_search"),
        ("KVCache", "kv_cache"),
    ],
)
def test_a_name_says_what_it_is(name, kind):
    assert guess(name) == kind
    assert guess(f"Module.{name}") == kind


def test_every_kind_can_be_guessed_by_its_own_name():
    assert {guess(kind) for kind in KINDS} == set(KINDS)
