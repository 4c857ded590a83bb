"""The exact number of parameters of the paper's configurations, from the paper's dimensions."""

import pytest
import torch

from transformer_edu import Transformer, TransformerConfig

SUBWORDS = 37_000  # shared by both languages (paper, section 5.1)
BASE = {"d_model": 512, "num_heads": 8, "d_ff": 2048, "num_layers": 6}
BIG = {"d_model": 1024, "num_heads": 16, "d_ff": 4096, "num_layers": 6}


def expected_count(d, d_ff, layers, tables):
    """d_model and d_ff as in table 3 of the paper; `tables` counts the different vocabulary matrices."""
    attention = 4 * (d * d + d)  # W_Q, W_K, W_V, W_O and their biases
    feed_forward = d * d_ff + d_ff + d_ff * d + d
    norm = 2 * d  # γ and β
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    return tables * SUBWORDS * d + layers * (encoder_layer + decoder_layer)


def count(**fields):
    with torch.device("meta"):  # shapes only: nothing is allocated
        model = Transformer(TransformerConfig(SUBWORDS, SUBWORDS, max_len=8, **fields))
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(("config", "published"), [(BASE, 63_082_496), (BIG, 214_245_376)], ids=["base", "big"])
def test_one_shared_table_gives_the_papers_size(config, published):
    assert count(**config, tie_embeddings="all") == published
    assert published == expected_count(config["d_model"], config["d_ff"], config["num_layers"], tables=1)


@pytest.mark.parametrize("config", [BASE, BIG], ids=["base", "big"])
@pytest.mark.parametrize(("tie", "tables"), [("none", 3), ("target", 2), ("all", 1)])
def test_tying_saves_whole_tables(config, tie, tables):
    expected = expected_count(config["d_model"], config["d_ff"], config["num_layers"], tables)
    assert count(**config, tie_embeddings=tie) == expected


@pytest.mark.long
def test_final_norms_add_two_norms():
    assert count(**BASE, final_norm=True) == count(**BASE) + 2 * 2 * 512
    assert count(**BASE, norm="pre") == count(**BASE, final_norm=True)
    assert count(**BASE, norm="pre", final_norm=False) == count(**BASE)
