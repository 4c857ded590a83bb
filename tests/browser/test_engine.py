"""The engine against PyTorch, in each browser: logits, attention, answers, and the same with parts of it changed."""

import base64
import json
import math
import os
import random
import struct
from functools import cache

import pytest
import torch

from tests.browser.engines import ENGINES, tab
from transformer_edu import build_transformer, record_activations, record_attention
from transformer_edu.book.engine.page_file import page_file, read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.engine.source import engine_source
from transformer_edu.book.engine.weights import description
from transformer_edu.data.batching import pad_sequences
from transformer_edu.data.corpus import held_out_pairs
from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID
from transformer_edu.decoding.beam import beam_search
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.decoding.sampling import sampling_probabilities
from transformer_edu.inspect.changes import Changes, changed
from transformer_edu.models import GPT, GPTConfig

# 200 for a proof. Of the translator's sentences, one takes a core about 1.5 s in Chromium, 2.5 in WebKit, 4 in Firefox
# (most of it for the beam): 200 of them 5, 8 and 14 minutes.
SENTENCES = int(os.environ.get("TRANSFORMER_EDU_SENTENCES", "60"))
LOGITS = 1e-3  # largest difference, as a share of the largest logit
MAPS = 1e-4
OF_TRANSLATOR = SENTENCES // 10 if SENTENCES < 200 else SENTENCES
BEAM = {"beam_size": 5, "length_penalty": 1.0}
# What a page says of a sentence: ids, logits (as bytes), maps, the greedy and the beam's answers.
ANSWER = """async () => {
    const bytes = (x) => {
        const raw = new Uint8Array(x.data.buffer, x.data.byteOffset, x.data.byteLength);
        let text = "";
        for (let i = 0; i < raw.length; i += 8192) text += String.fromCharCode(...raw.subarray(i, i + 8192));
        return btoa(text);
    };
    const { text, changes, begun, search } = CASE;
    const source = model.source.encode(text);
    const seen = engine.forward(model, source, begun, changes);
    const options = search && { size: search.beam_size, penalty: search.length_penalty };
    const beam = search ? engine.beamSearch(model, source, options) : [];
    const greedy = changes.unmasked || !source.length ? [] : engine.greedySearch(model, source, { changes }).ids;
    return {
        source, greedy, beam, decoded: model.target.decode(greedy), tokens: source.map((id) => model.source.token(id)),
        logits: bytes(seen.logits),
        maps: Object.entries(seen.maps).map(([name, heads]) => [name, heads.map(bytes)]),
        activations: Object.entries(seen.activations).map(([name, x]) => [name, bytes(x)]),
    };
}"""


WEEKLY = [pytest.param(engine, marks=pytest.mark.weekly if engine != "chromium" else ()) for engine in ENGINES]


@pytest.fixture(scope="session", params=WEEKLY)
def browser_engine(request, playwright, tmp_path_factory):
    with tab(request.param, playwright, tmp_path_factory.mktemp(f"engine-{request.param}")) as page:
        yield request.param, page


@pytest.fixture
def load(browser_engine, tmp_path):
    """`load(content)` gives a function that asks the page, which runs this file of weights, about a sentence."""

    def start(content):
        _, page = browser_engine
        text = base64.b64encode(content).decode()
        (tmp_path / "engine.html").write_text(
            f"<!doctype html><meta charset=utf-8><script>{engine_source()}"
            f'const content = Uint8Array.from(atob("{text}"), (one) => one.charCodeAt(0));'
            f'const model = engine.readModel(content, "{description(content)["sha256"]}");</script>',
            encoding="utf-8",
        )
        page.open((tmp_path / "engine.html").as_uri())
        return lambda **case: page.run(ANSWER.replace("CASE", json.dumps(case)))

    return start


def tensor(text, like):
    raw = base64.b64decode(text)
    return torch.tensor(struct.unpack(f"<{len(raw) // 4}f", raw)).view_as(like)


@torch.no_grad()
def compare(ask, model, source, greedy, begun=None, **case):
    """Ask the page about a sentence, and hold what it says against PyTorch with the same weights."""
    begun = begun or greedy[:-1]
    with record_attention(model) as maps, record_activations(model) as activations:
        logits = model(torch.tensor([source]), torch.tensor([begun]))[0]
    found = ask(**{"begun": begun, "changes": {}, "search": None} | case)
    assert found["source"] == source
    assert (tensor(found["logits"], logits) - logits).abs().max() <= LOGITS * logits.abs().max(), case["text"]
    assert {name for name, _ in found["maps"]} == set(maps)
    for name, heads in found["maps"]:
        for values, expected in zip(heads, maps[name][0], strict=True):
            torch.testing.assert_close(tensor(values, expected), expected, atol=MAPS, rtol=0)
    assert {name for name, _ in found["activations"]} == set(activations)
    for name, values in found["activations"]:
        torch.testing.assert_close(tensor(values, activations[name][0]), activations[name][0], atol=1e-3, rtol=1e-3)
    assert found["greedy"] == greedy, case["text"]
    return found


