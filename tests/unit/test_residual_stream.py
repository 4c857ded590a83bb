"""The residual stream as a Python object: what is read at each place, and how much each sub-layer writes."""

import base64

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, build_transformer
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import ResidualStream
from transformer_edu.book.figures.residual_stream import stream
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, Vocabulary
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.inspect.record import record_activations

WORDS = Vocabulary(["a", "b"]), Vocabulary(["x", "y", "z"])
EXAMPLE = {"sentence": "the cat sleeps", "silent": "decoder.1.cross", "place": 2, "token": 1}
BAD = [
    (ValueError, "sentence must consist of words that the model knows, got ['zebra']", {"sentence": "a zebra"}),
    (ValueError, "silent must be one of '', 'decoder.0.self', ", {"silent": "encoder.0.self"}),
    (ValueError, "place must be from 0 to 6, got 7", {"place": 7}),
    (ValueError, "token must be from 0 to 7, got 8", {"token": 8}),
]
SAYS = [
    ({}, RUNNING_SENTENCE, "from place to place: ", "After layer 2's cross-attention, for chat: chat 0.88"),
    ({"silent": "decoder.1.cross"}, "Without layer 2's cross-attention"),
    ({"place": 0, "token": 7}, "After word and position, for the end: "),
]


def numbers():
    """The grammar's model, one with its norms before the sub-layers, and what stands at all places of their streams."""
    torch.manual_seed(0)
    words = Vocabulary(["a", "b", "c"]), Vocabulary(["x", "y"])
    pre = build_transformer(7, 6, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=9, norm="pre")
    figures = [ResidualStream(), ResidualStream("b c a", model=pre, vocabularies=words)]
    found = []
    for figure, sentences in zip(figures, (("my cow sees the red house", "this hen sleeps"), ("b c a",)), strict=True):
        model = read_page_file(figure._content)
        places = figure.recorded["places"]
        silents = ["", *(place.replace("after_", "") for place in (places[1], places[-2]))]
        streams = [stream(*model, sentence.split(), silent) for sentence in sentences for silent in silents]
        found.append(
            {
                "file": base64.b64encode(figure._content).decode(),
                "opened": figure.recorded,
                "pre": figure.pre,
                "streams": streams,
            }
        )
    return found


def test_the_last_place_is_what_the_model_says():
    model, (english, french) = read_page_file(shipped_file("grammar"))
    source = torch.tensor([english.encode(RUNNING_SENTENCE)])
    ids = greedy_search(model, source, BOS_ID, EOS_ID)
    chances = model(source, ids[:, :-1])[0].softmax(dim=-1)
    recorded = ResidualStream().recorded
    for row, best in zip(chances, recorded["best"][-1], strict=True):
        expected = row.topk(5)
        assert [word for word, _ in best] == [french.word(index) for index in expected.indices.tolist()]
        torch.testing.assert_close(torch.tensor([p for _, p in best]), expected.values, atol=6e-5, rtol=0)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_each_place_is_what_its_norm_leaves_of_what_stood_there_and_of_what_was_written(norm):
    torch.manual_seed(0)
    model = build_transformer(6, 7, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=20, norm=norm).eval()
    for module in model.modules():
        if hasattr(module, "eps"):
            torch.nn.init.normal_(module.weight, 1.0, 0.3)  # so that γ counts
    found = stream(model, WORDS, ["a", "b"])
    with record_activations(model) as seen:
        source = torch.tensor([[4, 5]])
        model(source, greedy_search(model, source, BOS_ID, EOS_ID)[:, :13][:, :-1])
    x, written = seen["decoder.positional"][0], seen["decoder.0.self"][0]
    norm_of = model.decoder.layers[0].self_attention_residual.norm
    alone = norm_of(x + written) - norm_of.bias
    shift = (alone - _scaled(norm_of, written, x + written)) if norm == "post" else x
    torch.testing.assert_close(torch.tensor(found["wrote"][1]), written.norm(dim=1) / x.norm(dim=1), atol=6e-5, rtol=0)
    torch.testing.assert_close(torch.tensor(found["kept"][1]), shift.norm(dim=1) / x.norm(dim=1), atol=6e-5, rtol=0)
    assert (torch.tensor(found["left"]) == 1).all() == (norm == "pre")


def _scaled(norm, part, whole):
    deviation = (whole.var(dim=1, correction=0) + norm.eps).sqrt()
    return norm.weight * (part - part.mean(dim=1, keepdim=True)) / deviation[:, None]
