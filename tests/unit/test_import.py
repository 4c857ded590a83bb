"""`import transformer_edu` is light: it loads next to nothing that torch has not loaded already."""

import json
import subprocess
import sys

import transformer_edu

PLOTTING = {"matplotlib", "seaborn", "pandas"}
HEAVY = PLOTTING | {"anywidget", "ipywidgets", "IPython", "bertviz", "tokenizers", "safetensors"}


def modules_after(statement, root):
    """The names in sys.modules after `statement` in a fresh interpreter."""
    code = f"{statement}; import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    return set(json.loads(done.stdout))


def test_import_loads_no_plotting_widget_or_tokenizer_library(root):
    loaded = {name.split(".")[0] for name in modules_after("import transformer_edu", root)}
    assert "transformer_edu" in loaded
    assert loaded & HEAVY == set()


def test_import_adds_few_modules_to_torchs_own(root):
    """The seconds are measured by benchmarks/import_time.py; a count does not depend on how busy the machine is."""
    extra = modules_after("import transformer_edu", root) - modules_after("import torch", root)
    foreign = {name for name in extra if not name.startswith(("transformer_edu", "jaxtyping"))}
    assert len(foreign) <= 20, f"{len(foreign)} modules more than torch loads: {sorted(foreign)}"


def test_every_promised_name_is_there_and_documented():
    for name in transformer_edu.__all__:
        assert getattr(transformer_edu, name).__doc__, name
    assert sorted(set(transformer_edu.__all__)) == sorted(transformer_edu.__all__)
