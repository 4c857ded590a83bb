"""Every kind of part through the command itself: its process, its locked door, what is watched there, its verdict."""

import re
import sys

import pytest

from tests.judge.forked import ROOT, check_all
from tests.judge.reading import COMPONENTS, GAPS, right_text
from transformer_edu.book.exercises.judge.kinds import KINDS

OWN = {  # the page and the package of this book
    "input_embedding": "book/one_page.py:InputEmbedding",
    "positional_encoding": "book/one_page.py:PositionalEncoding",
    "layer_norm": "book/one_page.py:LayerNorm",
    "rms_norm": "transformer_edu/parts/rms_norm.py:RMSNorm",
    "feed_forward": "book/one_page.py:PositionwiseFeedForward",
    "residual": "book/one_page.py:ResidualConnection",
    "attention": "transformer_edu/attention.py:scaled_dot_product_attention",
    "multi_head_attention": "book/one_page.py:MultiHeadAttention",
    "causal_mask": "transformer_edu/masks.py:causal_mask",
    "padding_mask": "transformer_edu/masks.py:padding_mask",
    "kv_cache": "tests/judge/components/right/kv_cache__cat.py:KVCache",
    "encoder_layer": "book/one_page.py:EncoderLayer",
    "decoder_layer": "book/one_page.py:DecoderLayer",
    "transformer": "transformer_edu/transformer.py:Transformer",
    "causal_self_attention": "tests/judge/components/right/causal_self_attention__flax.py:SelfAttention",
    "self_attention": "tests/judge/components/right/self_attention__config.py:Attend",
    "grouped_query_attention": "tests/judge/components/right/grouped_query_attention__llama.py:Attention",
    "capped_attention": "tests/judge/components/right/capped_attention__gemma.py:eager_attention",
    "sink_attention": "tests/judge/components/right/sink_attention__logsumexp.py:sdpa_with_sinks",
    "qk_norm_attention": "tests/judge/components/right/qk_norm_attention__qwen.py:Attention",
    "latent_attention": "tests/judge/components/right/latent_attention__deepseek.py:MLA",
    "decoder_only_block": "book/one_page_gpt.py:GPTBlock",
    "language_model": "transformer_edu/models/gpt.py:GPT",
    "gated_feed_forward": "transformer_edu/parts/gated.py:GatedFeedForward",
    "mixture_of_experts": "tests/judge/components/right/mixture_of_experts__dense.py:MoE",
    "rotary": "transformer_edu/parts/rotary.py:RotaryPositions",
    "alibi": "tests/judge/components/right/alibi__distance.py:linear_biases",
    "window_mask": "transformer_edu/parts/window.py:window_mask",
    "top_k": "tests/judge/components/right/top_k__threshold.py:top_k_probs",
    "top_p": "tests/judge/components/right/top_p__loop.py:nucleus",
    "label_smoothing": "transformer_edu/training/loss.py:label_smoothing",
    "warmup_schedule": "transformer_edu/training/schedule.py:warmup_schedule",
    "greedy_search": "transformer_edu/decoding/greedy.py:greedy_search",
    "beam_search": "tests/judge/components/right/beam_search__sorted_lists.py:beam_search",
}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")


def told(answer):
    """Status and reason of what the command says."""
    return answer["status"], answer.get("trouble") or (answer.get("fault") or {}).get("name")


def styles(kind):
    """Right components of a kind: this book's own, and those of people who had not seen the catalogue."""
    paths = sorted((COMPONENTS / "right").glob(f"{kind}__*.py"), key=lambda path: path.stem in GAPS["unreadable"])
    names = [re.search(r"name:\s*([\w.]+)", right_text(path.stem))[1] for path in paths]
    return [OWN[kind], *(f"{path.relative_to(ROOT)}:{name}" for path, name in zip(paths, names, strict=True))]


def verdicts(some):
    """What the command says of some of each kind's right components: faults, and what it cannot read, by place."""
    places = [(place, kind) for kind in KINDS for place in some(styles(kind))]
    answers = check_all([place, "--as", kind] for place, kind in places)
    found = {place: told(answer) for (place, _), answer in zip(places, answers, strict=True)}
    return {place: said for place, said in found.items() if said != (0, None)}


@pytest.mark.slow
def test_right_components_of_every_kind_in_four_styles_are_right_in_the_process_of_the_command():
    assert set(OWN) == set(KINDS)
    assert all(len(styles(kind)) >= 4 for kind in KINDS)
    assert verdicts(lambda places: places[:4]) == {}


@pytest.mark.weekly
def test_all_right_components_are_right_in_the_process_of_the_command_but_for_those_it_cannot_read():
    found = verdicts(lambda places: places[4:])
    assert {place.split("/")[-1].split(".py")[0]: status for place, (status, _) in found.items()} == dict.fromkeys(
        GAPS["unreadable"], 2
    )


@pytest.mark.slow
def test_what_torch_imports_late_is_not_held_against_the_code_and_packages_are_read(tmp_path):
    (tmp_path / "own").mkdir()
    for name, text in {
        "__init__.py": "",
        "helper.py": "import torch\n\ndef ones(size):\n    return torch.ones(size, size)\n",
        "relative.py": "from .helper import ones\n\ndef causal_mask(size):\n    return ones(size).tril().bool()\n",
        "absolute.py": "from own.helper import ones\n\ndef causal_mask(size):\n    return ones(size).tril().bool()\n",
        "compiled.py": "import torch\n\n@torch.compile\ndef causal_mask(size):\n"
        "    return torch.ones(size, size).tril().bool()\n",
        "changed.py": "import torch\ntorch.manual_seed = print\ncausal_mask = print\n",
    }.items():
        (tmp_path / "own" / name).write_text(text)
    (tmp_path / "loose.py").write_text("from .helper import ones\n")
    places = ["own/relative", "own/absolute", "own/compiled", "own/changed", "loose"]
    answers = check_all([tmp_path / f"{place}.py:causal_mask", "--as", "causal_mask"] for place in places)
    said = [told(answer) for answer in answers]
    assert said[:3] == [(0, None)] * 3
    assert said[3][0] == said[4][0] == 2
    assert "__init__.py" in said[4][1]
