"""The sentence translator: what it shows without a model, what the model in its thread computes, what cannot be."""

import json
import re

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.conftest import overflow
from tests.browser.figure_page import DAMAGE, act, number, numbers, play
from transformer_edu import build_transformer
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import SentenceTranslator
from transformer_edu.book.figures.sentence_translator import PARTS, answered, languages_of
from transformer_edu.data.tokenizer import Tokenizer

LINE = ".te-sentence-input"
DOG = "Ein Hund wartet im Regen auf sein Herrchen."
LONG = "Zwei junge Männer spielen mit einem großen Hund am Strand im Sommer."
HOSTILE = ["😀", "مرحبا بالعالم", "<script>alert(1)</script>", "</b><img src=x onerror=alert(1)>", "x" * 30]
REFUSED = {"Hund " * 45: "At most 40 tokens, please: it is cut into 45.", " ": "Type a sentence."}
PASTED = "Home\tAbout\nDie Katze (siehe <b>unten</b>) schläft.\n" * 5
RESTS = "document.querySelector('.te-root').ariaBusy !== 'true'"
MISSING = "for (const part in transformerModels) delete transformerModels[part]"
# As in JupyterLab: a model with a kernel behind it that sends the file as part of a larger message.
KERNEL = """async ([name, state]) => {
    const module = await import(URL.createObjectURL(new Blob([transformerFigures[name]], { type: "text/javascript" })));
    const [mark, listeners] = [state.model_file.sha256.slice(0, 12), new Map()];
    const message = new Uint8Array(4 + state.model_file.bytes);
    for (let i = 0, filled = 4; i < state.model_file.parts; i += 1) {
        const packed = Uint8Array.from(atob(transformerModels[`${mark}-${i}`]), (one) => one.charCodeAt(0));
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
        const own = new Uint8Array(await new Response(stream).arrayBuffer());
        message.set(own, filled);
        filled += own.length;
    }
    const widget = {
        get: (key) => state[key], set: (key, value) => (state[key] = value), save_changes() {},
        on: (event, listener) => listeners.set(event, listener), off: (event) => listeners.delete(event),
        send: () => listeners.get("msg:custom")({ weights: "x" }, [new DataView(message.buffer, 4)]),
    };
    document.querySelector("main").replaceChildren();
    module.default.render({ model: widget, el: document.querySelector("main") });
}"""


def loaded(page):
    """Press the button that brings the model, and wait for it."""
    page.get_by_role("button", name="Load the model (5.8 MB)").click()
    page.wait_for_function("!document.querySelector('[data-engine=asked], [data-engine=loading]')")
    return page


def typed(page, text):
    page.locator(LINE).fill(text)
    page.wait_for_function(RESTS)


def tokens(page, of="written"):
    page.locator(f".te-trans-{of} .te-word").first.wait_for()
    return page.locator(f".te-trans-{of} .te-word").all_inner_texts()


def assert_shows(page, expected):
    """The picture is this answer: its tokens, its endings, and at each step the five likeliest and the weights."""
    readable = {"<eos>": "end"}
    assert tokens(page, "read") == expected["source"]
    assert tokens(page) == [readable.get(step["token"], step["token"]) for step in expected["steps"]]
    ends = page.locator(".te-trans-ends li:not([hidden])")
    assert ends.locator("> span:first-child").all_inner_texts() == [
        end["text"] + ("" if end["whole"] else " …") for end in expected["ends"]
    ]
    scores = [float(text.replace("\u2212", "-")) for text in ends.locator(".te-trans-score").all_inner_texts()]
    assert scores == [pytest.approx(end["score"], abs=0.0101) for end in expected["ends"]]
    for place, step in enumerate(expected["steps"]):
        page.locator(".te-trans-chips button").nth(place).click()
        best = numbers(page.locator(".te-trans-rival")).float()
        torch.testing.assert_close(best, torch.tensor([rival[2] for rival in step["best"]]), atol=1e-3, rtol=0)
        weights = numbers(page.locator(".te-trans-chip")).float()
        torch.testing.assert_close(weights, torch.tensor(step["weights"]), atol=2e-4, rtol=0)


