"""One case for each interactive figure. A new figure: add a case here, and a test module that operates it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transformer_edu import recordings
from transformer_edu.widgets import (
    ArchitectureMap,
    AttentionMap,
    AttentionStepper,
    BatchPacker,
    CacheStepper,
    ContextExplorer,
    DecoderStepper,
    Figure,
    HeadSplitter,
    MaskLab,
    MergeStepper,
    NormCube,
    NormPlacement,
    ParameterMap,
    PathLengthRacer,
    PositionExplorer,
    SearchTree,
    SoftmaxLab,
    TrainingReplay,
)
from transformer_edu.widgets.search_tree_data import record_search_tree

HOSTILE = "<img src=x onerror=alert(1)>"
HOSTILE_BRANCHES = {  # a tree of translations with two nodes
    "source": [HOSTILE, "</script><b>cat"],
    "words": ["<bos>", HOSTILE, "&lt;chat&gt;", "<eos>"],
    "translation": f"{HOSTILE} &lt;chat&gt;",
    "d_model": 1,
    "unit": 0.1,
    "largest_change": 0.0,
    "parent": [-1, 0],
    "word": [0, 1],
    "self": [[[10]], [[4, 6]]],
    "cross": [[[5, 5]], [[9, 1]]],
    "output": [[3], [-3]],
    "next": [[2, 3], [3, 2]],
    "p": [[9, 1], [8, 1]],
    "more": {"0": [[1, 0, 4]]},
}
HOSTILE_VECTORS = {  # two sentences of two words, d_model 2, one layer
    "levels": ["embedding", "+ position", HOSTILE],
    "unit": 1.0,
    "sentences": [[HOSTILE, "</script><b>cat"], ["&lt;dog&gt;", HOSTILE]],
    "translations": [HOSTILE, "<b>chien</b>"],
    "embeddings": {HOSTILE: [1, 0], "</script><b>cat": [0, 1], "&lt;dog&gt;": [1, 1]},
    "positions": [[0, 1], [1, 0]],
    "layers": [[[[1, 2], [2, 1]]], [[[2, 2], [3, -1]]]],
}

HOSTILE_KEYS = {  # a decoder of one layer that reads two tokens
    "source": [HOSTILE, "</script><b>cat"],
    "reads": ["<bos>", HOSTILE],
    "writes": [HOSTILE, "<b>chat</b>"],
    "d_model": 4,
    "unit": 0.1,
    "largest_change": 0.0,
    "largest_change_without_mask": 1.0,
    "masked": [[[[1, 2, 3, 4]], [[1, 2, 3, 4], [4, 3, 2, 1]]]],
    "unmasked": [[[[1, 2, 3, 4]], [[2, 2, 3, 4], [4, 3, 2, 1]]]],
}

HOSTILE_REPLAY = {  # one run of two steps, one layer, one head
    "seed": 0,
    "source_tokens": [HOSTILE, "</script><b>cat"],
    "target_tokens": [HOSTILE, "&lt;chat&gt;"],
    "alignment": [[0, 0], [1, 1]],
    "vocabulary": 4,
    "smoothing": 0.1,
    "held_out_sentences": 1,
    "every": 1,
    "moments": [0, 2],
    "maps": ["decoder.0.cross"],
    "heads": 1,
    "runs": [
        {
            "name": HOSTILE,
            "losses": [2.0, 1.0],
            "rates": [0.1, 0.1, 0.1],
            "moments": [
                {"rate": None, "loss": 1.4, "exact": 0, "written": ["<b>x"], "p": [0.2, 0.2], "weights": "f4B/gA=="},
                {"rate": 0.1, "loss": 1.0, "exact": 0, "written": [HOSTILE], "p": [0.9, 0.2], "weights": "f4B/gA=="},
            ],
        }
    ],
}


@dataclass(frozen=True)
class Case:
    """`make` builds the figure as a chapter does; `hostile` builds one whose text tries to be markup, if it has any."""

    make: Callable[[], Figure]
    hostile: Callable[[], Figure] | None = None


def hostile_trace() -> dict[str, Any]:
    """The recorded trace of the architecture map with words that try to be markup."""
    trace = recordings.load("architecture-map")["data"]
    written = ["</script><b>le", *trace["target_tokens"][1:3], HOSTILE, *trace["target_tokens"][4:]]
    best = [[HOSTILE, 1.0, 0.9], ["<b>x</b>", 0.5, 0.1]]
    source = [HOSTILE, "&lt;cat&gt;", *trace["source_tokens"][2:]]
    return trace | {"source_tokens": source, "target_tokens": written, "candidates": [best for _ in written]}


def hostile_search() -> dict[str, Any]:
    """A search over four tokens, two of which try to be markup; none is likelier than another."""
    tokens = ["<bos>", "<eos>", HOSTILE, "</script><b>cat"]
    return record_search_tree(lambda prefix: [-1.4] * 4, 0, 1, tokens, 4, source=HOSTILE)


CASES = {
    "architecture-map": Case(
        make=ArchitectureMap,
        hostile=lambda: ArchitectureMap(hostile_trace(), source_name=HOSTILE, target_name=HOSTILE, block="logits"),
    ),
    "attention-map": Case(
        make=AttentionMap,
        hostile=lambda: AttentionMap(
            {"decoder.0.cross": [[[0.5, 0.5], [1.0, 0.0]]]},
            [HOSTILE, "</script><b>cat"],
            [HOSTILE, "&lt;chat&gt;"],
            candidates=[[[HOSTILE, 0.9]], [["<b>x</b>", 0.9]]],
            source_name=HOSTILE,
        ),
    ),
    "attention-stepper": Case(
        make=AttentionStepper,
        hostile=lambda: AttentionStepper(tokens=[HOSTILE, "</script><b>black", "&lt;cat&gt;"]),
    ),
    "batch-packer": Case(
        make=BatchPacker, hostile=lambda: BatchPacker([f"{HOSTILE} </script><b>cat &lt;dog&gt;<img/src=x> " * 3] * 2)
    ),
    "head-splitter": Case(
        make=HeadSplitter,
        hostile=lambda: HeadSplitter(tokens=[HOSTILE, "</script><b>black", "&lt;cat&gt;"]),
    ),
    "context-explorer": Case(
        make=ContextExplorer,
        hostile=lambda: ContextExplorer(HOSTILE_VECTORS, pair=[0, 1]),
    ),
    "cache-stepper": Case(make=CacheStepper, hostile=lambda: CacheStepper(HOSTILE_KEYS, token=1)),
    "decoder-stepper": Case(
        make=DecoderStepper,
        hostile=lambda: DecoderStepper(
            HOSTILE_BRANCHES, path=[HOSTILE], source_name=HOSTILE, target_name="<b>French</b>"
        ),
    ),
    "merge-stepper": Case(
        make=MergeStepper,
        hostile=lambda: MergeStepper(f"{HOSTILE} </script><b>cat", step=40, new_word=HOSTILE),
    ),
    "mask-lab": Case(
        make=MaskLab,
        hostile=lambda: MaskLab(target=[[HOSTILE, "</script><b>x"] * 3] * 2),
    ),
    "norm-cube": Case(
        make=NormCube,
        hostile=lambda: NormCube([{"tokens": [HOSTILE, "</script><b>x"], "x": [[1.0, 2.0], [3.0, 5.0]]}] * 2),
    ),
    "norm-placement": Case(make=NormPlacement, hostile=lambda: NormPlacement(tokens=(HOSTILE, "</script><b>x"))),
    "parameter-map": Case(make=ParameterMap),
    "search-tree": Case(make=SearchTree, hostile=lambda: SearchTree(hostile_search())),
    "softmax-lab": Case(make=SoftmaxLab),
    "path-length-racer": Case(make=PathLengthRacer),
    "position-explorer": Case(make=PositionExplorer),
    "training-replay": Case(
        make=TrainingReplay,
        hostile=lambda: TrainingReplay(HOSTILE_REPLAY, step=2),
    ),
}
