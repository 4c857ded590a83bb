"""The architecture map's Python side: the model's numbers at every block, its counts, and its words."""

import base64

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, build_transformer, record_activations
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.figures import ArchitectureMap
from transformer_edu.book.figures.architecture_map import parameter_counts, path, run
from transformer_edu.book.figures.sentence_data import translate
from transformer_edu.data import Vocabulary

EXAMPLE = {"block": "encoder.0.after_feed_forward", "source_token": 0, "target_token": 7, "source_name": "a"}
SAYS = [
    ({}, "189,568 parameters", "the encoder's embedding with 5,888 parameters"),
    ({"block": "decoder.1.cross"}, "the decoder's cross-attention, layer 2 with 16,640 parameters"),
    ({}, "followed are “black” and the position at which “noir” is written"),
    ({"block": "softmax"}, "Open is the softmax with 0"),
    (EXAMPLE, "the encoder's add & norm after feed-forward, layer 1 with 128", "“the end” is written"),
]
BAD = [
    (ValueError, "block must be one of 'encoder.embedding', 'encoder.positional'", {"block": "decoder.7.cross"}),
    (ValueError, "sentence must consist of words that the model knows, got ['zebra']", {"sentence": "a zebra"}),
]
WORDS = Vocabulary(["a", "b", "c"])
SCENES = {
    "blocks, layers and words": [
        "> click [data-block='decoder.0.cross']; radio le → petit",
        "> click [data-block='decoder.0.cross']",  # once more: the next layer
        "Cross-attention decoder, layer 2 … To write petit, this layer looks at small",
        "> radio → noir",
        "To write noir, this layer looks at black 1.00",
        "> click [data-block='encoder.1.feed_forward']; radio sleep",
        "For sleep numbers with an RMS of",
        "> click [data-block='decoder.embedding']; click [data-block='decoder.1.self']; radio → end",
        "> click [data-block='softmax']",
        "After pas the likeliest word is end, 0.94",
        "The other 122 words together: 0.0",
        "> button Previous block",
        "step 25 of 26 … After pas the highest score is end",
    ],
    "arrow keys walk the way of computation": [
        "> click [data-block='encoder.embedding']; key End",
        "step 26 of 26",
        "~ Softmax. After chat the likeliest word is noir",
        "> key ArrowRight; key ArrowLeft; key ArrowDown",
        "step 24 of 26",
        "> key ArrowUp; key Home; key ArrowRight",
        "step 2 of 26",
    ],
    "another sentence goes through the model in the page": [
        "> textbox English sentence = these foxes want a hat",
        "to the next French word: un … these foxes want a hat … start ces renards veulent",
        "> click [data-block='softmax']",
        "After veulent the likeliest word is un",
        "> textbox English sentence = a zebra",
        "zebra is not among the 88 words that it was taught. The picture stays.",
        "> button Start again",
        "After chat the likeliest word is noir, 0.95",
    ],
}


def numbers():
    """The grammar's model, what the figure opens with, and what torch computes at every block of two sentences."""
    figure = ArchitectureMap(block="encoder.0.after_self")
    model, (english, french) = read_page_file(figure._content)
    found = []
    for sentence in (RUNNING_SENTENCE, "these foxes want a hat"):
        source, ids = translate(model, (english, french), sentence.split(), figure.line["most"])
        logits, activations, maps = run(model, source, ids[:, :-1])
        found.append(
            {
                "words": sentence.split(),
                "written": [french.word(i) for i in ids[0, 1:].tolist()],
                "activations": {name: x[0].tolist() for name, x in activations.items()},
                "weights": {name: x[0].tolist() for name, x in maps.items()},
                "logits": logits[0].topk(5).values.tolist(),
                "chances": logits[0].softmax(dim=-1).topk(5).values.tolist(),
            }
        )
    file = base64.b64encode(figure._content).decode()
    return {"file": file, "opened": figure.trace, "path": path(2), "line": figure.line, "sentences": found}


def small_model(**fields):
    torch.manual_seed(0)
    settings = {"d_model": 8, "num_heads": 2, "d_ff": 12, "num_layers": 1, "dropout": 0.0, "max_len": 12} | fields
    return build_transformer(len(WORDS), len(WORDS), **settings)


def test_every_block_of_the_path_is_recorded_in_the_order_of_computation():
    model = small_model(num_layers=3)
    with record_activations(model) as activations:
        model(torch.tensor([[4, 5]]), torch.tensor([[1, 4]]))
    own = [name for name in activations if not name.endswith("output")]
    assert path(3) == [*own, "softmax"]


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_counts_sum_to_the_model_and_shared_tables_count_once(tie):
    model = small_model(tie_embeddings=tie)
    counts = parameter_counts(model)
    assert sum(counts.values()) == sum(parameter.numel() for parameter in model.parameters())
    assert (counts["logits"] == 0) == (tie != "none")
    assert counts["decoder.0.cross"] == 4 * (8 * 8 + 8)
    assert counts["encoder.positional"] == counts["softmax"] == 0


def test_it_opens_with_the_numbers_of_one_block():
    figure = ArchitectureMap("the black cats sleep", block="encoder.0.after_self", source_token=2)
    assert figure.trace["target_tokens"] == ["les", "chats", "noirs", "dorment", "<eos>"]
    assert list(figure.trace["activations"]) == ["encoder.positional", "encoder.0.self", "encoder.0.after_self"]
    assert list(figure.trace["weights"]) == ["encoder.0.self"]
    own = ArchitectureMap("a b", model=small_model(), vocabularies=(WORDS, WORDS))
    assert (own.source_name, own.trace["sizes"]["d_model"], own.model_file["name"]) == ("source", 8, "")


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"norm": "pre"}, "norms as in the paper's figure 1"),
        ({"final_norm": True}, "final_norm=True"),
        ({"d_model": 256}, "model must have d_model of at most 128"),
    ],
)
def test_models_that_the_map_does_not_draw_are_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        ArchitectureMap("a", model=small_model(**fields), vocabularies=(WORDS, WORDS))
