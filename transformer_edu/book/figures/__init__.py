"""Interactive figures that work with a kernel and without one.

A figure is NAME.py (a declaration of fields, what it shows, its words), js/NAME.derive.js (all that is drawn, out of
the state), js/NAME.jsx (a view of it), two tests, and one line below. Some older ones are js/NAME.js.

>>> AttentionStepper(step=2)
<figure attention-stepper>
"""

# ruff: noqa: F401  # a figure is imported here for others

import json
from pathlib import Path

from transformer_edu.book.figures.architecture_map import ArchitectureMap
from transformer_edu.book.figures.assets import check_figure_name
from transformer_edu.book.figures.attention_map import AttentionMap
from transformer_edu.book.figures.attention_stepper import AttentionStepper
from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.bertviz_views import bertviz_head_view, bertviz_model_view
from transformer_edu.book.figures.block_years import BlockYears
from transformer_edu.book.figures.cache_stepper import CacheStepper
from transformer_edu.book.figures.context_explorer import ContextExplorer
from transformer_edu.book.figures.decoder_stepper import DecoderStepper
from transformer_edu.book.figures.experts_map import ExpertsMap
from transformer_edu.book.figures.family_map import FamilyMap
from transformer_edu.book.figures.head_atlas import HeadAtlas
from transformer_edu.book.figures.head_splitter import HeadSplitter
from transformer_edu.book.figures.induction import Induction
from transformer_edu.book.figures.mask_lab import MaskLab
from transformer_edu.book.figures.merge_stepper import MergeStepper
from transformer_edu.book.figures.next_word import NextWord
from transformer_edu.book.figures.norm_cube import NormCube
from transformer_edu.book.figures.norm_placement import NormPlacement
from transformer_edu.book.figures.parameter_map import ParameterMap
from transformer_edu.book.figures.path_length_racer import PathLengthRacer
from transformer_edu.book.figures.playground import Playground
from transformer_edu.book.figures.position_explorer import PositionExplorer
from transformer_edu.book.figures.residual_stream import ResidualStream
from transformer_edu.book.figures.reward import Reward
from transformer_edu.book.figures.rotary_explorer import RotaryExplorer
from transformer_edu.book.figures.running_cost import RunningCost
from transformer_edu.book.figures.search_tree import SearchTree
from transformer_edu.book.figures.sentence_translator import SentenceTranslator
from transformer_edu.book.figures.softmax_lab import SoftmaxLab
from transformer_edu.book.figures.symptom_finder import SymptomFinder
from transformer_edu.book.figures.token_budget_batches import TokenBudgetBatches
from transformer_edu.book.figures.training_replay import TrainingReplay


def make_figure(name: str, **state: object) -> Figure:
    """The figure called `name`, with some of its state given."""
    return Figure.registry[check_figure_name(name)](**state)


def figure_from_file(name: str, path: str | Path | None = None) -> Figure:
    """The figure called `name` in the state that a JSON file holds, at the top or (a recording) under "state"."""
    if path is None:
        return make_figure(name)
    stored = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(stored, dict):
        raise TypeError(f"path must lead to a JSON object, got a {type(stored).__name__} in {path}")
    return make_figure(name, **stored.get("state", stored))
