"""What tests of training and translation share: a small parallel text, and a model trained on it for a moment."""

from pathlib import Path

import pytest

from transformer_edu.data import held_out_pairs, train_pairs

SMALL = {
    "vocab_size": 300,
    "d_model": 16,
    "num_heads": 2,
    "d_ff": 16,
    "num_layers": 1,
    "dropout": 0.1,
    "max_tokens": 200,
    "steps": 12,
    "warmup_steps": 10,
    "every": 4,
    "average": 2,
    "precision": "float32",
}


@pytest.fixture(scope="session")
def parallel_text(tmp_path_factory):
    """Files of English and French sentences: {"train": two files, "valid": one TSV}."""
    folder: Path = tmp_path_factory.mktemp("text")
    train, valid = train_pairs(120), held_out_pairs(20)
    for side, name in enumerate(("train.en", "train.fr")):
        (folder / name).write_text("".join(pair[side] + "\n" for pair in train), encoding="utf-8")
    (folder / "valid.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in valid), encoding="utf-8")
    return {"train": (str(folder / "train.en"), str(folder / "train.fr")), "valid": (str(folder / "valid.tsv"),)}


@pytest.fixture(scope="session")
def brief_text(tmp_path_factory, parallel_text):
    """Files of English and French sentences, with only two validation sentences, which are soon translated."""
    lines = Path(parallel_text["valid"][0]).read_text(encoding="utf-8").splitlines(keepends=True)
    valid = tmp_path_factory.mktemp("brief") / "valid.tsv"
    valid.write_text("".join(lines[:2]), encoding="utf-8")
    return {**parallel_text, "valid": (str(valid),)}


@pytest.fixture(scope="module")
def brief_answers():
    """For files about the files of runs: untrained models, whose answers never end, are stopped soon, and ask once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transformer_edu.decoding.greedy.EXTRA", 2)
        patch.setattr("transformer_edu.translate.export.LENGTH_PENALTIES", (0.6,))
        yield


def refusals(*cases):
    """A test that each call is answered with its error: the call, the kind of error, words of the message."""

    @pytest.mark.usefixtures("as_readers_run_it")
    @pytest.mark.parametrize(("call", "error", "says"), cases)
    def test(call, error, says):
        with pytest.raises(error, match=says):
            call()

    return test