def whole_answers(ask, model, vocabulary, texts):
    """Compare logits, maps, greedy and beam search on sentences, which PyTorch reads in batches."""
    sources = [vocabulary.encode(text) for text in texts]
    batch = pad_sequences(sources, model.config.pad_id)
    rows, beams = searched(model, batch)
    for text, source, row, best in zip(texts, sources, rows, beams, strict=True):
        greedy = row[: row.index(EOS_ID) + 1] if EOS_ID in row else [index for index in row if index]
        found = compare(ask, model, source, greedy, text=text, search=BEAM)
        assert [answer["ids"] for answer in found["beam"]] == [list(answer.ids) for answer in best], text
        for mine, answer in zip(found["beam"], best, strict=True):
            assert mine["score"] == pytest.approx(answer.score, abs=1e-3)
        yield text, greedy, found


SEARCHED = {}


def searched(model, batch):
    """Greedy ids, and the beam's answers; once for all browsers."""
    if model not in SEARCHED:
        rows = greedy_search(model, batch, BOS_ID, EOS_ID).tolist()
        SEARCHED[model] = rows, beam_search(model, batch, BOS_ID, EOS_ID, **BEAM)
    return SEARCHED[model]


@torch.no_grad()
def greedily(model, source, begun=(BOS_ID,)):
    """Greedy search without a cache, which a model that was changed need not fit."""
    ids = list(begun)
    while len(ids) < min(len(source) + 50, model.config.max_len) and ids[-1] != EOS_ID:
        logits = model(torch.tensor([source]), torch.tensor([ids]))[0, -1]
        logits[[model.config.pad_id, BOS_ID]] = -torch.inf
        ids.append(int(logits.argmax()))
    return ids


@cache
def shipped(name):
    return read_page_file(shipped_file(name))


