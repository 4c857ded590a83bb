"""One case for each interactive figure. A new figure: add a case here, and a test module that operates it."""

from collections.abc import Callable
from dataclasses import dataclass

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
    assets,
)

HOSTILE = "</b><img src=x onerror=alert(1)>&lt;"  # a token that tries to be markup
WRITTEN = assets.script_json(HOSTILE)[1:-1]  # as the state in a page holds it


@dataclass(frozen=True)
class Case:
    """`make` builds the figure as a chapter does.

    `hostile` is HTML in which HOSTILE stands in place of `token`, unless the figure has no such token. The controls of
    `quiet` change nothing that is said but their own value, where a reader of the default state meets them.
    """

    make: Callable[[], Figure]
    quiet: tuple[str, ...] = ()
    token: str = "cat"
    hostile_figure: Callable[[], Figure] | None = None

    def hostile(self) -> str | None:
        """The HTML with the hostile token, or None."""
        if self.hostile_figure:
            return self.hostile_figure().html()
        html = self.make().html()
        return html.replace(f'"{self.token}"', f'"{WRITTEN}"') if f'"{self.token}"' in html else None


CASES = {
    "architecture-map": Case(ArchitectureMap, quiet=("radio Follow a word that is read (English)",)),
    "attention-map": Case(AttentionMap, token="the"),
    "attention-stepper": Case(AttentionStepper, quiet=("select mask",)),
    "batch-packer": Case(BatchPacker, hostile_figure=lambda: BatchPacker([f"{HOSTILE} the cat " * 3] * 2)),
    "cache-stepper": Case(CacheStepper),
    "context-explorer": Case(ContextExplorer),
    "decoder-stepper": Case(DecoderStepper),
    "head-splitter": Case(HeadSplitter),
    "mask-lab": Case(MaskLab, token="chien", quiet=("range English 2",)),
    "merge-stepper": Case(
        MergeStepper, hostile_figure=lambda: MergeStepper(f"{HOSTILE} cat", step=36, new_word=HOSTILE)
    ),
    "norm-cube": Case(NormCube, quiet=("checkbox leave padding out", "select after")),
    "norm-placement": Case(NormPlacement),
    "parameter-map": Case(ParameterMap, quiet=("checkbox dff follows dmodel", "option Word tables: matrices")),
    "path-length-racer": Case(PathLengthRacer),
    "position-explorer": Case(PositionExplorer),
    "search-tree": Case(SearchTree),
    "softmax-lab": Case(SoftmaxLab),
    "training-replay": Case(TrainingReplay),
}
