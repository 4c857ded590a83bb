"""One case for each interactive figure. A new figure: add a case here, and a test module that operates it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transformer_edu import recordings
from transformer_edu.widgets import (
    ArchitectureMap,
    AttentionMap,
    AttentionStepper,
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
    SoftmaxLab,
)

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
    "attention-map-over-training": Case(make=AttentionMap.over_training),
    "attention-stepper": Case(
        make=AttentionStepper,
        hostile=lambda: AttentionStepper(tokens=[HOSTILE, "</script><b>black", "&lt;cat&gt;"]),
    ),
    "head-splitter": Case(
        make=HeadSplitter,
        hostile=lambda: HeadSplitter(tokens=[HOSTILE, "</script><b>black", "&lt;cat&gt;"]),
    ),
    "context-explorer": Case(
        make=ContextExplorer,
        hostile=lambda: ContextExplorer(HOSTILE_VECTORS, pair=[0, 1]),
    ),
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
    "softmax-lab": Case(make=SoftmaxLab),
    "path-length-racer": Case(make=PathLengthRacer),
    "position-explorer": Case(make=PositionExplorer),
}
