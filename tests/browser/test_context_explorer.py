"""The context explorer, with the vectors of the model itself."""

import torch
from torch.nn.functional import cosine_similarity

from tests.browser.figure_page import act, close, numbers, play, values
from transformer_edu import RUNNING_SENTENCE
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import ContextExplorer
from transformer_edu.book.figures.context_explorer import SENTENCES

MODEL, (ENGLISH, _) = read_page_file(shipped_file("grammar"))
COW = "the small black cow does not sleep"
OBJECT = "the cow watches the small black cat"
POINTS = "all => all.map(({ dataset: { x, y } }) => [Number(x), Number(y)])"


@torch.no_grad()
def levels(sentence):
    """The sentence before the layers and after each, run through the model's parts by hand: (seq, d_model) each."""
    x = MODEL.source_embedding(torch.tensor([ENGLISH.encode(sentence)]))
    found = [x, MODEL.positional_encoding(x)]
    for layer in MODEL.encoder.layers:
        found.append(layer(found[-1]))
    return [state[0] for state in found]


def assert_shows(page, first, second, pair):
    """Cosines at every level, and distance and share of length at the last, are those of the model's own vectors."""
    one = torch.stack([level[pair[0]] for level in levels(first)])
    other = torch.stack([level[pair[1]] for level in levels(second)])
    distance, length = (one - other).norm(dim=1), (one.norm(dim=1) + other.norm(dim=1)) / 2
    close(numbers(page.locator("[data-measure=cosine]")), cosine_similarity(one, other))
    for level, name in enumerate(("embedding", "+ position", "layer 1", "layer 2")):
        act(page, f"radio {name}")
        close(numbers(page.locator("[data-measure=distance]")), distance[level : level + 1], atol=4e-4)
        told = page.locator(".te-details").text_content()
        assert f"apart, {100 * distance[level] / length[level]:.0f} % of their length" in told


def test_every_shared_word_agrees_with_the_model(page):
    for word in ("small", "black", "does", "not", "sleep", "the"):
        act(page, f"click .te-ctx-words [data-value='{word}']")
        place = RUNNING_SENTENCE.split().index(word)
        assert_shows(page, RUNNING_SENTENCE, COW, (place, place))


def states(word, sentences):
    """Every vector of a word in some sentences: (levels, occurrences, d_model)."""
    found = [
        torch.stack(levels(sentence))[:, place]
        for sentence in sentences
        for place, other in enumerate(sentence.split())
        if other == word
    ]
    return torch.stack(found, dim=1).double()


def test_points_are_the_principal_components_of_all_states_of_the_word(page):
    for word, own in (("small", None), ("the", None), ("the", "the hen does not sleep")):
        act(page, f"click .te-ctx-words [data-value='{word}']")
        if own:
            act(page, f"textbox English sentence = {own}")
        given = states(word, SENTENCES)
        mean = given.mean(dim=1, keepdim=True)
        u, sizes, v = torch.linalg.svd((given - mean).flatten(0, 1), full_matrices=False)
        sign = u.gather(0, u.abs().argmax(dim=0)[None]).sign().T  # the largest part of an axis counts as positive
        shown = states(word, [*SENTENCES, own] if own else SENTENCES)
        expected = (shown - mean) @ (sign * v)[:2].T  # the reader's own sentence is seen in the same plane
        for level, name in enumerate(("embedding", "+ position", "layer 1", "layer 2")):
            act(page, f"radio {name}")
            points = page.locator(".te-ctx-point").evaluate_all(POINTS)
            close(torch.tensor(sorted(points)), sorted(expected[level].tolist()), atol=4e-4)
        share = 100 * sizes[0] ** 2 / (sizes**2).sum()
        assert f"→ the first, {share:.0f} % of the variance" in page.locator(".te-details").text_content()


def test_a_sentence_that_is_typed_is_read_by_the_model(page):
    for sentence, pair in (("my small mice sing", (1, 1)), ("does the big hen want the cake", (4, 0))):
        act(page, f"textbox English sentence = {sentence}")
        word = RUNNING_SENTENCE.split()[pair[0]]
        act(page, f"click .te-ctx-words [data-value='{word}']")
        assert_shows(page, RUNNING_SENTENCE, sentence, pair)
    before = page.locator(".te-says").inner_text()
    play(page, "> textbox English sentence = my mice sing", "It shares no word with the small black cat does not sleep")
    assert page.locator(".te-says").inner_text() == before


def test_table_holds_the_cosine_of_every_word(page):
    act(page, "click .te-details summary")
    page.wait_for_selector("[data-matrix=cosines]")
    pairs = zip(levels(RUNNING_SENTENCE), levels(COW), strict=True)
    expected = torch.stack([cosine_similarity(level, other)[[0, 1, 2, 4, 5, 6]] for level, other in pairs], dim=1)
    close(values(page, "[data-matrix=cosines]").view_as(expected), expected)


def test_a_point_or_a_row_chooses_the_sentence_and_play_goes_through_all_levels(page):
    act(page, "click .te-ctx-point:has(text:text-is('4')) circle")
    assert page.locator(".te-ctx-rows [aria-checked=true]").text_content().startswith("4the small black cats")
    act(page, "button Play")
    page.wait_for_selector(".te-ctx-levels [data-value='1'][aria-checked=true]")
    page.wait_for_selector(".te-ctx-levels [data-value='3'][aria-checked=true]")
    play(page, "These two stand at one place", "> radio the cow watches the small black cat, word 4", "word 4 there")


def test_another_place_moves_a_word_before_any_layer(page):
    act(page, "click .te-ctx-words [data-value='small']", "radio the cow watches the small black cat")
    assert_shows(page, RUNNING_SENTENCE, OBJECT, (1, 4))
    cosine = numbers(page.locator("[data-measure=cosine]"))[1]
    assert cosine < 0.9
    play(page, f"Word 2 here, word 5 there: the position alone takes the likeness to {cosine:.3f}")


def test_a_word_that_stands_twice_is_compared_with_itself(show):
    assert_shows(show(ContextExplorer(OBJECT, OBJECT)), OBJECT, OBJECT, (0, 3))


def test_sentences_of_your_own(show):
    sentences = ["my mouse sings", "my mice sing"]
    assert_shows(show(ContextExplorer(*sentences, also=())), *sentences, (0, 0))
