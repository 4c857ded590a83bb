"""What a reader writes is held against the package's parts and kept in one file, whole or not at all."""

import math
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import transformer_edu as te
from tests.cells import run_cell
from tests.unit.checked import told
from transformer_edu import checks
from transformer_edu.book.exercises.checks.fit import CLASSES, PARTS

RIGHT = {
    "LayerNorm": """
class LayerNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return layer_norm(x, self.weight, self.bias)
""",
    "layer_norm": """
def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return gamma * centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + eps) + beta
""",
    "ResidualConnection": """
class ResidualConnection(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.norm = LayerNorm(d_model)

    def forward(self, x, sublayer):
        return self.norm(x + sublayer(x))
""",
    "MultiHeadAttention": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.output_projection = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.query_projection(query), self.key_projection(key), self.value_projection(value)
        q, k, v = (one.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for one in (q, k, v))
        scores = q @ k.mT / math.sqrt(q.size(-1))
        if mask is None:
            mask = torch.ones_like(scores, dtype=torch.bool)
        weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1) * mask
        return self.output_projection((weights @ v).transpose(1, 2).flatten(-2))
""",
    "PositionwiseFeedForward": """
class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.contract(F.relu(self.expand(x)))
""",
    "EncoderLayer": """
class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff)
        self.self_attention_residual = ResidualConnection(d_model)
        self.feed_forward_residual = ResidualConnection(d_model)

    def forward(self, x, mask=None):
        x = self.self_attention_residual(x, lambda h: self.self_attention(h, h, h, mask))
        return self.feed_forward_residual(x, self.feed_forward)