def test_it_teaches_before_any_weight_is_loaded(open_html):
    page = open_html(SentenceTranslator().html()).page
    play(
        page,
        "Here it wavers: . 32 %, in 23 %",
        "A cyclist is riding through the city.−1.62",
        "> click .te-trans-rival >> nth=1",
        "After in it goes on: the rain.",
        "~ A cyclist is riding through the city in the rain.",
        "> button Let it choose",
        "! in the rain.",
        "> radio Beam of 5",
        "The beam’s best ending is one that greedy search missed",
        "A cyclist is riding through the city. greedy search’s−1.62",
        "> radio Greedy; checkbox word order = on",
        "Without word order: A bicyclist rides through the rain by the city.",
        "With all its parts: A cyclist is riding through the city.",
        "> checkbox feed-forward = on",
        "This needs the model: load it first.",
        "> button Start again",
        "for all that is greyed, and sentences of your own",
    )
    assert page.locator(".te-root").get_attribute("data-engine") == "asked"


def test_before_the_model_is_there_no_other_sentences_numbers_are_told(open_html):
    page = open_html(SentenceTranslator().html()).page
    act(page, "click .te-trans-chips button >> nth=3")
    page.locator(LINE).fill("ein Hund läuft")
    told = page.locator(".te-root > [aria-live]")
    expect(told).to_have_text("ein Hund läuft, greedy search. This needs the model: load it first.")
    expect(page.locator(".te-root")).to_contain_text("Step 4: likeliest next tokens")


def test_what_needs_the_model_looks_so_until_it_is_there(open_html):
    page = open_html(SentenceTranslator().html()).page
    waiting = page.locator(".te-trans-waits")
    rivals = page.locator(".te-trans-rival")
    assert [rivals.nth(i).evaluate("one => one.matches('.te-trans-waits')") for i in range(5)] == [False, False] + [
        True
    ] * 3
    assert page.get_by_role("radiogroup", name="Search").locator(".te-trans-waits").count() == 0
    for element in waiting.all():
        assert element.get_attribute("title") == "needs the model"
    rivals.nth(2).click()
    assert "This needs the model: load it first." in page.locator(".te-trans-status").inner_text()
    page.get_by_role("button", name="Start again").click()
    loaded(page)
    assert waiting.count() == 0


def test_the_translator_computes_what_pytorch_does(open_html):
    watched = open_html(SentenceTranslator().html())
    page, languages = loaded(watched.page), languages_of(shipped_file("multi30k-de-en"))
    typed(page, f" {DOG} ")
    assert_shows(page, answered(languages, DOG))
    page.locator(".te-trans-chips button").nth(3).click()
    page.locator(".te-trans-rival").nth(1).click()
    page.wait_for_function(RESTS)
    plain = answered(languages, DOG)["steps"]
    begun = [*(step["id"] for step in plain[:3]), plain[3]["best"][1][0]]
    assert_shows(page, answered(languages, DOG, begun=begun))
    act(page, "button Let it choose", "radio Beam of 5", "checkbox word order = on")
    page.wait_for_function(RESTS)
    assert_shows(page, answered(languages, DOG, ["order"], "beam"))
    watched.assert_clean()


@pytest.mark.parametrize("taken", [[], *([part] for part in PARTS), list(PARTS)])
def test_the_grammars_model_computes_what_pytorch_does(show, taken):
    page, languages = show(SentenceTranslator(shipped="grammar")), languages_of(shipped_file("grammar"))
    for part in taken:
        page.get_by_label(PARTS[part], exact=True).check()
    for search, name in {"beam": "Beam of 5", "greedy": "Greedy"}.items():
        act(page, f"radio {name}")
        typed(page, "my cow sees the red house")
        assert_shows(page, answered(languages, "my cow sees the red house", taken, search))


