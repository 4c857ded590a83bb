"""Every wrong argument is answered with an error that names it, shows its value, and says what was expected."""
# ruff: noqa: E501  (a table, one wrong call a line)

import warnings
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import transformer_edu as te
from transformer_edu import training

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


def config(**fields):
    return te.TransformerConfig(
        **{"source_vocab_size": 10, "target_vocab_size": 12, "d_model": 8, "num_heads": 2} | fields
    )


def model(**fields):
    return te.build_transformer(
        10, 12, **{"d_model": 8, "num_heads": 2, "d_ff": 16, "num_layers": 1, "max_len": 6} | fields
    )


def attend(q=(2, 3, 4), k=(2, 5, 4), v=(2, 5, 4), **arguments):
    return te.scaled_dot_product_attention(torch.ones(q), torch.ones(k), torch.ones(v), **arguments)


def heads(q=(2, 3, 8), k=(2, 5, 8), v=(2, 5, 8), **arguments):
    return te.MultiHeadAttention(8, 2)(torch.ones(q), torch.ones(k), torch.ones(v), **arguments)


def search(source=((3, 4),), bos_id=1, eos_id=2, max_len=5):
    return te.greedy_search(model(), torch.tensor(source), bos_id, eos_id, max_len)


def decode(target=(1, 3), memory=(1, 2, 8), source=(1, 2), **arguments):
    ones = {"dtype": torch.long}
    return model().decode(torch.ones(target, **ones), torch.ones(memory), torch.ones(source, **ones), **arguments)


def record(what):
    with te.record_attention(what):
        pass


def ids(*rows, dtype=torch.long):
    return torch.tensor(rows, dtype=dtype)


def nested():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch calls them a prototype
        return torch.nested.nested_tensor([torch.ones(3, 8), torch.ones(2, 8)], layout=torch.jagged)


def stack():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, enable_nested_tensor=False)


X = torch.ones(2, 3, 8)
RESIDUAL = te.ResidualConnection(te.LayerNorm(8))
ONE_LAYER = {"d_model": 8, "num_heads": 2, "d_ff": 16}

