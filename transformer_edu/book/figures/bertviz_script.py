"""What bertviz makes of attention weights: its parameters and its script, taken apart.

A view marks where bertviz's script begins and ends. Stored outputs keep the marks alone, so that no code of bertviz is
stored in a chapter; the published book takes the script from the installed package again.
"""

import json
import re
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import files
from pathlib import Path
from typing import Any

import torch

Grid = list[list[list[list[float]]]]  # (layers, heads, q_len, k_len)
Texts = Mapping[str, tuple[list[str], list[str]]]  # kind of attention -> words on the left, words on the right

TITLES = {
    "encoder self": "encoder self-attention",
    "decoder self": "decoder self-attention",
    "cross": "cross-attention",
}
VIEW = '<div class="te-bertviz"'  # a view in a page of HTML begins with this
PARAMETERS = "const params = "
# Both marks stand on lines of their own: no word of a reader's can, because the data is one line of JSON.
SCRIPT = re.compile(r"(?ms)^(/\*bertviz script: (\w+)\*/\n).*?^(/\*end of bertviz script\*/)$")
LIBRARIES = {"d3.js": ("mpld3", "mpld3/js/d3.v5.min.js"), "jquery.js": ("sphinxcontrib-jquery", "jquery/jquery.js")}


def run_bertviz(kind: str, grids: Mapping[str, Grid], texts: Texts) -> tuple[dict[str, Any], str]:
    """bertviz's own parameters for these weights, and its own script without them."""
    try:
        import bertviz
    except ImportError as error:
        raise ImportError("this view needs the package bertviz: pip install bertviz") from error
    draw = {"head": bertviz.head_view, "model": bertviz.model_view}[kind]
    tensors = {name: [torch.tensor(layer, dtype=torch.float64)[None] for layer in grid] for name, grid in grids.items()}
    reads, writes = texts["cross"][1], texts["cross"][0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # bertviz leaves its script file open
        page = draw(
            encoder_attention=tensors.get("encoder self"),
            decoder_attention=tensors.get("decoder self"),
            cross_attention=tensors.get("cross"),
            encoder_tokens=reads or None,
            decoder_tokens=writes or None,
            prettify_tokens=False,
            html_action="return",
        )
    params, code = split_script(page.data)
    for name, entry in zip(grids, params["attention"], strict=True):
        entry["name"] = TITLES[name]
        entry["left_text"], entry["right_text"] = texts[name]
    layers = list(range(1, len(next(iter(grids.values()))) + 1))
    return params | {"include_layers": layers}, code


def split_script(page: str) -> tuple[dict[str, Any], str]:
    """Take bertviz's page apart: the parameters in its script, and the script with `view.params` in their place.

    The rest of the parameters' line is a remark that repeats them; it goes too.
    """
    before, found, after = page.partition(f"{PARAMETERS}{{")
    opening = before.rfind('<script type="text/javascript">')
    if not found or opening < 0 or "requirejs(['jquery', 'd3']" not in before:
        raise RuntimeError("bertviz wrote a page of a kind that this package does not know; version 1.4.1 is tested")
    params, end = json.JSONDecoder().raw_decode("{" + after)
    start = before[opening:].split(">", 1)[1]
    rest = after[end - 1 :].split("\n", 1)[1].rsplit("</script>", 1)[0]
    return params, f"{start}{PARAMETERS}view.params;\n{rest}"


@cache
def drawing_script(kind: str) -> str:
    """bertviz's own script for a view, "head" or "model". It is the same for all weights and words."""
    return run_bertviz(kind, {"encoder self": [[[[1.0]]]]}, {"encoder self": (["a"], ["a"]), "cross": ([], ["a"])})[1]


def enclose(kind: str, code: str) -> str:
    """A script between the marks that name its view."""
    return f"/*bertviz script: {kind}*/\n{code}\n/*end of bertviz script*/"


def without_script(html: str) -> str:
    """Views as they are stored: nothing between the marks."""
    return SCRIPT.sub(r"\1\3", html)


def with_script(html: str, script: Callable[[str], str] = drawing_script) -> str:
    """Views with bertviz's script between the marks again, or with what `script` makes of the view's kind."""
    return SCRIPT.sub(lambda found: enclose(found[2], script(found[2])), html)


def installed_file(package: str, ending: str) -> Path:
    """The installed file of a package whose path ends like this; raise FileNotFoundError if there is none."""
    found = next((file for file in files(package) or [] if file.as_posix().endswith(ending)), None)
    if found is None:
        raise FileNotFoundError(f"the installed package {package} has no file that ends with {ending!r}")
    return Path(str(found.locate()))


def library_files() -> dict[str, Path]:
    """Where the installed copies of d3 and jQuery are, by the names under which a view looks for them."""
    return {name: installed_file(package, ending) for name, (package, ending) in LIBRARIES.items()}
