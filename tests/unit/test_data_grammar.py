"""The grammar: French agreement by tables written out by hand, and an honest held-out split."""

from functools import partial

import pytest

from tests.unit.conftest import refusals
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION
from transformer_edu.data import (
    Sentence,
    align,
    held_out_combinations,
    held_out_pairs,
    is_held_out,
    parse,
    sentence_pairs,
    train_pairs,
    translate,
    vocabularies,
)
from transformer_edu.data.lexicon import ADJECTIVES, DETERMINERS, NOUNS, VERBS

# Written by hand, independently of the lexicon's columns: masculine, feminine, masculine plural, feminine plural.
AGREEMENT = {
    "small": ("le petit chat", "la petite vache", "les petits chats", "les petites vaches"),
    "big": ("le grand chat", "la grande vache", "les grands chats", "les grandes vaches"),
    "pretty": ("le joli chat", "la jolie vache", "les jolis chats", "les jolies vaches"),
    "beautiful": ("le beau chat", "la belle vache", "les beaux chats", "les belles vaches"),
    "good": ("le bon chat", "la bonne vache", "les bons chats", "les bonnes vaches"),
    "black": ("le chat noir", "la vache noire", "les chats noirs", "les vaches noires"),
    "white": ("le chat blanc", "la vache blanche", "les chats blancs", "les vaches blanches"),
    "red": ("le chat rouge", "la vache rouge", "les chats rouges", "les vaches rouges"),
    "green": ("le chat vert", "la vache verte", "les chats verts", "les vaches vertes"),
    "grey": ("le chat gris", "la vache grise", "les chats gris", "les vaches grises"),
    "brown": ("le chat brun", "la vache brune", "les chats bruns", "les vaches brunes"),
    "yellow": ("le chat jaune", "la vache jaune", "les chats jaunes", "les vaches jaunes"),
}
NOUN_PHRASES = {
    "the dog": "le chien", "the rabbits": "les lapins", "a wolf": "un loup", "my horse": "mon cheval",
    "these horses": "ces chevaux", "this fox": "ce renard", "my ducks": "mes canards", "my cow": "ma vache",
    "a mouse": "une souris", "the mice": "les souris", "this turtle": "cette tortue", "these frogs": "ces grenouilles",
    "my goats": "mes chèvres", "a hen": "une poule", "the wolves": "les loups", "the foxes": "les renards",
    "a cake": "un gâteau", "the cakes": "les gâteaux", "my hat": "mon chapeau", "these hats": "ces chapeaux",
    "this boat": "ce bateau", "my boats": "mes bateaux", "a flower": "une fleur", "the houses": "les maisons",
    "this chair": "cette chaise",
}  # fmt: skip
VERB_FORMS = {
    "sleeps": ("dort", "dorment"), "runs": ("court", "courent"), "sings": ("chante", "chantent"),
    "dances": ("danse", "dansent"), "walks": ("marche", "marchent"), "swims": ("nage", "nagent"),
    "dreams": ("rêve", "rêvent"), "falls": ("tombe", "tombent"), "sees": ("voit", "voient"),
    "watches": ("regarde", "regardent"), "follows": ("suit", "suivent"), "finds": ("trouve", "trouvent"),
    "wants": ("veut", "veulent"), "loses": ("perd", "perdent"), "pushes": ("pousse", "poussent"),
}  # fmt: skip


@pytest.mark.parametrize("adjective", [adjective.english for adjective in ADJECTIVES])
def test_adjectives_agree_and_stand_on_their_side_of_the_noun(adjective):
    nouns = (f"the {adjective} cat", f"the {adjective} cow", f"the {adjective} cats", f"the {adjective} cows")
    verbs = (("sleeps", "dort"), ("sleeps", "dort"), ("sleep", "dorment"), ("sleep", "dorment"))
    for english, french, (verb, verbe) in zip(nouns, AGREEMENT[adjective], verbs, strict=True):
        assert translate(f"{english} {verb}") == f"{french} {verbe}"


@pytest.mark.parametrize("english", NOUN_PHRASES)
def test_determiners_and_nouns_agree(english):
    assert translate(f"the cat sees {english}") == f"le chat voit {NOUN_PHRASES[english]}"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.base)
def test_verbs_agree_with_their_subject_and_are_negated_around(verb):
    singular, plural = VERB_FORMS[verb.third]
    english, french = (" the hat", " le chapeau") if verb.transitive else ("", "")
    assert translate(f"the cow {verb.third}{english}") == f"la vache {singular}{french}"
    assert translate(f"the cows {verb.base}{english}") == f"les vaches {plural}{french}"
    assert translate(f"the cow does not {verb.base}{english}") == f"la vache ne {singular} pas{french}"
    assert translate(f"the cows do not {verb.base}{english}") == f"les vaches ne {plural} pas{french}"


def test_no_form_needs_elision_and_no_english_word_needs_an():
    vowels = "aeiouyéèêhâ"
    french = [form for n in NOUNS for form in (n.french_singular, n.french_plural)]
    french += [form for v in VERBS for form in (v.french_singular, v.french_plural)]
    french += [form for a in ADJECTIVES if a.before_noun for form in (a.masculine, a.feminine)]
    assert not [form for form in french if form[0] in vowels]
    english = [n.singular for n in NOUNS] + [a.english for a in ADJECTIVES]
    assert not [word for word in english if word[0] in "aeiou" or word == "hour"]


