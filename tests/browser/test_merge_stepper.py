"""The merge stepper's page shows what it derives."""

from collections import Counter

from tests.browser.figure_page import act, number, numbers, play
from transformer_edu.book.figures.merge_stepper import TEXT
from transformer_edu.data.byte_pairs import apply_merges, count_pairs, learn_merges


def test_the_page_shows_what_is_derived_to_the_last_merge(page):
    merges, counts = learn_merges(Counter(TEXT.split()), 100), Counter(TEXT.split())
    for step in range(6, len(merges) + 1):
        words = {tuple(apply_merges(word, merges[:step])): count for word, count in counts.items()}
        shown = page.locator(".te-bpe-word").evaluate_all(
            "all => all.map(one => [...one.querySelectorAll('[data-symbol]')].map(piece => piece.dataset.symbol))"
        )
        assert list(map(tuple, shown)) == list(words)
        assert numbers(page.locator(".te-bpe-word"), "count").tolist() == list(words.values())
        assert page.locator(".te-bpe-made li").evaluate_all("all => all.map(one => one.dataset.pair)") == [
            " ".join(pair) for pair in merges[:step]
        ]
        pairs = count_pairs(words).most_common(6)
        assert numbers(page.locator(".te-bpe-pair [data-value]")).tolist() == [count for _, count in pairs]
        assert number(page, "[data-measure=total]") == sum(len(symbols) * count for symbols, count in words.items())
        assert number(page, "[data-measure=vocabulary]") == len({*TEXT} - {" "}) + 2 + step
        cut = page.locator(".te-bpe-cut [data-symbol]").evaluate_all("all => all.map(one => one.dataset.symbol)")
        assert cut == apply_merges("bolder", merges[:step])
        assert page.locator(".te-bpe-unknown").all_inner_texts() == ["b"]
        if step < len(merges):
            act(page, "button Next merge")
    play(page, "no pair is left")
    assert page.get_by_role("button", name="Next merge").get_attribute("aria-disabled") == "true"
