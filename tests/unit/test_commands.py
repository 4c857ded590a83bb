"""The command line, from training to scores."""

import json

import pytest

from tests.unit.command import as_arguments, run
from tests.unit.conftest import SMALL
from transformer_edu.commands.main import main
from transformer_edu.training.evaluate import corpus_scores, lowercase_bleu

pytestmark = pytest.mark.usefixtures("at_readers_speed")


@pytest.fixture(scope="module")
def trained(tmp_path_factory, parallel_text):
    folder = tmp_path_factory.mktemp("trained")
    main(["train", "--quiet", "--out", str(folder), *as_arguments({**SMALL, "steps": 4, **parallel_text})])
    return folder


def test_train_writes_a_card_that_says_how_it_came_about(trained):
    card = json.loads((trained / "card.json").read_text())
    assert {"command", "commit", "machine", "date", "seed", "settings", "training", "weights", "search"} <= set(card)
    assert card["settings"]["d_model"] == 16
    assert card["training"]["pairs"] == 120


def test_translate_reads_a_file_and_prints_a_line_for_each_sentence(trained, tmp_path, capsys):
    (tmp_path / "text").write_text("the cat\n\nthe <b> dog\n", encoding="utf-8")
    main(["translate", str(tmp_path / "text"), "--model", str(trained), "--max-len", "6"])
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_translate_shows_scores_and_alignments(trained, tmp_path, capsys):
    (tmp_path / "text").write_text("the cat\n", encoding="utf-8")
    options = ["--n-best", "2", "--alignments", "--max-len", "5", "--beam-size", "3"]
    main(["translate", str(tmp_path / "text"), "--model", str(trained), *options])
    lines = capsys.readouterr().out.split("\n")
    heads = [line.split("\t") for line in lines if line and not line.startswith("  ")]
    assert len(heads) == 2
    assert float(heads[0][0]) >= float(heads[1][0])
    assert sum(line.startswith("  ") for line in lines) >= 2


@pytest.mark.slow
def test_translate_reads_standard_input_in_a_process_of_its_own(trained):
    status, out, errors = run(["translate", "--model", trained, "--max-len", "5"], given="the cat\nthe dog\n")
    assert status == 0, errors
    assert len(out.splitlines()) == 2


@pytest.mark.slow
def test_a_compiled_run_follows_the_plain_one(parallel_text, tmp_path):
    small = {**SMALL, "num_layers": 1, "steps": 4, "every": 1, "dropout": 0.0, "precision": "float32"}
    options = as_arguments({**small, **parallel_text})
    losses = {}
    for name, extra in (("plain", []), ("compiled", ["--compile"])):
        status, _, errors = run(["train", "--quiet", "--out", tmp_path / name, *options, *extra])
        assert status == 0, errors
        lines = map(json.loads, (tmp_path / name / "log.jsonl").read_text().splitlines())
        losses[name] = [line["loss"] for line in lines if "loss" in line]
    assert len(losses["plain"]) == 4
    assert losses["compiled"] != losses["plain"]  # other kernels: it was compiled
    assert losses["compiled"] == pytest.approx(losses["plain"], abs=1e-3)


def test_evaluate_writes_what_repeats_it(trained, parallel_text, tmp_path, capsys):
    out = tmp_path / "scores.json"
    arguments = ["evaluate", "--model", str(trained), "--text", *parallel_text["valid"], "--max-len", "6"]
    main([*arguments, "--out", str(out)])
    first = json.loads(out.read_text())
    assert first["sentences"] == len(first["translations"]) == 20
    assert "case:lc" in first["scores"]["bleu_lowercase"]["signature"]
    assert "case:mixed" in first["scores"]["bleu"]["signature"]
    assert "tok:13a" in first["scores"]["bleu"]["signature"]
    assert "nc:6" in first["scores"]["chrf"]["signature"]
    assert first["search"]["max_len"] == 6
    main([*arguments, "--out", str(out)])
    again = json.loads(out.read_text())
    assert {**again, "seconds": 0, "date": 0} == {**first, "seconds": 0, "date": 0}
    assert "bleu_lowercase" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["translate", "--model", "nowhere"], "model must be a folder written by train"),
        (["train", "--steps", "0"], "steps must be at least 1, got 0"),
        (["train", "--train", "a.tsv"], "train and valid must be given together"),
        (["train", "--train", "missing.tsv", "--valid", "missing.tsv", "--out", "{folder}"], "missing.tsv"),
        (["evaluate", "--model", "nowhere"], "model must be a folder written by train"),
    ],
)
def test_mistakes_are_told_in_a_line(arguments, says, capsys, tmp_path):
    with pytest.raises(SystemExit) as stop:
        main([argument.format(folder=tmp_path) for argument in arguments])
    assert stop.value.code == 2
    errors = capsys.readouterr().err
    assert errors.startswith("transformer-edu: ")
    assert says in errors
    assert "Traceback" not in errors


def test_a_folder_with_a_run_is_not_written_over(trained, parallel_text, capsys):
    with pytest.raises(SystemExit):
        main(["train", "--quiet", "--out", str(trained), *as_arguments({**SMALL, **parallel_text})])
    assert "out must be a new folder" in capsys.readouterr().err


def test_out_of_memory_says_what_to_do(monkeypatch, trained, parallel_text, tmp_path, capsys):
    def no_memory(*given):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("transformer_edu.translator.steps.StepMaker.take", no_memory)
    with pytest.raises(SystemExit):
        main(["train", "--quiet", "--out", str(tmp_path), *as_arguments({**SMALL, **parallel_text})])
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