def test_no_english_form_has_two_readings():
    forms = [form for n in NOUNS for form in (n.singular, n.plural)] + [a.english for a in ADJECTIVES]
    forms += [form for v in VERBS for form in (v.base, v.third)] + ["do", "does", "not"]
    forms += [form for d in DETERMINERS for form in {d.singular, d.plural} if form]
    assert len(forms) == len(set(forms))


def test_alignment_puts_each_french_word_beside_its_english_one():
    english, french = RUNNING_SENTENCE.split(), RUNNING_TRANSLATION.split()
    pairs = {(english[i], french[j]) for i, j in align(RUNNING_SENTENCE)}
    assert pairs == {
        ("the", "le"), ("small", "petit"), ("cat", "chat"), ("black", "noir"),
        ("does", "dort"), ("sleep", "dort"), ("not", "ne"), ("not", "pas"),
    }  # fmt: skip
    assert {(0, 0), (3, 3)} <= set(align("the cow sees the hen"))
    assert (0, 3) not in align("the cow sees the hen")


WRONG = {
    "": "a determiner, got the end",
    "cat sleeps": "a determiner, got 'cat'",
    "the blue cat sleeps": "a noun, got 'blue'",
    "the black small cat sleeps": "a noun, got 'small'",
    "a cats sleep": "a singular noun after 'a', got 'cats'",
    "these cat sleeps": "a plural noun after 'these', got 'cat'",
    "the cat sleep": "third person singular, got 'sleep'",
    "the cats sleeps": "base form, got 'sleeps'",
    "the cat do not sleep": "third person singular, got 'do'",
    "the cat does sleep": "'not', got 'sleep'",
    "the cat does not sleeps": "base form, got 'sleeps'",
    "the cat sees": "a determiner, got the end",
    "the cat sleeps the dog": "the end of the sentence, got 'the'",
    "the cat does not see a dog": "pas de",
}
CAT, SLEEPS = (getattr(parse("a cat sleeps"), part) for part in ("subject", "verb"))
test_what_lies_outside_the_grammar_is_refused_with_the_reason = refusals(
    *((partial(translate, english), ValueError, says) for english, says in WRONG.items()),
    (lambda: type(CAT)(CAT.determiner, CAT.noun, plural=True), ValueError, "plural must be False"),
    (lambda: Sentence(CAT, SLEEPS, object=CAT), ValueError, "object must be given exactly"),
    (lambda: sentence_pairs(0, 0), ValueError, "count must be at least 1"),
    (lambda: sentence_pairs(0, 5, "test"), ValueError, "split must be one of"),
)


@pytest.mark.long
def test_no_training_sentence_contains_a_held_out_combination(as_readers_run_it):
    held_out = held_out_combinations()
    assert len(held_out) == 66, "one in ten"
    assert {a.english for a in ADJECTIVES} == {word for before, _, after in held_out for word in (before, after)}
    for english, _ in train_pairs():
        words = english.split()
        for before, after, noun in zip(words, words[1:], words[2:], strict=False):
            singular = next((n.singular for n in NOUNS if noun in (n.singular, n.plural)), None)
            assert (before, singular, after) not in held_out, english


@pytest.mark.long
def test_every_held_out_sentence_contains_a_held_out_combination_and_is_new(as_readers_run_it):
    pairs = held_out_pairs()
    assert all(is_held_out(parse(english)) for english, _ in pairs)
    assert not set(pairs) & set(train_pairs())
    assert len(set(pairs)) == len(pairs) == 1000


@pytest.mark.long
def test_running_sentence_is_held_out_and_its_words_are_not():
    assert held_out_pairs(1) == [(RUNNING_SENTENCE, RUNNING_TRANSLATION)]
    assert translate(RUNNING_SENTENCE) == RUNNING_TRANSLATION == "le petit chat noir ne dort pas"
    assert ("small", "cat", "black") in held_out_combinations()
    training = [english for english, _ in train_pairs()]
    for seen in ("small black dog", "black cat", "small cat", "cat does not sleep"):
        assert any(seen in sentence for sentence in training), seen
    assert not any("small black cat" in sentence for sentence in training)


@pytest.mark.long
def test_training_shows_every_word_in_both_languages():
    source, target = vocabularies()
    english = {word for pair in train_pairs() for word in pair[0].split()}
    french = {word for pair in train_pairs() for word in pair[1].split()}
    assert english == set(source.words[4:])
    assert french == set(target.words[4:])


def test_the_seed_alone_decides_the_sentences_on_every_python():
    assert sentence_pairs(3, 50) == sentence_pairs(3, 80)[:50] != sentence_pairs(4, 50)
    assert train_pairs(2) == [
        ("my yellow horses do not lose these white turtles", "mes chevaux jaunes ne perdent pas ces tortues blanches"),
        ("this turtle sings", "cette tortue chante"),
    ]