""",
}
ROOT = "torch.sqrt((centred**2).mean(-1, keepdim=True) + eps)"
FILLED = "torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1) * mask"
ADDED = "torch.softmax(scores + torch.zeros(mask.shape).masked_fill(~mask, -math.inf), dim=-1).nan_to_num()"
WRONG = [
    ("layer_norm", ROOT, "(centred.std(-1, correction=0, keepdim=True) + eps)"),
    ("layer_norm", " + eps)", ")"),
    ("layer_norm", "eps=1e-5", "eps=1e-6"),
    ("MultiHeadAttention", "self.value_projection(value)", "self.value_projection(key)"),
    ("MultiHeadAttention", "self.key_projection(key)", "self.key_projection(value)"),
    *(
        ("MultiHeadAttention", "math.sqrt(q.size(-1))", other)
        for other in (
            "math.sqrt(query.size(-1))", "math.sqrt(self.num_heads)", "math.sqrt(q.size(-2))", "math.sqrt(k.size(-2))",
            "q.size(-1)", "(q.size(-1) / 2)", "math.log2(q.size(-1))", "math.log(q.size(-1))", "self.num_heads",
        )
    ),
    ("PositionwiseFeedForward", "F.relu", "F.relu6"),
    ("PositionwiseFeedForward", "F.relu", "F.gelu"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "right", "wrong"), WRONG)
def test_no_other_formula_gives_the_same_answers_by_the_sizes_that_are_tried(name, right, wrong):
    assert right in RIGHT[name]
    checks.check_fit(define(RIGHT[name])[name])
    with pytest.raises(checks.CheckFailed, match="Its answer differs from the package's"):
        checks.check_fit(define(RIGHT[name].replace(right, wrong))[name])


def test_a_layer_norm_by_a_wrong_function_does_not_fit_either():
    function = RIGHT["layer_norm"].replace(" + eps)", ")")
    with pytest.raises(checks.CheckFailed, match="Its answer differs from the package's"):
        checks.check_fit(define(function, RIGHT["LayerNorm"])["LayerNorm"])


def test_two_residual_connections_that_are_one_object_are_named_and_two_are_right():
    texts = [RIGHT[name] for name in RIGHT if name != "EncoderLayer"]
    layer = RIGHT["EncoderLayer"]
    checks.check_fit(define(*texts, layer)["EncoderLayer"])
    one = layer.replace(
        "feed_forward_residual = ResidualConnection(d_model)", "feed_forward_residual = self.self_attention_residual"
    )
    assert one != layer
    with pytest.raises(checks.CheckFailed) as failure:
        checks.check_fit(define(*texts, one)["EncoderLayer"])
    names = "`self_attention_residual.norm.weight`, `feed_forward_residual.norm.weight` are one and the same weight"
    assert names in told(failure.value)


@pytest.mark.parametrize(
    ("name", "right", "wrong", "says"),
    [
        ("MultiHeadAttention", FILLED, ADDED, "NaN or infinite"),
        ("LayerNorm", "layer_norm(x,", "layer_norm(x.detach(),", "the gradient of x is not: it is none"),
        ("layer_norm", "keepdim=True)\n", "keepdim=True).detach()\n", "the gradient of x is not: it is another one"),
    ],
)
def test_the_answer_alone_is_not_enough_where_training_needs_the_gradient(name, right, wrong, says):
    assert right in RIGHT[name]
    with pytest.raises(checks.CheckFailed) as failure:
        checks.check_fit(define(RIGHT["layer_norm"], RIGHT[name].replace(right, wrong))[name])
    assert says in told(failure.value)


def define(*texts, names=None):
    """The names after a cell of these definitions."""
    place = {"torch": torch, "nn": nn, "F": F, "math": math, **(names or {})}
    run_cell("\n".join(texts), place)
    return place


def loaded(path):
    place = {}
    exec(compile(path.read_text(), str(path), "exec"), place)
    return place


def by_sizes(name):
    """The package's part, built of sizes as a reader's is: its own class takes parts."""

    def build(*sizes):
        return CLASSES[name].ours(*sizes)

    build.__name__ = name
    return build


def test_the_package_s_own_parts_fit(capsys):
    built = ("ResidualConnection", "EncoderLayer", "DecoderLayer", "GPTBlock")
    parts = {name: getattr(te, name) for name in CLASSES if name not in ("Transformer", "GPT", *built)}
    parts |= {name: by_sizes(name) for name in built} | {"GPT": by_sizes("GPT")}
    checks.check_fit(*parts.values())
    assert capsys.readouterr().out.count("✓") == len(parts)


def test_every_part_names_a_check_that_there_is():
    assert all(hasattr(checks, f"check_{part.check}") for part in PARTS.values() if part.check)


def test_what_is_kept_can_be_imported_and_is_replaced_by_what_is_kept_later(tmp_path, capsys):
    path = tmp_path / "mine.py"
    cell = define(RIGHT["layer_norm"], RIGHT["LayerNorm"])
    checks.keep(cell["layer_norm"], cell["LayerNorm"], path=path)
    cell = define(RIGHT["ResidualConnection"], names=cell)
    checks.keep(cell["ResidualConnection"], path=path)
    cell = define("# another way\n" + RIGHT["layer_norm"].replace("centred", "middle"))
    checks.keep(cell["layer_norm"], path=path)
    assert f"(3 of {len(PARTS)} parts are there)" in capsys.readouterr().out
    text, mine = path.read_text(), loaded(path)
    assert text.count("def layer_norm") == 1
    assert "middle" in text
    assert "centred" not in text
    x = torch.randn(2, 3, 8)
    torch.testing.assert_close(
        mine["ResidualConnection"](8)(x, torch.tanh), te.ResidualConnection(te.LayerNorm(8))(x, torch.tanh)
    )


@pytest.mark.parametrize(
    ("name", "right", "wrong", "says"),
    [
        ("LayerNorm", "self.weight", "self.gamma", "`weight` (12,) has no place in yours"),
        ("LayerNorm", "layer_norm(x, self.weight, self.bias)", "x", "Its answer differs from the package's, by up to"),
        ("LayerNorm", "torch.zeros(d_model)", "torch.zeros(1)", "`bias` is (1,) in yours and (12,) in the package"),
        ("LayerNorm", "layer_norm(x, self.weight, self.bias)", "None", "returned None"),
        ("LayerNorm", "self.weight, self.bias", "self.weights, self.bias", "It raises AttributeError"),
        ("LayerNorm", "(self, d_model)", "(self, d_model, eps)", "It cannot be built: TypeError"),
        ("LayerNorm", "(nn.Module)", "", "It makes a LayerNorm, not an nn.Module"),
        ("layer_norm", "+ beta", "+ beta[:1]", "by up to"),
        ("layer_norm", "keepdim=True) + eps", "keepdim=True).mean() + eps", "by up to"),
        ("layer_norm", "+ beta", "+ beta[:, None]", "It raises RuntimeError"),
    ],
)
def test_a_part_that_does_not_fit_is_refused_with_the_reason_and_nothing_is_written(name, right, wrong, says, tmp_path):
    assert right in RIGHT[name]
    cell = define(RIGHT["layer_norm"], RIGHT[name].replace(right, wrong))
    with pytest.raises(checks.CheckFailed) as failure:
        checks.keep(cell[name], path=tmp_path / "mine.py")
    assert says in told(failure.value)
    assert "Ask checks.check_layer_norm" in told(failure.value)
    assert list(tmp_path.iterdir()) == []


def test_an_attention_that_leaves_a_blind_query_nan_does_not_fit():
    def attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores if mask is None else scores.masked_fill(~mask, -math.inf), dim=-1)
        return weights @ value, weights

    with pytest.raises(checks.CheckFailed, match="differs from the package's, by up to nan"):
        checks.check_fit(attention)


def test_an_attention_without_its_weights_is_told_what_the_machine_needs_and_sent_to_no_check():
    def attention(query, key, value, mask=None):
        return te.scaled_dot_product_attention(query, key, value, mask)[0]

    checks.check_scaled_dot_product_attention(attention)
    with pytest.raises(checks.CheckFailed, match=r"return \(output, weights\)") as failure:
        checks.check_fit(attention)
    assert "Ask checks" not in told(failure.value)


SOFTMAX = """def softmax(scores):
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)
"""
OWN_SOFTMAX = """def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = softmax(scores)
    weights = weights if mask is None else weights.masked_fill(~mask, 0.0)
    return weights @ value, weights