def test_the_newest_sentence_wins_and_the_page_stays_quick(open_html):
    page = loaded(open_html(SentenceTranslator().html()).page)
    act(page, "radio Beam of 5")
    frames = page.evaluate(
        """async ([line, long, dog, rests]) => {
            const input = document.querySelector(line);
            const type = (text) => { input.value = text; input.dispatchEvent(new Event("input", { bubbles: true })); };
            const frame = () => new Promise(requestAnimationFrame);
            let frames = 0;
            for (const text of [long, dog, long + " " + long, dog]) { type(text); await frame(); await frame(); }
            for (; !eval(rests); frames += 1) await frame();
            return frames;
        }""",
        [LINE, LONG, DOG, RESTS],
    )
    assert frames > 5
    assert_shows(page, answered(languages_of(shipped_file("multi30k-de-en")), DOG, search="beam"))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (DAMAGE, "the file of weights is damaged"),
        (MISSING, "its weights could not be loaded"),
        ("delete window.Worker", "this browser computes nothing beside a page"),
        ("void (window.Worker = class { constructor() { throw new Error('not allowed'); } })", "not allowed"),
    ],
)
def test_what_cannot_be_loaded_leaves_a_message_and_a_working_page(open_html, harm, words):
    page = open_html(SentenceTranslator().html()).page
    page.evaluate(harm)
    before = tokens(page)
    loaded(page)
    expect(page.locator(".te-trans-status")).to_contain_text(f"The model could not be loaded ({words})")
    expect(page.locator(".te-root")).to_have_attribute("data-engine", "failed")
    expect(page.get_by_role("button", name="Try again (5.8 MB)")).to_be_enabled()
    page.locator(LINE).fill(DOG)
    assert tokens(page) == before
    act(page, "button Start again", "radio Beam of 5")
    assert tokens(page)[-3:] == ["·rain", ".", "end"]


def test_any_text_is_translated_or_said_to_be_too_long(open_html):
    watched = open_html(SentenceTranslator().html(), width=390)
    page = loaded(watched.page)
    for text in [*HOSTILE, PASTED[:90]]:
        typed(page, text)
        expect(page.locator(".te-trans-status")).to_have_text(re.compile("It runs in this page|At most 40 tokens"))
        assert overflow(page, 390) <= 0
    assert page.locator(".te-root :is(script, img)").count() == 0
    before = tokens(page)
    for text, said in REFUSED.items():
        typed(page, text)
        expect(page.locator(".te-trans-status")).to_have_text(said)
        assert page.locator(LINE).get_attribute("aria-invalid") == "true"
        assert tokens(page) == before
    watched.assert_clean()


def test_a_model_of_ones_own_runs_in_the_page(open_html):
    torch.manual_seed(0)
    own = Tokenizer.train(["a b c", "x y"] * 2, vocab_size=262)
    model = build_transformer(len(own), len(own), d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=24)
    figure = SentenceTranslator("a b", model=model, vocabularies=own)
    watched = open_html(figure.html())
    typed(watched.page, "c x")
    assert_shows(watched.page, answered(languages_of(figure._content), "c x"))
    watched.assert_clean()


def test_a_kernels_weights_go_to_the_thread_too(open_html):
    figure = SentenceTranslator(shipped="grammar")
    page = open_html(figure.html(), asleep=True).page
    page.evaluate(KERNEL, ["sentence-translator", json.loads(json.dumps(figure.state()))])
    page.locator(LINE).fill("this hen runs")
    page.wait_for_function("document.querySelector('[data-engine=ready]') && " + RESTS)
    assert tokens(page) == ["cette", "poule", "court", "end"]
    assert number(page, ".te-trans-rival >> nth=0") > 0.9