# (what is wrong, the call, the kind of error, the argument's name, its value, what was expected)
WRONG = [
    ("heads do not divide d_model", lambda: te.MultiHeadAttention(10, 4), ValueError, "d_model", "10", "divisible by num_heads"),
    ("config's heads", lambda: config(num_heads=3), ValueError, "d_model", "8", "divisible by num_heads"),
    ("PyTorch's name for the heads", lambda: te.build_transformer(9, 9, nhead=8), TypeError, "nhead", "8", "it is num_heads here"),
    ("a field that nobody has", lambda: te.build_transformer(9, 9, colour=3), TypeError, "colour", "3", "its fields are source_vocab_size"),
    ("several sentences for one", lambda: te.pretrained.load_grammar().translate(["a cat"]), TypeError, "sentence", "'a cat'", "one sentence, a str"),
    ("pairs for batches", lambda: training.train(model(), [("a", "b")], learning_rate=1.0), TypeError, "batches", "('a', 'b')", "must be a Batch"),
    ("no heads", lambda: te.MultiHeadAttention(8, 0), ValueError, "num_heads", "0", "at least 1"),
    ("bias is a number", lambda: te.MultiHeadAttention(8, 2, bias=1), TypeError, "bias", "1", "True or False"),
    ("odd d_model in the table", lambda: te.sinusoidal_table(10, 7), ValueError, "d_model", "7", "even"),
    ("odd d_model in the config", lambda: config(d_model=5, num_heads=5), ValueError, "d_model", "5", "even"),
    ("no positions", lambda: te.sinusoidal_table(0, 8), ValueError, "max_len", "0", "at least 1"),
    ("float vocabulary", lambda: te.InputEmbedding(1e4, 8), TypeError, "vocab_size", "10000.0", "whole number"),
    ("bool as a size", lambda: te.InputEmbedding(True, 8), TypeError, "vocab_size", "True", "whole number"),
    ("text as a size", lambda: te.ProjectionLayer("8", 10), TypeError, "d_model", "'8'", "whole number"),
    ("no layers in the decoder", lambda: te.Decoder([]), ValueError, "layers", "[]", "at least one layer"),
    ("longer than the learned table", lambda: te.LearnedPositionalEncoding(8, 2)(X), ValueError, "x", "position 2", "max_len=2"),
    ("no layers in the encoder", lambda: te.Encoder([]), ValueError, "layers", "[]", "at least one layer"),
    ("padding_idx outside", lambda: te.InputEmbedding(10, 8, padding_idx=10), ValueError, "padding_idx", "10", "below vocab_size=10"),
    ("id too large", lambda: te.InputEmbedding(10, 8)(ids([3, 10])), ValueError, "ids", "10", "0..9"),
    ("id negative", lambda: te.InputEmbedding(10, 8)(ids([3, -1])), ValueError, "ids", "-1", "0..9"),
    ("target id too large", lambda: model()(ids([3]), ids([12])), ValueError, "target", "12", "0..11"),
    ("float ids", lambda: model()(ids([3], dtype=torch.float32), ids([1])), TypeError, "source", "float32", "int64"),
    ("ids without a batch", lambda: model()(torch.tensor([3, 4]), ids([1])), ValueError, "source", "(2,)", "(batch, seq)"),
    ("empty sequence", lambda: model()(ids([3]), torch.ones(1, 0).long()), ValueError, "target", "(1, 0)", "not be empty"),
    ("mask of floats", lambda: attend(mask=torch.zeros(3, 5)), TypeError, "mask", "torch.float32", "boolean"),
    ("mask of another length", lambda: attend(mask=torch.ones(3, 4).bool()), ValueError, "mask", "(3, 4)", "(2, 3, 5)"),
    ("mask larger than the scores", lambda: attend(mask=torch.ones(7, 2, 3, 5).bool()), ValueError, "mask", "(7, 2, 3, 5)", "(2, 3, 5)"),
    ("query and key differ in d_head", lambda: attend(q=(2, 3, 6)), ValueError, "query and key", "6 and 4", "share d_head"),
    ("key and value differ in length", lambda: attend(v=(2, 6, 4)), ValueError, "key and value", "5 and 6", "same length"),
    ("key of another batch", lambda: attend(k=(3, 5, 4)), ValueError, "query, key and value", "(3, 5, 4)", "same leading dimensions"),
    ("key that would broadcast", lambda: heads(k=(1, 5, 8), v=(1, 5, 8)), ValueError, "query, key and value", "(1, 2, 5, 4)", "same leading"),
    ("no keys", lambda: attend(k=(2, 0, 4), v=(2, 0, 4)), ValueError, "key", "(2, 0, 4)", "not empty"),
    ("query of integers", lambda: te.scaled_dot_product_attention(ids([1]), X, X), TypeError, "query", "int64", "floating-point"),
    ("a query without a length", lambda: attend(q=(4,)), ValueError, "query", "(4,)", "(..., len, d_head)"),
    ("vectors of another length", lambda: heads(q=(2, 3, 6)), ValueError, "query", "(2, 3, 6)", "d_model=8"),
    ("empty vectors", lambda: te.PositionwiseFeedForward(8, 16)(X[:0]), ValueError, "x", "(0, 3, 8)", "not be empty"),
    ("memory of another batch", lambda: te.build_decoder_layer(**ONE_LAYER)(X, X[:1]), ValueError, "query, key and value", "(1, 2, 3, 4)", "same leading"),
    ("memory of another model", lambda: te.build_decoder_layer(**ONE_LAYER)(X, X[..., :6]), ValueError, "memory", "(2, 3, 6)", "d_model=8"),
    ("decode with another batch's memory", lambda: decode(memory=(2, 2, 8)), ValueError, "memory", "(2, 2, 8)", "same batch"),
    ("decode with another source", lambda: decode(source=(1, 4)), ValueError, "source", "(1, 4)", "same batch"),
    ("dropout 1", lambda: te.ResidualConnection(te.LayerNorm(8), dropout=1.0), ValueError, "dropout", "1.0", "in [0, 1)"),
    ("a residual connection without a norm", lambda: te.ResidualConnection(8), TypeError, "norm", "8", "Module"),
    ("parts of two sizes", lambda: te.EncoderLayer(te.MultiHeadAttention(8, 2), te.PositionwiseFeedForward(6, 16), RESIDUAL), ValueError, "self_attention and feed_forward", "8 and 6", "same d_model"),
    ("a norm of another size", lambda: te.EncoderLayer(te.MultiHeadAttention(6, 2), nn.Identity(), RESIDUAL), ValueError, "self_attention and residual", "6 and 8", "same d_model"),
    ("keys that queries cannot share", lambda: te.MultiHeadAttention(8, 4, num_kv_heads=3), ValueError, "num_heads", "num_kv_heads=3", "divisible"),
    ("a bias of another length", lambda: te.scaled_dot_product_attention(X, X, X, score_bias=torch.ones(3, 4)), ValueError, "score_bias", "(3, 4)", "broadcast"),
    ("norm in the middle", lambda: config(norm="middle"), ValueError, "norm", "'middle'", "'post', 'pre'"),
    ("final_norm a word", lambda: config(final_norm="yes"), TypeError, "final_norm", "'yes'", "True or False"),
    ("tie 'both'", lambda: config(tie_embeddings="both"), ValueError, "tie_embeddings", "'both'", "'none', 'target', 'all'"),
    ("tie two vocabularies", lambda: config(tie_embeddings="all"), ValueError, "tie_embeddings", "target_vocab_size=12", "one vocabulary"),
    ("pad_id outside", lambda: config(pad_id=10), ValueError, "pad_id", "got 10", "both vocabularies"),
    ("model from a dictionary", lambda: te.Transformer({"d_model": 8}), TypeError, "config", "{'d_model': 8}", "TransformerConfig"),
    ("activation tanh", lambda: te.PositionwiseFeedForward(8, 16, activation="tanh"), ValueError, "activation", "'tanh'", "'relu', 'gelu'"),
    ("eps 0", lambda: te.LayerNorm(8, eps=0.0), ValueError, "eps", "0.0", "greater than 0"),
    ("norm of another length", lambda: te.LayerNorm(8)(torch.ones(2, 6)), ValueError, "x", "(2, 6)", "d_model=8"),
    ("norm of a number", lambda: te.RMSNorm(8)(torch.tensor(1.0)), ValueError, "x", "()", "d_model=8"),
    ("longer than the table", lambda: te.PositionalEncoding(8, 2)(X), ValueError, "x", "position 2", "max_len=2"),
    ("sentence longer than the model's table", lambda: model()(torch.ones(1, 7).long(), ids([1])), ValueError, "x", "seq=7", "max_len=6"),
    ("offset past the table", lambda: te.PositionalEncoding(8, 10)(X, offset=8), ValueError, "offset", "8", "max_len=10"),
    ("negative offset", lambda: te.PositionalEncoding(8)(X, offset=-1), ValueError, "offset", "-1", "at least 0"),
    ("causal mask of size 0", lambda: te.causal_mask(0), ValueError, "size", "0", "at least 1"),
    ("padding mask of floats", lambda: te.padding_mask(X[0], 0), TypeError, "ids", "float32", "int64"),
    ("padding mask without an id", lambda: te.padding_mask(ids([1]), None), TypeError, "pad_id", "None", "whole number"),
    ("search past the table", lambda: search(max_len=7), ValueError, "max_len", "7", "positional table (6)"),
    ("search for one token", lambda: search(max_len=1), ValueError, "max_len", "1", "at least 2"),
    ("begin is end", lambda: search(bos_id=2), ValueError, "bos_id, eos_id", "2, 2 and 0", "differ"),
    ("end outside", lambda: search(eos_id=12), ValueError, "eos_id", "12", "vocab_size=12"),
    ("search an empty batch", lambda: search(source=((),)), TypeError, "source", "float32", "int64"),
    ("search without a model", lambda: te.greedy_search(nn.Linear(1, 1), ids([1]), 1, 2, 3), TypeError, "model", "Linear", "Transformer"),
    ("sparse vectors", lambda: te.LayerNorm(8)(X.to_sparse()), TypeError, "x", "torch.sparse_coo", "dense tensor"),
    ("nested queries", lambda: te.MultiHeadAttention(8, 2)(nested(), X, X), TypeError, "query", "nested", "dense tensor"),
    ("a huge whole number as a probability", lambda: config(dropout=10**310), ValueError, "dropout", "100", "[0, 1)"),
    ("not a number as a probability", lambda: config(dropout=float("nan")), ValueError, "dropout", "nan", "[0, 1)"),
    ("record nothing", lambda: record(nn.Linear(2, 2)), ValueError, "model", "Linear", "recorder"),
    ("record no module", lambda: record("model"), TypeError, "model", "str", "torch.nn.Module"),
    ("an empty cache", lambda: te.MultiHeadAttention(8, 2).attend(X, te.KeyValueCache().kept()), ValueError, "cache", "key=None", "already hold"),
    ("copy from no counterpart", lambda: te.copy_weights(nn.Conv1d(1, 1, 1), te.LayerNorm(8)), TypeError, "theirs", "Conv1d", "torch.nn module"),
    ("copy to no counterpart", lambda: te.copy_weights(nn.LayerNorm(8), te.RMSNorm(8)), TypeError, "ours", "RMSNorm", "LayerNorm"),
    ("copy another shape", lambda: te.copy_weights(nn.LayerNorm(8), te.LayerNorm(6)), ValueError, "weight", "(8,)", "same on both sides"),
    ("copy other heads", lambda: te.copy_weights(nn.MultiheadAttention(8, 4), te.MultiHeadAttention(8, 2)), ValueError, "num_heads", "4", "same on both sides"),
    ("copy no bias", lambda: te.copy_weights(nn.Linear(4, 4, bias=False), nn.Linear(4, 4)), ValueError, "bias", "only for ours", "both sides"),
    ("copy other key lengths", lambda: te.copy_weights(nn.MultiheadAttention(8, 2, kdim=4), te.MultiHeadAttention(8, 2)), ValueError, "theirs", "kdim", "embed_dim"),
    ("something like a tensor", lambda: te.LayerNorm(8)(SimpleNamespace(shape=(2, 3, 8), dtype=torch.float32)), TypeError, "x", "SimpleNamespace", "torch.Tensor"),
    ("copy a stack of another depth", lambda: te.copy_weights(stack(), te.Encoder([te.build_encoder_layer(**ONE_LAYER)])), ValueError, "layers", "2", "same on both sides"),
    ("copy a stack of another norm", lambda: te.copy_weights(stack(), te.Encoder([te.build_encoder_layer(**ONE_LAYER, norm="pre") for _ in "ab"])), ValueError, "norm_first", "False", "same on both sides"),
    ("copy to a stack with a final norm", lambda: te.copy_weights(stack(), te.Encoder([te.build_encoder_layer(**ONE_LAYER) for _ in "ab"], te.LayerNorm(8))), ValueError, "final_norm", "", ""),
    ("copy a stack to a layer", lambda: te.copy_weights(stack(), te.build_encoder_layer(**ONE_LAYER)), TypeError, "ours", "EncoderLayer", "Encoder"),
]  # fmt: skip


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case[0])
def test_wrong_argument_is_named_shown_and_explained(case):
    _, call, kind, argument, value, expectation = case
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert type(caught.value) is kind, f"{type(caught.value)} instead of {kind}: {message}"
    for part in (argument, value, expectation):
        assert part in message, f"the message lacks {part!r}: {message}"
    assert len(message) <= 400, "a message is read by people"


def test_cache_of_another_batch_is_refused_and_left_as_it_was():
    transformer, source = model(), ids([3, 4], [5, 6])
    memory, cache = transformer.encode(source), transformer.start_cache()
    transformer.decode(ids([1], [1]), memory, source, cache)
    with pytest.raises(ValueError, match="target must have a batch of 2 like the cache, got 1"):
        transformer.decode(ids([1]), memory[:1], source[:1], cache)
    assert cache.length == 1
