"""Beam search: equal to brute force where that is possible, and to greedy search where it should be."""

import pytest
import torch

from tests.properties.models import BOS, EOS, PAD, SOURCE, force_scores, lively_model, small_model
from transformer_edu import build_transformer, greedy_search
from transformer_edu.decoding.beam import beam_search, length_normalizer
from transformer_edu.decoding.greedy import answer_limits

pytestmark = pytest.mark.usefixtures("at_readers_speed")
TINY_VOCAB = 6  # pad, bos, eos and three words


def tiny_model(seed=0):
    """A model over three words whose answers are of different lengths."""
    torch.manual_seed(seed)
    model = build_transformer(
        TINY_VOCAB, TINY_VOCAB, d_model=16, num_heads=2, d_ff=32, num_layers=1, dropout=0.0, max_len=64
    ).eval()
    for weight in model.parameters():
        weight.data.mul_(2.5)
    return model


@torch.no_grad()
def every_answer(model, source, length_penalty, max_len):
    """All answers that end within max_len, as (score, ids), best first: one forward pass for each prefix."""
    source = source[source != PAD][None]
    memory, answers = model.encode(source), []

    def go_on(ids, log_prob):
        if ids[-1] == EOS:
            answers.append((log_prob / length_normalizer(len(ids) - 1, length_penalty), ids))
        elif len(ids) < max_len:
            logits = model.project(model.decode(torch.tensor([ids]), memory, source))[0, -1]
            logits[[PAD, BOS]] = -torch.inf
            for token, step in enumerate(torch.log_softmax(logits, dim=-1).tolist()):
                if token not in (PAD, BOS):
                    go_on((*ids, token), log_prob + step)

    go_on((BOS,), 0.0)
    return sorted(answers, reverse=True)


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.long
def test_a_wide_beam_finds_what_brute_force_finds(length_penalty, seed):
    model, source = tiny_model(seed), torch.tensor([[3, 4, 5, 3], [5, 4, PAD, PAD]])
    found = beam_search(model, source, BOS, EOS, 5, beam_size=108, length_penalty=length_penalty, n_best=6)
    for row, hypotheses in zip(source, found, strict=True):
        best = every_answer(model, row, length_penalty, 5)[:6]
        assert [path.ids for path in hypotheses] == [ids for _, ids in best]
        assert [path.score for path in hypotheses] == pytest.approx([score for score, _ in best], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_without_length_penalty_is_greedy_search(seed):
    model = lively_model(seed, "pre")
    greedy = greedy_search(model, SOURCE, BOS, EOS, max_len=12).tolist()
    for row, (best,) in zip(greedy, beam_search(model, SOURCE, BOS, EOS, 12, 1, 0.0), strict=True):
        assert list(best.ids) == row[: row.index(EOS) + 1 if EOS in row else len(row)]


@pytest.mark.parametrize("beam_size", [2, 4])
def test_log_probabilities_are_those_of_one_pass_over_the_whole_answer(beam_size):
    model = lively_model(0, "pre")
    for row, hypotheses in zip(SOURCE, beam_search(model, SOURCE, BOS, EOS, 12, beam_size), strict=True):
        for hypothesis in hypotheses:
            ids = torch.tensor([hypothesis.ids])
            logits = model(row[row != PAD][None], ids[:, :-1]).detach()
            logits[..., [PAD, BOS]] = -torch.inf
            steps = torch.log_softmax(logits, dim=-1).gather(-1, ids[:, 1:, None])
            assert hypothesis.log_prob == pytest.approx(float(steps.sum()), abs=1e-4)
            assert hypothesis.score == pytest.approx(hypothesis.log_prob / ((5 + len(hypothesis.ids) - 1) / 6) ** 0.6)


@pytest.mark.long
@pytest.mark.parametrize("max_len", [None, 9])
def test_a_sentence_gets_the_answer_it_gets_among_others(max_len):
    model = lively_model(1, "pre")
    together = beam_search(model, SOURCE, BOS, EOS, max_len, 3)
    for row, hypotheses in zip(SOURCE, together, strict=True):
        alone = beam_search(model, row[row != PAD][None], BOS, EOS, max_len, 3)[0]
        assert [hypothesis.ids for hypothesis in alone] == [hypothesis.ids for hypothesis in hypotheses]


def test_an_answer_that_never_ends_is_cut_at_the_limit():
    model = force_scores(small_model(), {6: 50.0})
    for best, *_ in beam_search(model, SOURCE, BOS, EOS, 7, 2, n_best=1):
        assert best.ids == (BOS, *[6] * 6)


def test_the_limit_without_max_len_is_the_papers():
    model = small_model(max_len=200)
    assert answer_limits(model, torch.tensor([[5, 6, 7], [5, PAD, PAD]]), None).tolist() == [53, 51]
    assert answer_limits(small_model(max_len=52), torch.tensor([[5, 6, 7]]), None).tolist() == [52]
    endless = force_scores(model, {6: 50.0})
    rows = greedy_search(endless, torch.tensor([[5, 6, 7], [5, PAD, PAD]]), BOS, EOS)
    assert [int((row != PAD).sum()) for row in rows] == [53, 51]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"beam_size": 0}, ValueError, "beam_size must be at least 1, got 0"),
        ({"length_penalty": -0.5}, ValueError, "length_penalty must be a finite number"),
        ({"n_best": 5}, ValueError, "n_best must be at most beam_size=4, got 5"),
        ({"max_len": 1}, ValueError, "max_len must be at least 2, got 1"),
        ({"max_len": 5000}, ValueError, "max_len must not exceed"),
    ],
)
def test_bad_input_is_named(options, error, says):
    with pytest.raises(error, match=says):
        beam_search(small_model(max_len=32), SOURCE, BOS, EOS, **{"max_len": 6, **options})