"""


def test_a_helper_is_kept_with_the_part_that_uses_it(tmp_path, capsys):
    path = tmp_path / "mine.py"
    cell = define(SOFTMAX, OWN_SOFTMAX)
    with pytest.raises(ValueError, match=r"keep both, checks\.keep\(softmax, attention\)"):
        checks.keep(cell["attention"], path=path)
    with pytest.raises(ValueError, match="named like parts of the machine"):
        checks.keep(cell["softmax"], path=path)
    assert list(tmp_path.iterdir()) == []
    checks.keep(cell["softmax"], cell["attention"], path=path)
    assert f"(1 of {len(PARTS)} parts are there)" in capsys.readouterr().out
    x = torch.randn(1, 2, 3, 4)
    torch.testing.assert_close(loaded(path)["attention"](x, x, x), te.scaled_dot_product_attention(x, x, x))


def test_on_colab_a_reader_is_told_to_take_the_file_along(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", object())
    checks.keep(define(RIGHT["layer_norm"])["layer_norm"], path=tmp_path / "mine.py")
    assert "download this one" in capsys.readouterr().out


def test_a_name_that_the_file_does_not_have_is_told_before_anything_is_written(tmp_path):
    cell = define(RIGHT["layer_norm"], RIGHT["LayerNorm"])
    with pytest.raises(ValueError, match=r"LayerNorm uses 'layer_norm', which .*mine\.py does not have"):
        checks.keep(cell["LayerNorm"], path=tmp_path / "mine.py")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_python_any_more_stays_as_it_is(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def half(:\n")
    with pytest.raises(ValueError, match=r"mine\.py is not Python any more \(line 1\)"):
        checks.keep(define(RIGHT["layer_norm"])["layer_norm"], path=path)
    assert path.read_text() == "def half(:\n"


def test_what_the_machine_has_not_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"definitions must be named like parts of the machine .*, got 'softmax'"):
        checks.check_fit(define("def softmax(x): return x")["softmax"])
    with pytest.raises(TypeError, match="definitions must be functions and classes, got 3"):
        checks.keep(3, path=tmp_path / "mine.py")


def test_a_text_that_cannot_be_found_is_told(tmp_path):
    place = {"torch": torch}
    exec(RIGHT["layer_norm"], place)
    with pytest.raises(ValueError, match="the text of layer_norm cannot be found"):
        checks.keep(place["layer_norm"], path=tmp_path / "mine.py")
