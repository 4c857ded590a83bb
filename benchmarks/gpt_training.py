"""Seconds of a GPT's training step and of its writing: the book's, plain and switched on, and Hugging Face's GPT-2.

The same sizes, ids, float32, tying, dropout at the same places, loss and optimizer, and random weights. Each writes
greedily with its cache, and no answer ends early.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from shared.contenders import trainable
from shared.measure import alternate, ratios
from shared.report import arguments, save, table
from torch import Tensor, nn

from transformer_edu import fast, greedy_search
from transformer_edu.models import GPT, GPTConfig

NAMES = ("ours", "ours, plain", "GPT-2")
PAD, BOS, EOS, FIRST_WORD = 0, 1, 2, 4


@dataclass(frozen=True)
class Case:
    """What is trained, what is written, and how often it is measured."""

    d_model: int = 160
    num_layers: int = 6
    num_heads: int = 5
    vocab_size: int = 2048
    dropout: float = 0.1
    sentences: int = 16
    length: int = 128
    prompts: tuple[int, ...] = (1, 8)
    prompt_length: int = 16
    new_tokens: int = 64
    rounds: int = 15

    def ids(self, rows: int, columns: int) -> Tensor:
        """Random words (rows, columns)."""
        draw = torch.Generator().manual_seed(0)
        return torch.randint(FIRST_WORD, self.vocab_size, (rows, columns), generator=draw)


QUICK = Case(32, 1, 2, 50, sentences=2, length=8, prompts=(1, 2), prompt_length=4, new_tokens=4, rounds=1)


class GPT2(nn.Module):
    """Hugging Face's GPT2LMHeadModel with random weights, behind the same call."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel

        config = GPT2Config(
            vocab_size=case.vocab_size,
            n_positions=case.length,
            n_embd=case.d_model,
            n_layer=case.num_layers,
            n_head=case.num_heads,
            resid_pdrop=case.dropout,
            embd_pdrop=case.dropout,
            attn_pdrop=case.dropout,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            attn_implementation="sdpa",
        )
        self.model = GPT2LMHeadModel(config)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (batch, seq) -> logits (batch, seq, vocab)."""
        return self.model(input_ids=ids, use_cache=False).logits

    def write(self, prompt: Tensor, new: int) -> Tensor:
        """The prompt (batch, seq) and `new` more ids."""
        kept = torch.ones_like(prompt)
        with torch.no_grad():
            return self.model.generate(
                prompt, attention_mask=kept, max_new_tokens=new, min_new_tokens=new, do_sample=False
            )


class Ours(nn.Module):
    """The book's GPT behind the same call; `measure` looks that its random weights end no text early."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        names = ("d_model", "num_layers", "num_heads", "vocab_size", "dropout")
        sizes = {name: getattr(case, name) for name in names}
        self.model = GPT(GPTConfig(d_ff=4 * case.d_model, max_len=case.length, pad_id=PAD, **sizes))

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (batch, seq) -> logits (batch, seq, vocab)."""
        return self.model(ids)

    def write(self, prompt: Tensor, new: int) -> Tensor:
        """The prompt (batch, seq) and `new` more ids."""
        ids = greedy_search(self.model, prompt[:, :-1], BOS, EOS, new + 1)
        return torch.cat([prompt, ids[:, 1:]], dim=1)


def build(name: str, case: Case) -> Any:
    """A contender with weights from seed 0."""
    torch.manual_seed(0)
    if name == "GPT-2":
        return GPT2(case)
    model = Ours(case)
    return fast.switch_on(model) if name == "ours" else model


def training_step(model: nn.Module, case: Case) -> Callable[[], None]:
    """One step on a batch of random words, ready to be called."""
    ids = case.ids(case.sentences, case.length + 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()

    return step


def measure(case: Case) -> dict[str, Any]:
    """Median seconds of each contender at each task, and how many times as fast ours is."""
    models = {name: build(name, case).train() for name in NAMES}
    training = alternate({name: training_step(model, case) for name, model in models.items()}, case.rounds, warm_up=2)
    measured = {"training": training}
    for count in case.prompts:
        prompt = case.ids(count, case.prompt_length)
        for model in models.values():
            model.eval()
            assert model.write(prompt, case.new_tokens).shape == (count, case.prompt_length + case.new_tokens)
        writers = {name: partial(model.write, prompt, case.new_tokens) for name, model in models.items()}
        measured[f"writing, prompts at once: {count}"] = alternate(writers, case.rounds)
    return {
        "parameters": {name: trainable(model) for name, model in models.items()},
        **{kind: {"seconds": seconds, "times_as_fast": ratios(seconds)} for kind, seconds in measured.items()},
    }


def main() -> None:
    """Measure, show, save."""
    options = arguments(__doc__).parse_args()
    torch.set_num_threads(options.threads)
    case = QUICK if options.quick else Case()
    results = measure(case)
    for kind, found in results.items():
        if kind == "parameters":
            continue
        rows = [[name, 1000 * taken, found["times_as_fast"].get(name, 1.0)] for name, taken in found["seconds"].items()]
        table(f"GPT, {kind}, d={case.d_model}/{case.num_layers}", ["", "ms", "ours is x times as fast"], rows)
    save("gpt_training", {"dtype": "float32", "case": asdict(case), **results}, options)


if __name__ == "__main__":
    main()