def test_the_grammars_model_answers_as_in_pytorch(load):
    model, (english, french) = shipped("grammar")
    ask = load(shipped_file("grammar"))
    words, chance = english.words[4:], random.Random(0)
    salads = [" ".join(chance.choice(words) for _ in range(chance.randint(1, 12))) for _ in range(SENTENCES // 4)]
    texts = [text for text, _ in held_out_pairs(SENTENCES - len(salads))] + salads
    for text, greedy, found in whole_answers(ask, model, english, texts):
        assert found["decoded"] == french.decode(greedy)
        assert found["tokens"] == text.split()


def test_the_translator_answers_as_in_pytorch(load, corpus_folder):
    model, tokenizer = shipped("multi30k-de-en")
    ask = load(shipped_file("multi30k-de-en"))
    texts = [german for german, _ in multi30k_pairs("test_2016_flickr", corpus_folder)][:OF_TRANSLATOR]
    for text, greedy, found in whole_answers(ask, model, tokenizer, texts):
        assert found["decoded"] == tokenizer.decode(greedy)
        assert found["tokens"] == tokenizer.tokens(text)


CHANGES = {
    "a head off": Changes(heads={"decoder.1.cross.2": "off", "encoder.0.self.0": "off"}),
    "heads that look at all alike": Changes(heads={"decoder.0.self.1": "uniform", "decoder.1.cross.0": "uniform"}),
    "no positions": Changes(source_positions="off", target_positions="off"),
    "shuffled positions": Changes(source_positions=[4, 0, 6, 2, 1, 5, 3]),
    "not scaled": Changes(unscaled=True),
    "no causal mask": Changes(unmasked=True),
    "layers skipped": Changes(skipped=("encoder.1", "decoder.0")),
    "sub-layers that say nothing": Changes(silent=("decoder.0.cross", "encoder.0.feed_forward", "decoder.1.self")),
    "no residual connection": Changes(unadded=("encoder.0.self", "decoder.1.cross", "decoder.1.feed_forward")),
    "no norm": Changes(unnormed=("encoder.1.self", "decoder.0.feed_forward")),
    "a road blocked": Changes(blocked=(("decoder.cross", 3, 2), ("encoder.0.self", 2, 3), ("decoder.self", 4, 1))),
    "several at once": Changes(
        heads={"encoder.1.self.3": "off"}, source_positions="off", unscaled=True, unnormed=("decoder.1.self",)
    ),
}


def written(changes):
    """The fields that differ from a model that is not changed."""
    usual = Changes()
    return {name: value for name, value in vars(changes).items() if value != getattr(usual, name)}


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_every_change_is_the_one_that_pytorch_makes(load, norm):
    if norm == "post":
        content = shipped_file("grammar")
    else:
        torch.manual_seed(3)
        _, words = shipped("grammar")
        options = {"d_model": 20, "num_heads": 4, "d_ff": 18, "num_layers": 2, "norm": "pre", "max_len": 32}
        content = page_file(build_transformer(*map(len, words), **options), words)
    model, (english, _) = read_page_file(content)
    ask = load(content)
    text, begun = "the small black cat does not sleep", [1, 65, 88, 34, 84, 80]
    source = english.encode(text)
    usual = compare(ask, model, source, greedily(model, source), begun, text=text)
    for name, changes in CHANGES.items():
        with changed(model, changes):
            greedy = [] if changes.unmasked else greedily(model, source)
            found = compare(ask, model, source, greedy, begun, text=text, changes=written(changes))
        assert found["logits"] != usual["logits"], name


def test_a_tokenizer_cuts_and_joins_as_in_python(load):
    texts = [
        "Zwei Männer, 3 Hunde!",
        "  naïve\tcafé ",
        "don't we'll I'M",
        "ab\u2028cd ﷽ 😀😀",
        "١٢ ½",
        "<eos> <pad>",
        "a\n\n b",
    ]
    tokenizer = Tokenizer.train([*texts, "zwei Männer und zwei Hunde"] * 3, vocab_size=330)
    size = len(tokenizer)
    torch.manual_seed(0)
    model = build_transformer(size, size, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=64)
    ask = load(page_file(model, tokenizer))
    for text in texts:
        found = ask(text=text, begun=[1], changes={}, search=None)
        assert found["source"] == tokenizer.encode(text)
        assert found["tokens"] == tokenizer.tokens(text)
        assert found["decoded"] == tokenizer.decode(found["greedy"])


STEERED = """async () => {
    const source = model.source.encode("the small black cat does not sleep");
    const { ids, steps } = engine.greedySearch(model, source, { begun: BEGUN, temperature: 2 });
    const [last, first] = [engine.drawn(() => 0.999)([0.25, 0.5, 0.25]), engine.drawn(() => 0)([0, 0.4, 0.6])];
    return { ids, chances: [...steps[0]], last, first, beam: engine.beamSearch(model, source, { begun: BEGUN }) };
}"""


def test_a_search_goes_on_from_what_it_is_given_and_draws_at_a_temperature(load, browser_engine):
    model, (english, french) = shipped("grammar")
    load(shipped_file("grammar"))
    begun = [BOS_ID, *french.encode("la petite")]
    found = browser_engine[1].run(STEERED.replace("BEGUN", json.dumps(begun)))
    source = english.encode("the small black cat does not sleep")
    assert found["ids"] == greedily(model, source, begun)
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([begun]))[0, -1]
    logits[[model.config.pad_id, BOS_ID]] = -torch.inf
    torch.testing.assert_close(torch.tensor(found["chances"]), (logits / 2).softmax(dim=-1), atol=1e-5, rtol=0)
    assert (found["last"], found["first"]) == (2, 1)
    for hypothesis in found["beam"]:
        assert hypothesis["ids"][: len(begun)] == begun
        with torch.no_grad():
            logits = model(torch.tensor([source]), torch.tensor([hypothesis["ids"][:-1]]))[0]
        logits[:, [model.config.pad_id, BOS_ID]] = -torch.inf
        rest = range(len(begun) - 1, len(hypothesis["ids"]) - 1)
        log_prob = sum(float(logits[place].log_softmax(dim=-1)[hypothesis["ids"][place + 1]]) for place in rest)
        assert hypothesis["logProb"] == pytest.approx(log_prob, abs=1e-4)


# A GPT reads a text in one pass, goes on greedily with what it keeps, and comes back from another token.
WRITTEN = """async () => {
    const list = (x) => [...x];
    const [begun, count] = [BEGUN, COUNT];
    const text = engine.startText(model);
    const record = engine.recording();
    const whole = engine.rowsOf(text.prefillAll(begun, record));
    const maps = Object.entries(record.maps).map(([name, heads]) => [name, heads.map(engine.rowsOf)]);
    const ids = [...begun];
    const steps = [text.prefill(begun)];
    while (ids.length < count) {
        ids.push(engine.highest(engine.possible(steps.at(-1)), 1)[0]);
        steps.push(text.step(ids.at(-1)));
    }
    const anew = ids.map((_, i) => engine.startText(model).prefill(ids.slice(0, i + 1))).slice(begun.length - 1);
    const back = begun.length + 2;
    text.cut(back);
    const other = [...ids.slice(0, back), 7];
    const jumped = engine.startText(model);
    jumped.prefill(ids);
    return {
        whole, maps, ids, steps: steps.map(list), anew: anew.map(list), left: text.length,
        returned: [text.step(7), jumped.goTo(other), jumped.goTo(other)].map(list), other,
        repeated: list(jumped.goTo(ids)),
    };
}"""
LONGEST = 16


def small_gpt():
    own = Tokenizer.train(["the cat sat", "the cats sit"] * 3, vocab_size=270)
    torch.manual_seed(1)
    model = GPT(GPTConfig(len(own), 20, 4, 24, 2, 0.0, LONGEST, pad_id=own.pad_id)).eval()
    for weight in model.parameters():
        weight.data.mul_(3)  # so that it is sure of something
    return model, own


@pytest.mark.parametrize("bits", [16, 8])
@torch.no_grad()
def test_a_gpt_writes_as_in_pytorch_also_beyond_its_longest_text(load, browser_engine, bits):
    model, own = small_gpt()
    content = page_file(model, own, bits)
    model, _ = read_page_file(content)
    load(content)
    begun = [BOS_ID, *own.encode("the cat")]
    count = 2 * LONGEST + 3
    found = browser_engine[1].run(WRITTEN.replace("BEGUN", json.dumps(begun)).replace("COUNT", str(count)))

    def after(ids):
        """Logits of the next token; a text that is too long has lost its older half, once or several times."""
        start = 0 if len(ids) <= LONGEST else LONGEST // 2 * -(-(len(ids) - LONGEST) // (LONGEST // 2))
        assert LONGEST // 2 < len(ids) - start <= LONGEST or not start
        return model(torch.tensor([ids[start:]]))[0, -1]

    def close(rows, expected):
        limit = LOGITS * max(1.0, float(expected.abs().max()))
        torch.testing.assert_close(torch.tensor(rows), expected, atol=limit, rtol=0)

    with record_attention(model) as maps:
        close(found["whole"], model(torch.tensor([begun]))[0])
    assert dict(found["maps"]).keys() == maps.keys() == {"decoder.0.self", "decoder.1.self"}
    for name, heads in found["maps"]:
        torch.testing.assert_close(torch.tensor(heads), maps[name][0], atol=MAPS, rtol=0)
    ids = list(begun)
    for step, anew in zip(found["steps"], found["anew"], strict=True):
        logits = after(ids)
        close(step, logits)
        close(anew, logits)
        logits[[own.pad_id, BOS_ID]] = -torch.inf
        ids.append(int(logits.argmax()))
    assert found["ids"] == ids[:-1]
    assert len(set(found["ids"])) > 3
    assert found["left"] == len(begun) + 2
    for row in found["returned"]:
        close(row, after(found["other"]))
    close(found["repeated"], after(found["ids"]))


SETTINGS = [
    {},
    {"temperature": 0.5},
    {"temperature": 1.7, "top_k": 3},
    {"top_k": 2},  # which is as probable as the third
    {"top_k": 100},
    {"top_p": 0.6},
    {"temperature": 0.8, "top_k": 5, "top_p": 0.7},
    {"temperature": 2.0, "top_p": 0.05},
]
SCORES = [0.5, -1.0, 2.0, 1.25, 3.0, 2.0, -4.0, 0.0, 1.0]
# Probabilities of 0.4, 0.3, 0.2 and 0.1, and what is left of them for some min_p.
MIN_P = [
    ({"minP": 0.3}, [4 / 9, 3 / 9, 2 / 9, 0]),
    ({"minP": 0.8}, [1, 0, 0, 0]),
    ({"minP": 0.25}, [0.4, 0.3, 0.2, 0.1]),  # the least is a quarter of the largest
    ({"minP": 0.3, "temperature": 0.5}, [16 / 25, 9 / 25, 0, 0]),  # squares: 16, 9, 4, 1
    ({"minP": 0.6, "topP": 0.5}, [4 / 7, 3 / 7, 0, 0]),
    ({"minP": 0.6, "topK": 1}, [1, 0, 0, 0]),
]
SAMPLED = """async () => CASES.map(([scores, options]) =>
    [...engine.samplingProbabilities(Float32Array.from(scores), options)])"""


def test_what_sampling_leaves_in_is_what_python_leaves_in(load, browser_engine):
    load(shipped_file("grammar"))
    names = {"temperature": "temperature", "top_k": "topK", "top_p": "topP"}
    fourths = [math.log(share) for share in (0.4, 0.3, 0.2, 0.1)]
    cases = [(SCORES, {names[key]: value for key, value in settings.items()}) for settings in SETTINGS]
    cases += [(fourths, options) for options, _ in MIN_P]
    found = browser_engine[1].run(SAMPLED.replace("CASES", json.dumps(cases)))
    expected = [sampling_probabilities(torch.tensor(SCORES), **settings).tolist() for settings in SETTINGS]
    for row, known in zip(found, [*expected, *(left for _, left in MIN_P)], strict=True):
        assert row == pytest.approx(known, abs=1e-6)
