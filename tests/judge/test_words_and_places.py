"""An embedding and a positional encoding are checked as the judge judges them; how a table starts, and offsets, too."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import transformer_edu as te
from transformer_edu import checks

pytestmark = pytest.mark.usefixtures("at_readers_speed")


class SparseEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.words = nn.Embedding(vocab_size, d_model, sparse=True)
        self.words.weight.data.normal_(0, d_model**-0.5)

    def forward(self, ids):
        return self.words(ids) * self.words.embedding_dim**0.5


class LinearEmbedding(nn.Module):
    """The table stands transposed, in a linear layer without a bias; the factor multiplies the input."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.linear = nn.Linear(vocab_size, d_model, bias=False)
        nn.init.trunc_normal_(self.linear.weight, std=d_model**-0.5, a=-3, b=3)

    def forward(self, ids):
        one_hot = F.one_hot(ids, self.linear.in_features).to(self.linear.weight.dtype)
        return self.linear(self.linear.out_features**0.5 * one_hot)


class FrozenTable(nn.Module):
    """The table in a frozen nn.Embedding, as some implementations have it."""

    def __init__(self, d_model, max_len=100, dropout=0.1):
        super().__init__()
        self.rows = nn.Embedding.from_pretrained(te.sinusoidal_table(max_len, d_model), freeze=True)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, offset=0):
        return self.drop(x + self.rows(torch.arange(offset, offset + x.size(1))))


class WithoutOffset(FrozenTable):
    def forward(self, x):
        return super().forward(x)


def embedding(std=lambda vocab, d: d**-0.5, change=lambda module: None, **methods):
    """The right module with a table drawn otherwise, a change to it, or other methods."""

    class Variant(te.InputEmbedding):
        def __init__(self, vocab_size, d_model):
            super().__init__(vocab_size, d_model)
            nn.init.normal_(self.lookup.weight, std=std(vocab_size, d_model))
            change(self)

        def factor(self):
            return math.sqrt(self.d_model)

        def rows(self, ids):
            return self.lookup(ids)

        def forward(self, ids):
            return self.rows(ids) * self.factor()

    return type("Variant", (Variant,), methods)


def encoding(change=lambda module: None, **methods):
    """The right module with a change to it, or with other methods."""

    class Variant(te.PositionalEncoding):
        def __init__(self, d_model, max_len=5000, dropout=0.0):
            super().__init__(d_model, max_len, dropout)
            change(self)

        def rows(self, x, offset):
            return self.table[offset : offset + x.shape[1]]

        def forward(self, x, offset=0):
            return self.dropout(x + self.rows(x, offset))

    return type("Variant", (Variant,), methods)


def softmaxed_rows(module, ids):
    return F.one_hot(ids, module.vocab_size).to(module.lookup.weight.dtype).softmax(-1) @ module.lookup.weight


def scaling_the_table(module, ids):
    module.lookup.weight.data.mul_(math.sqrt(module.d_model))
    return module.lookup(ids)


def in_an_attribute(name):
    def change(module):
        table = getattr(module, name)
        delattr(module, name)
        setattr(module, name, table.weight.detach() if isinstance(table, nn.Embedding) else table)

    return change


def learned(module):
    table = module.table
    del module.table
    module.table = nn.Parameter(table)


WORDS, PLACES = checks.check_input_embedding, checks.check_positional_encoding
OWN_MODEL = {"num_heads": 1, "d_ff": 2, "num_layers": 1}
RIGHT = [
    (WORDS, embedding()),
    (WORDS, SparseEmbedding),
    (WORDS, LinearEmbedding),
    (WORDS, te.InputEmbedding),
    (WORDS, lambda vocab, d: te.build_transformer(vocab, 5, d_model=d, **OWN_MODEL).source_embedding),
    (PLACES, encoding()),
    (PLACES, FrozenTable),
    (PLACES, te.PositionalEncoding),
]


@pytest.mark.parametrize(("check", "part"), RIGHT)
def test_right_ones_pass_in_every_style(check, part, capsys):
    check(part)
    assert "experiments passed" in capsys.readouterr().out


