"""Every kind of part through the command itself: its process, its locked door, what is watched there, its verdict."""

import re
import sys

import pytest

from tests.judge.forked import check_all
from tests.judge.reading import COMPONENTS, gaps, right_text
from transformer_edu.book.exercises.judge.kinds import KINDS

OWN = {  # the page and the package of this book
    "input_embedding": "book/one_page.py:InputEmbedding",
    "positional_encoding": "book/one_page.py:PositionalEncoding",
    "layer_norm": "book/one_page.py:LayerNorm",
    "rms_norm": "transformer_edu/normalization.py:RMSNorm",
    "feed_forward": "book/one_page.py:PositionwiseFeedForward",
    "residual": "book/one_page.py:ResidualConnection",
    "attention": "transformer_edu/attention.py:scaled_dot_product_attention",
    "multi_head_attention": "book/one_page.py:MultiHeadAttention",
    "causal_mask": "transformer_edu/masks.py:causal_mask",
    "padding_mask": "transformer_edu/masks.py:padding_mask",
    "kv_cache": "tests/judge/components/right/kv_cache__cat.py:KVCache",
    "encoder_layer": "transformer_edu/encoder.py:EncoderLayer",
    "decoder_layer": "book/one_page.py:DecoderLayer",
    "transformer": "transformer_edu/transformer.py:Transformer",
    "label_smoothing": "transformer_edu/training/loss.py:label_smoothing",
    "warmup_schedule": "transformer_edu/training/schedule.py:warmup_schedule",
    "greedy_search": "transformer_edu/decoding/greedy.py:greedy_search",
    "beam_search": "tests/judge/components/right/beam_search__sorted_lists.py:beam_search",
}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")


def told(answer):
    """Status and reason of what the command says."""
    return answer["status"], answer.get("trouble") or (answer.get("fault") or {}).get("name")


@pytest.mark.slow
def test_every_kind_of_part_can_be_right_in_the_process_of_the_command():
    assert set(OWN) == set(KINDS)
    answers = check_all([place, "--as", kind] for kind, place in OWN.items())
    assert {kind: told(one) for kind, one in zip(OWN, answers, strict=True)} == dict.fromkeys(OWN, (0, None))


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
    said = [told(one) for one in answers]
    assert said[:3] == [(0, None)] * 3
    assert said[3][0] == said[4][0] == 2
    assert "__init__.py" in said[4][1]


@pytest.mark.weekly
@pytest.mark.parametrize("kind", KINDS)
def test_right_components_of_all_styles_are_right_in_the_process_of_the_command(kind):
    paths = sorted((COMPONENTS / "right").glob(f"{kind}__*.py"))
    names = [re.search(r"name:\s*([\w.]+)", right_text(path.stem))[1] for path in paths]
    answers = check_all([f"{path}:{name}", "--as", kind] for path, name in zip(paths, names, strict=True))
    found = {path.stem: told(one)[0] for path, one in zip(paths, answers, strict=True)}
    unread = gaps("unreadable", kind)
    assert found == {path.stem: 2 if path.stem in unread else 0 for path in paths}
