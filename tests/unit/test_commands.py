"""The command line, from training to scores."""

import json
import subprocess
import sys

import pytest

from tests.unit.command import ENVIRONMENT, as_arguments
from tests.unit.conftest import SMALL
from transformer_edu.commands.main import main
from transformer_edu.training.evaluate import corpus_scores, lowercase_bleu

pytestmark = pytest.mark.usefixtures("at_readers_speed")


@pytest.fixture(scope="module")
def trained(tmp_path_factory, brief_text):
    folder = tmp_path_factory.mktemp("trained")
    main(["train", "--quiet", "--out", str(folder), *as_arguments({**SMALL, "steps": 4, **brief_text})])
    return folder


def test_translate_shows_scores_and_alignments(trained, tmp_path, capsys):
    (tmp_path / "text").write_text("the cat\n", encoding="utf-8")
    options = ["--n-best", "2", "--alignments", "--max-len", "5", "--beam-size", "3"]
    main(["translate", str(tmp_path / "text"), "--model", str(trained), *options])
    lines = capsys.readouterr().out.split("\n")
    heads = [line.split("\t") for line in lines if line and not line.startswith("  ")]
    assert len(heads) == 2
    assert float(heads[0][0]) >= float(heads[1][0])
    assert sum(line.startswith("  ") for line in lines) >= 2


COMPILED = """
import sys
from functools import partial
import torch
from transformer_edu.commands.main import main

graphs = []

def backend(graph, inputs):  # takes what was traced as it is: PyTorch's own code generator is not on trial
    graphs.append(graph)
    return graph.forward

torch.compile = partial(torch.compile, backend=backend)
for name, more in (("plain", []), ("compiled", ["--compile"])):
    main(["train", "--quiet", "--out", f"{sys.argv[1]}/{name}", *sys.argv[2:], *more])
    print(name, len(graphs), file=sys.stderr)
"""


@pytest.mark.slow
def test_a_compiled_run_follows_the_plain_one(brief_text, tmp_path):
    options = as_arguments({**SMALL, "steps": 2, "every": 1, "average": 1, "dropout": 0.0, **brief_text})
    command = [sys.executable, "-c", COMPILED, tmp_path, *options]
    done = subprocess.run(command, **ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    losses = {}
    for name in ("plain", "compiled"):
        lines = map(json.loads, (tmp_path / name / "log.jsonl").read_text().splitlines())
        losses[name] = [line["loss"] for line in lines if "loss" in line]
    assert losses["compiled"] == pytest.approx(losses["plain"], abs=1e-3)
    assert len(losses["plain"]) == 2
    graphs = dict(line.split() for line in done.stderr.splitlines() if line.startswith(("plain ", "compiled ")))
    assert graphs["plain"] == "0"
    assert int(graphs["compiled"]) >= 1


def test_evaluate_writes_what_repeats_it(trained, brief_text, tmp_path, capsys):
    out = tmp_path / "scores.json"
    arguments = ["evaluate", "--model", str(trained), "--text", *brief_text["valid"], "--max-len", "6"]
    main([*arguments, "--out", str(out)])
    first = json.loads(out.read_text())
    assert first["sentences"] == len(first["translations"]) == 2
    assert "case:lc" in first["scores"]["bleu_lowercase"]["signature"]
    assert "case:mixed" in first["scores"]["bleu"]["signature"]
    assert "tok:13a" in first["scores"]["bleu"]["signature"]
    assert "nc:6" in first["scores"]["chrf"]["signature"]
    assert first["search"]["max_len"] == 6
    main([*arguments, "--out", str(out)])
    again = json.loads(out.read_text())
    assert {**again, "seconds": 0, "date": 0} == {**first, "seconds": 0, "date": 0}
    assert "bleu_lowercase" in capsys.readouterr().out


def test_out_of_memory_says_what_to_do(monkeypatch, brief_text, tmp_path, capsys):
    def no_memory(*given):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("transformer_edu.translator.steps.StepMaker.take", no_memory)
    with pytest.raises(SystemExit):
        main(["train", "--quiet", "--out", str(tmp_path), *as_arguments({**SMALL, **brief_text})])
    assert "out of memory with batches of --max-tokens 200 in --accumulate 1" in capsys.readouterr().err


def test_scores_are_sacrebleus_of_the_whole_corpus():
    references = ["A man is riding a bike .", "Two dogs play in the snow ."]
    assert corpus_scores(references, references)["bleu"]["score"] == 100
    other = ["a man rides a bike .", "Two dogs play in the snow ."]
    scores = corpus_scores(other, references)
    assert scores["bleu_lowercase"]["score"] > scores["bleu"]["score"]
    assert lowercase_bleu(other, references) == pytest.approx(scores["bleu_lowercase"]["score"], abs=0.01)
    with pytest.raises(ValueError, match="hypotheses must be as many as references"):
        corpus_scores(other[:1], references)
    with pytest.raises(TypeError, match="references must be a list of sentences"):
        corpus_scores(other, "A man")