WRONG = [
    (WORDS, "the factor √d_model is missing", embedding(factor=lambda self: 1)),
    (WORDS, "the factor √d_model is missing", nn.Embedding),
    (WORDS, "the rows are divided by √d_model", embedding(factor=lambda self: 1 / math.sqrt(self.d_model))),
    (WORDS, "the factor is d_model, not its root", embedding(factor=lambda self: self.d_model)),
    (WORDS, "the factor is √vocab_size", embedding(factor=lambda self: math.sqrt(self.vocab_size))),
    (
        WORDS,
        "ids are ignored",
        embedding(rows=lambda self, ids: self.lookup(torch.arange(ids.shape[1]))[None].expand(len(ids), -1, -1)),
    ),
    (WORDS, "a softmax stands between", embedding(rows=softmaxed_rows)),
    (
        WORDS,
        "what should be learned is a plain tensor",
        embedding(change=in_an_attribute("lookup"), rows=lambda self, ids: self.lookup[ids]),
    ),
    (
        WORDS,
        "what should be learned is frozen",
        embedding(change=lambda module: module.lookup.weight.requires_grad_(False)),
    ),
    (
        WORDS,
        "nothing of the gradient comes through",
        embedding(rows=lambda self, ids: self.lookup.weight.detach()[ids]),
    ),
    (WORDS, "a call changes what the component has learned", embedding(forward=scaling_the_table)),
    (WORDS, "the table is drawn from N(0, 1)", embedding(std=lambda vocab, d: 1)),
    (WORDS, "the table is drawn with standard deviation 1/d_model", embedding(std=lambda vocab, d: 1 / d)),
    (WORDS, "the table is drawn uniformly between", embedding(std=lambda vocab, d: (3 * d) ** -0.5)),
    (WORDS, "the table is drawn at another scale", embedding(std=lambda vocab, d: 0.4)),
    (PLACES, "the table is indexed by the batch", encoding(rows=lambda self, x, o: self.table[: len(x), None])),
    (PLACES, "a tensor stays on the CPU", encoding(in_an_attribute("table"))),
    (PLACES, "its table is a parameter", encoding(learned)),
    (PLACES, "the table is added twice", encoding(rows=lambda self, x, offset: 2 * self.table[: x.shape[1]])),
    (PLACES, "the embeddings are multiplied", encoding(forward=lambda self, x, offset=0: x * self.rows(x, offset))),
    (PLACES, "the table is returned alone", encoding(forward=lambda self, x, o=0: self.rows(x, 0).expand_as(x))),
    (
        PLACES,
        "x is scaled by √d_model",
        encoding(forward=lambda self, x, o=0: x * x.shape[-1] ** 0.5 + self.rows(x, o)),
    ),
    (PLACES, "`offset` is ignored", encoding(rows=lambda self, x, offset: self.table[: x.shape[1]])),
    (PLACES, "`offset` leads to other", encoding(rows=lambda self, x, o: self.table[o + (o > 0) :][: x.shape[1]])),
    (PLACES, "forward takes no `offset`", WithoutOffset),
    (PLACES, "dropout does nothing", encoding(forward=lambda self, x, offset=0: x + self.rows(x, offset))),
    (
        PLACES,
        "dropout is active in eval mode",
        encoding(forward=lambda self, x, offset=0: F.dropout(x + self.rows(x, offset), self.dropout.p)),
    ),
    (
        PLACES,
        "dropout stands at another place",
        encoding(forward=lambda self, x, offset=0: x + self.dropout(self.rows(x, offset).expand_as(x))),
    ),
    (
        PLACES,
        "dropout stands at another place",
        encoding(forward=lambda self, x, offset=0: self.dropout(x) + self.rows(x, offset)),
    ),
    (
        PLACES,
        "an input is changed in place",
        encoding(forward=lambda self, x, o=0: self.dropout(x.add_(self.rows(x, o)))),
    ),
]


@pytest.mark.parametrize(("check", "name", "part"), WRONG, ids=[name for _, name, _ in WRONG])
def test_every_wrong_one_is_named(check, name, part):
    with pytest.raises(checks.CheckFailed) as caught:
        check(part)
    assert caught.value.mistake.name.startswith(name)


ROOTS = {"d / 3": lambda d: d / 3, "log2 d": math.log2, "ln d": math.log, "√(d + 1)": lambda d: math.sqrt(d + 1)}


@pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)
def test_no_other_formula_gives_the_right_scale_by_the_sizes_of_the_trials(root):
    with pytest.raises(checks.CheckFailed, match="by none of the known"):
        WORDS(embedding(factor=lambda self: root(self.d_model)))


def test_how_the_table_starts_and_the_offset_are_asked_for_or_not(capsys):
    WORDS(embedding(std=lambda vocab, d: 1), drawn=False)
    PLACES(WithoutOffset, with_offset=False)
    assert capsys.readouterr().out.count("experiments passed") == 2


@pytest.mark.parametrize("check", [WORDS, PLACES])
def test_what_is_not_written_yet_is_told_as_that(check):
    def unwritten(*sizes, **more):
        raise NotImplementedError

    with pytest.raises(checks.CheckFailed, match="Not written yet"):
        check(unwritten)
    with pytest.raises(TypeError, match=r"must be a function or class \(without calling it\), got float"):
        check(0.5)
