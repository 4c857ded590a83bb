"""Stories that are asked for: what is asked, what is counted, and that a low rank starts as the model was."""

import copy
import hashlib

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from transformer_edu import pretrained, recordings
from transformer_edu.book.experiments import answers
from transformer_edu.pretrained import stories as shipped
from transformer_edu.saving.tensor_file import read_tensors, write_tensors


@pytest.fixture(scope="module")
def stories():
    return pretrained.load_stories()


def test_a_request_names_its_words_and_a_story_is_held_against_them():
    assert answers.request(["apple", "dog"]) == "Write a story with an apple and a dog.\n"
    assert answers.named(["apple", "dog"], "The dog ate pineapples.") == 0.5
    assert [len(words) for words in answers.draw_words(2, seed=0)] == [1, 1, 2, 2]


@pytest.mark.long
def test_the_models_own_stories_name_what_is_asked_for_and_end_with_a_sentence(stories):
    found = answers.own_stories(stories, 12)
    assert found
    for words, story in found:
        assert answers.named(words, story) == 1
        assert story.rstrip('"')[-1] in ".!?"


def test_only_the_tokens_of_answers_are_counted(stories):
    tokenizer, long = stories.tokenizer, "The dog sat. " * answers.STEPS
    ids, starts = answers.as_rows(tokenizer, [(["dog"], "The dog sat."), (["cat", "bee"], long)])
    assert (ids[0] == tokenizer.eos_id).sum() == 1
    assert (ids[1] == tokenizer.eos_id).sum() == 0  # cut: it is not at its end
    log_p, counted = answers.answer_log_probs(stories.model, ids, starts, tokenizer.pad_id)
    assert counted.sum(1).tolist() == [len(tokenizer.encode("The dog sat.")) + 1, answers.STEPS]
    assert tokenizer.decode(ids[0, 1 : starts[0]].tolist()) == answers.request(["dog"])
    everything = torch.log_softmax(stories.model(ids), -1)
    alone = sum(
        everything[0, place - 1, ids[0, place]] for place in range(int(starts[0]), ids.shape[1]) if ids[0, place]
    )
    torch.testing.assert_close(log_p[0].sum(), alone)
    assert not log_p[~counted].any()


@pytest.mark.long
def test_a_low_rank_starts_as_the_model_was_and_can_be_added_to_it(stories):
    torch.manual_seed(0)
    model = answers.adapt(copy.deepcopy(stories.model), rank=2)
    learned = {name for name, one in model.named_parameters() if one.requires_grad}
    assert learned == {name for name, _ in model.named_parameters() if name.endswith((".0.a", ".0.b"))}
    ids = torch.randint(5, 99, (2, 7))
    torch.testing.assert_close(model(ids), stories.model(ids), atol=1e-4, rtol=1e-4)
    answers.tune(model, stories.tokenizer, [(["dog"], "The dog sat.")] * 16, steps=2, rate=0.01, seed=0)
    changed = model(ids)
    assert not torch.allclose(changed, stories.model(ids), atol=1e-3)
    for part in list(model.modules()):
        if isinstance(part, nn.Linear) and parametrize.is_parametrized(part):
            parametrize.remove_parametrizations(part, "weight")
    torch.testing.assert_close(model(ids), changed, atol=1e-4, rtol=1e-4)


@pytest.mark.long
def test_the_shipped_change_answers_as_its_recording_says(stories):
    recorded = recordings.load("answering")["data"]
    assert hashlib.sha256(shipped.CHANGE.read_bytes()).hexdigest() == recorded["sha256"]
    answering = pretrained.load_answering()
    asked = [[noun] for noun in answers.NOUNS] * 2
    named = [answers.named(*one) for one in zip(asked, answers.write_answers(answering, asked, 0), strict=True)]
    assert abs(sum(named) / len(named) - recorded["one"]) < 0.2
    _, change = read_tensors(shipped.CHANGE, shipped.LOW_RANK)
    assert sum(tensor.numel() for tensor in change.values()) == 69_120
    before, after = (dict(model.model.named_parameters()) for model in (stories, answering))
    assert {name for name in before if not torch.equal(before[name], after[name])} == {key[:-2] for key in change}


def test_a_change_that_was_made_for_other_weights_is_refused(tmp_path, monkeypatch):
    header, change = read_tensors(shipped.CHANGE, shipped.LOW_RANK)
    other = tmp_path / "change.safetensors"
    write_tensors(other, change, header | {"base": "another"}, shipped.LOW_RANK)
    monkeypatch.setattr(shipped, "CHANGE", other)
    with pytest.raises(ValueError, match="change of the shipped story model"):
        pretrained.load_answering()
