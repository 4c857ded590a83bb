"""`import transformer_edu` is light: it loads next to nothing beside torch, and each part later what it needs."""

import json
import subprocess
import sys

import pytest

import transformer_edu

PLOTTING = {"matplotlib", "seaborn", "pandas"}
HEAVY = PLOTTING | {"anywidget", "ipywidgets", "IPython", "bertviz", "tokenizers", "safetensors"}


STATEMENTS = {
    "torch": "import torch",
    "package": "import transformer_edu",
    "grammar": "from transformer_edu import pretrained; pretrained.load_grammar()",
    "widgets": "import transformer_edu.book.figures",
    "stories": "pretrained.load_stories()",
}


@pytest.mark.long
def test_what_is_loaded_by_torch_by_the_package_by_the_models_and_by_the_figures(root):
    """The seconds are measured by benchmarks/import_time.py; a count does not depend on how busy the machine is."""
    report = "print(json.dumps(sorted(sys.modules)))"
    code = "\n".join(["import json, sys", *(f"{statement}; {report}" for statement in STATEMENTS.values())])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    after = dict(zip(STATEMENTS, (set(json.loads(line)) for line in done.stdout.splitlines()), strict=True))
    assert "transformer_edu" in after["package"]
    assert {name.split(".")[0] for name in after["package"]} & HEAVY == set()
    extra = after["package"] - after["torch"]
    foreign = {name for name in extra if not name.startswith(("transformer_edu", "jaxtyping"))}
    assert len(foreign) <= 20, f"{len(foreign)} modules more than torch loads: {sorted(foreign)}"
    assert not {"tokenizers", "transformer_edu.translate.translator"} & after["grammar"]
    assert "bertviz" not in after["widgets"]
    assert "torch._dynamo" not in after["stories"], "PyTorch's compiler takes seconds to load"


@pytest.mark.parametrize(("name", "place"), transformer_edu.LATER.items())
def test_what_is_loaded_later_is_there_when_it_is_asked_for(name, place):
    assert transformer_edu.__getattr__(name).__name__ == f"transformer_edu.{place}"


def test_what_is_nowhere_is_no_attribute():
    with pytest.raises(AttributeError, match="module 'transformer_edu' has no attribute 'plot'"):
        _ = transformer_edu.plot


def test_every_promised_name_is_there_and_documented():
    for name in transformer_edu.__all__:
        assert getattr(transformer_edu, name).__doc__, name
    assert sorted(set(transformer_edu.__all__)) == sorted(transformer_edu.__all__)
