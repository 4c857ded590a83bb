"""The experts map as a Python object, and what its words rest on in the recording."""

import pytest
import torch

from transformer_edu.book import recordings
from transformer_edu.book.figures.experts_map import BALANCING, EXPERTS, moments_of

STORED = recordings.load("experts")["data"]
EVEN = 1 / EXPERTS

EXAMPLE = {"balancing": "loss", "layer": 3, "step": 50, "token": 2, "expert": 5}
BAD = [
    (TypeError, "recording must be a dict, as record_experts makes it, got int", {"recording": 1}),
    (
        ValueError,
        "must have steps, pieces, runs, got none of runs",
        {"recording": {"steps": 1, "pieces": []}},
    ),
    (ValueError, "balancing must be", {"balancing": "auction"}),
    (ValueError, "layer must be from 0 to 3, got 4", {"layer": 4}),
    (ValueError, "step must be", {"step": 30}),
    (ValueError, "token must be from 0 to 18, got 19", {"token": 19}),
    (ValueError, "expert must be from 0 to 8, got 9", {"expert": 9}),
]
SAYS = [
    (
        {"recording": recordings.load("experts")},
        "Layer 2 after 1500 training steps without balancing: lines from each of 19 tokens to its two of 8 experts",
        "“little” goes to experts 1 and 3. Bars",
        "the experts get 10.4, 9.8, 26.6, 15.4, 7.0, 5.3, 13.3, 12.1 %, where 12.5 % each would be even.",
    ),
    ({"balancing": "bias", "expert": 1}, "with a balancing bias", "expert 1 gets “Once”, “cat”, “She”. Bars"),
]
SCENES = {
    "a token's experts, and which they are when all are used": [
        "Without balancing, expert 3 takes 2.1 times an even share … In layer 2 little goes to experts 1 and 3.",
        "! Blue tick: before.",
        "> radio bias",
        "With balancing, no expert takes over 1.2 times an even share … Blue tick: before.",
        "little goes to experts 3 and 8, before to 1 and 3.",
        "> radio 4",
        "In layer 4 little goes to experts 1 and 6.",
        "! before",
        "> click .te-exp-tokens > :nth-child(3); key ArrowLeft; key ArrowRight",
        "~ In layer 4 a goes to experts",
    ],
    "an expert early in training": [
        "> radio expert 3; slider step = 2",
        "41.0 % … In layer 2 expert 3 gets 41.0 % of all choices, 3.3 times an even share, before 26.6 %.",
        "Of this sentence, 16 tokens.",
        "> key ArrowRight",
        "In layer 2 expert 3 gets 24.3 % of all choices, 1.9 times an even share, before 26.6 %.",
    ],
    "questions are answered by looking": [
        "> radio 4; slider step = 3",
        "Yes. Expert 3 of layer 4 at step 50; in the end 26.6 %.",
        "> button Another question; radio loss; slider step = 11; radio 2",
        "Yes. It costs nothing: mean loss of five runs 2.614 without balancing, 2.604 with a loss, 2.606 with a bias.",
        "> button Another question; slider step = 2; radio 3",
        "Yes. Early, and not for long",
        "> button Another question; slider step = 11; radio none; radio 2; click .te-exp-tokens > :nth-child(16)",
        "Of the 3 in this sentence 3 go there. … Yes. Not in every layer",
        "> click .te-details summary",
        "No balancing: the busiest expert gets 26.6 % to 36.7 %, none gets less than 1 %; loss 2.608 to 2.619.",
    ],
    "play begins before training": [
        "> button Play; button Pause",
        "Before training, no expert takes over 1.4 times an even share … step0",
    ],
}


def numbers():
    """The recording; in each state each token's two experts in order, the busiest expert, and times an even share."""
    states = [
        {
            "balancing": balancing,
            "step": moment["step"],
            "layer": layer,
            "pairs": (torch.tensor(chosen).sort().values + 1).tolist(),
            "busiest": torch.tensor(shares).argmax().item() + 1,
            "times": torch.tensor(shares).max().item() * len(shares),
        }
        for balancing in BALANCING
        for moment in moments_of(STORED, balancing)
        for layer, (shares, chosen) in enumerate(zip(moment["shares"], moment["chosen"], strict=True))
    ]
    losses = [[run["loss"] for run in STORED["runs"] if run["balancing"] == balancing] for balancing in BALANCING]
    return {"recording": STORED, "states": states, "losses": torch.tensor(losses).mean(1).tolist()}


@pytest.mark.parametrize("balancing", BALANCING)
def test_shares_add_up_and_each_token_has_two_experts(balancing):
    for moment in moments_of(STORED, balancing):
        shares, chosen = torch.tensor(moment["shares"]), torch.tensor(moment["chosen"])
        assert shares.shape == (4, EXPERTS)
        torch.testing.assert_close(shares.sum(1), torch.ones(4), atol=EXPERTS * 5e-4, rtol=0)
        assert chosen.shape == (4, len(STORED["pieces"]), 2)
        assert (chosen[..., 0] != chosen[..., 1]).all()


def test_experts_are_idle_early_and_never_from_step_100_on():
    for balancing in BALANCING:
        least = {moment["step"]: min(map(min, moment["shares"])) for moment in moments_of(STORED, balancing)}
        assert all(share > 0.01 for step, share in least.items() if step >= 100)
    assert min(moments_of(STORED, "none")[2]["shares"][2]) < 0.01
    assert {run["idle"] for run in STORED["runs"]} == {0}


@pytest.mark.long
def test_busiest_experts_in_the_end_and_the_price_of_balance():
    for run in STORED["runs"]:
        low, high = (2.1, 3) if run["balancing"] == "none" else (1.1, 1.5)
        assert low < run["largest"] / EVEN < high
    none, loss, bias = numbers()["losses"]
    assert max(loss, bias) < none < min(loss, bias) + 0.02
