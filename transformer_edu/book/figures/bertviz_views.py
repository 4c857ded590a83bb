"""Attention drawn by bertviz: its head view and its model view, the same on every run.

bertviz 1.4 writes a page that loads require.js, d3 and jQuery, carries a random id and prints tokens unescaped into a
script. Here its drawing is kept and the rest replaced: the id is a hash of the content, tokens cannot end the script,
each menu has a name, everything works by keyboard, and what is shown is also said in words (bertviz/view.js).

A live notebook still takes d3 and jQuery from the addresses that bertviz names, so it needs the network; without it
the view says so in a line. The published book brings both libraries along and shows the views offline. An output is
stored without bertviz's script, and with a still (tools/normalize.py, tools/take_stills.py); the book puts the script
back (book/_ext/bertviz_offline.py).
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from transformer_edu.book.figures.assets import script_json
from transformer_edu.book.figures.attention_weights import KINDS, check_maps, check_tokens, map_name
from transformer_edu.book.figures.bertviz_script import TITLES, VIEW, Grid, Texts, enclose, run_bertviz
from transformer_edu.book.figures.inputs import check_index
from transformer_edu.support.validation import check_choice

FOLDER = Path(__file__).parent
FALLBACK = (
    "bertviz draws this in the published book, and in a live notebook once this cell has run; there its menus work. "
    "The heatmaps of the same attention hold the same numbers."
)
ALT = {
    "head": "Two columns of words with lines from each word that looks to what it looks at, a colour for each head: "
    "the stronger the line, the larger the weight.",
    "model": "A grid of small pictures, a row for each layer and a column for each head. In each, lines run from the "
    "word that looks, on the left, to what it looks at.",
}

SAYS = {
    "head": ("Each head draws lines of its own", "point at a word on the left; switch heads off by their boxes."),
    "model": ("Every head of every layer on one sheet", "choose a small picture to enlarge it."),
}


@dataclass(frozen=True, repr=False)
class BertvizView:
    """A bertviz drawing that a notebook displays: HTML that never varies, and a line of text."""

    name: str
    markup: str

    def __repr__(self) -> str:
        return f"<bertviz {self.name}>"

    def _repr_html_(self) -> str:
        """The drawing: markup, styles and script in one piece."""
        return self.markup


def bertviz_head_view(
    maps: Mapping[str, Any],
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    *,
    attention: str | None = None,
    layer: int = 0,
    heads: Sequence[int] | None = None,
) -> BertvizView:
    """All heads of one layer as coloured lines between words (bertviz's head view).

    Args:
        maps: what `record_attention` collects for one sentence: {"encoder.0.self": (1, heads, q_len, k_len), ...},
            with or without the batch dimension; every layer of each attention that is given.
        source: the words that the encoder reads.
        target: the words that the decoder writes, one for each row of its maps. The row that writes word i has
            word i-1 as its input; the first has the begin token.
        attention: which is shown first, "encoder self", "decoder self" or "cross"; None is the first of these.
        layer: which is shown first, counts from 0.
        heads: which are shown first, counting from 0; None is all.

    Raises:
        ValueError, TypeError: maps and words do not fit each other.
        ImportError: bertviz is not installed.
    """
    grids, texts = read(maps, source, target)
    first = choose(grids, attention)
    check_index("layer", layer, len(grids[first]))
    shown = None if heads is None else sorted({check_index("heads", head, len(grids[first][0])) for head in heads})
    if shown == []:
        raise ValueError(f"heads must name at least one head, got {heads!r}")
    params, code = run_bertviz("head", grids, texts)
    return compose("head", params | {"layer": layer + 1, "heads": shown}, code, first)


def bertviz_model_view(
    maps: Mapping[str, Any],
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    *,
    attention: str | None = None,
) -> BertvizView:
    """Every head of every layer as a small picture that can be enlarged (bertviz's model view).

    Arguments and errors are those of `bertviz_head_view`.
    """
    grids, texts = read(maps, source, target)
    first = choose(grids, attention)
    params, code = run_bertviz("model", grids, texts)
    count = len(grids[first][0])
    # bertviz cuts 970 pixels into `total_heads` columns; room for six makes four fit a book's column at full size.
    own = {"include_heads": list(range(1, count + 1)), "total_heads": max(count, 6)}
    return compose("model", params | own, code, first)


def read(
    maps: Mapping[str, Any], source: Sequence[str] | None, target: Sequence[str] | None
) -> tuple[dict[str, Grid], Texts]:
    """For each kind of attention that is given: its weights with 4 decimals, and the words on the left and right."""
    keys = list(maps) if isinstance(maps, Mapping) else []
    names = [key for key in keys if isinstance(key, str)]
    reads = check_tokens("source", source) if source is not None or needs(names, "encoder", ".cross") else []
    writes = check_tokens("target", target) if target is not None or needs(names, "decoder") else []
    first_batch = {key: without_batch(value) for key, value in maps.items()} if keys else maps
    checked = check_maps("maps", first_batch, reads, writes)
    grids = {kind: grid for kind in KINDS if (grid := layers_of(kind, checked))}
    sizes = {kind: (len(grid), len(grid[0])) for kind, grid in grids.items()}
    if len(set(sizes.values())) > 1 or any(len({len(heads) for heads in grid}) > 1 for grid in grids.values()):
        raise ValueError(f"maps must have as many layers and heads in each attention, got (layers, heads) {sizes}")
    started = ["<bos>", *writes[:-1]]
    texts = {"encoder self": (reads, reads), "decoder self": (writes, started), "cross": (writes, reads)}
    return grids, texts


def needs(names: Sequence[str], *parts: str) -> bool:
    """Whether any map's name has one of these parts."""
    return any(part in name for name in names for part in parts)


def without_batch(weights: Any) -> Any:
    """A batch of one sentence as that sentence."""
    return weights[0] if getattr(weights, "ndim", 0) == 4 and len(weights) == 1 else weights


def layers_of(kind: str, maps: Mapping[str, Any]) -> Grid:
    """The layers of one kind of attention, from 0 up with none left out."""
    pattern = re.compile(re.escape(map_name(kind, 0)).replace("0", r"(\d+)"))
    found = sorted(int(match[1]) for name in maps if (match := pattern.fullmatch(name)))
    if found != list(range(len(found))):
        raise ValueError(f"maps must hold every layer of the {kind} attention from 0 up, got layers {found}")
    return [maps[map_name(kind, layer)] for layer in found]


def choose(grids: Mapping[str, Grid], attention: str | None) -> str:
    """The kind of attention to show first."""
    if attention is None:
        return next(iter(grids))
    check_choice("attention", attention, list(grids))
    return attention


def compose(kind: str, params: dict[str, Any], code: str, first: str) -> BertvizView:
    """The whole view: frame, styles, our script around bertviz's."""
    titles = [entry["name"] for entry in params["attention"]]
    params = params | {"default_filter": str(titles.index(TITLES[first])), "root_div_id": ""}
    mark = hashlib.sha256((kind + script_json(params)).encode()).hexdigest()[:12]
    params["root_div_id"] = f"bertviz-{mark}"
    script = (FOLDER / "bertviz/view.js").read_text(encoding="utf-8")
    style = (FOLDER / "bertviz/view.css").read_text(encoding="utf-8")
    layers, heads = len(params["attention"][0]["attn"]), len(params["attention"][0]["attn"][0])
    view = script_json({"kind": kind, "params": params})
    alt = escape(alt_text(kind, params, first))
    says, invite = map(escape, SAYS[kind])
    markup = (
        f'{VIEW} role="group" aria-label="bertviz, {kind} view" data-alt="{alt}">\n'
        f"<style>\n{style}</style>\n"
        f'<p class="bv-says">{says}</p>\n<p class="bv-invite"><strong>Try:</strong> {invite}</p>\n'
        f'<div id="{params["root_div_id"]}">\n<div class="bv-controls">{menus(kind, titles, TITLES[first])}</div>\n'
        f'<div id="vis" class="bv-scroll"><!--still--><p>{escape(FALLBACK)}</p></div>\n</div>\n'
        f'<p class="bv-words"></p>\n'
        f"<script>\n(() => {{\nconst view = {view};\n{script}\n"
        f"start(view, (view, require, requirejs) => {{\n{enclose(kind, code)}\n}});\n}})();\n</script>\n</div>"
    )
    return BertvizView(f"{kind} view: {', '.join(titles)}; {layers} layer{'s' * (layers != 1)} × {heads} heads", markup)


def menus(kind: str, titles: Sequence[str], first: str) -> str:
    """The menus that bertviz listens to: the attention, where there are several, and the head view's layer."""
    options = "".join(
        f'<option value="{at}"{" selected" * (title == first)}>{escape(title)}</option>'
        for at, title in enumerate(titles)
    )
    several = f'<label>attention <select id="filter">{options}</select></label>' if len(titles) > 1 else ""
    return several + ('<label>layer <select id="layer"></select></label>' if kind == "head" else "")


def alt_text(kind: str, params: Mapping[str, Any], first: str) -> str:
    """What the still shows, in words."""
    title = TITLES[first][0].upper() + TITLES[first][1:]
    layer = f", layer {params['layer']}" if kind == "head" else ""
    return f"{title}{layer}. {ALT[kind]}"
