"""Make the recordings: results that are too dear to compute on every build of the book.

python tools/make_recordings.py                              # all of them, over twenty minutes on one thread
python tools/make_recordings.py --only running-sentence      # one of them

Each is one file, transformer_edu/recordings/NAME.json: {name, command, commit, machine, date, data}.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_edu import (
    RUNNING_SENTENCE,
    RUNNING_TRANSLATION,
    Transformer,
    greedy_search,
    pretrained,
    record_attention,
)
from transformer_edu.commands.evaluate import evaluate
from transformer_edu.data import (
    BOS_ID,
    EOS_ID,
    Vocabulary,
    align,
    encode_pairs,
    held_out_pairs,
    translate,
    vocabularies,
)
from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.experiments.ablation import record_ablations
from transformer_edu.experiments.depth import record_depth
from transformer_edu.experiments.embedding_scale import record_embedding_scale
from transformer_edu.experiments.long_range import record_long_range
from transformer_edu.experiments.multi30k_ablation import record_real_ablations
from transformer_edu.experiments.multi30k_facts import record_real_text
from transformer_edu.experiments.replay import record_replay
from transformer_edu.experiments.search_settings import record_search_settings
from transformer_edu.experiments.step_time import record_step_times
from transformer_edu.support.files import check_writable, write_atomically
from transformer_edu.support.provenance import provenance
from transformer_edu.support.threads import one_thread
from transformer_edu.training import Step, exact_match
from transformer_edu.training.grammar_model import (
    held_out_score,
    loss_curve,
    new_grammar_model,
    train_grammar_model,
)
from transformer_edu.translator.translator import load_translator
from transformer_edu.widgets.architecture_map_data import record_trace
from transformer_edu.widgets.cache_stepper_data import record_keys
from transformer_edu.widgets.context_explorer_data import record_vectors
from transformer_edu.widgets.decoder_stepper_data import record_branches

FOLDER = Path(__file__).resolve().parents[1] / "transformer_edu" / "recordings"
SEEDS = (0, 1, 2)
SNAPSHOTS = (50, 100, 150, 200, 300, 400, 600, 1000)  # steps; before the first one there is one more, step 0
SNAPSHOT_SENTENCES = 300  # held-out sentences for the exact match of a snapshot


def attention_maps(model: Transformer, source: Tensor, target: Tensor) -> tuple[dict[str, Any], Tensor]:
    """The weights of every attention, {name: [head][query][key]} at 4 decimals, and the logits (seq, vocab)."""
    with torch.no_grad(), record_attention(model) as maps:
        logits = model(source, target)[0]
    return {name: rounded(weights[0]) for name, weights in maps.items()}, logits


def rounded(tensor: Tensor) -> Any:
    """A tensor as nested lists of numbers with 4 decimals."""
    if tensor.dim():
        return [rounded(row) for row in tensor]
    return round(tensor.item(), 4)


def best_words(logits: Tensor, vocabulary: Vocabulary, count: int = 5) -> list[list[Any]]:
    """The most probable next words with their probabilities, best first; logits (vocab)."""
    probabilities, ids = logits.softmax(dim=-1).topk(count)
    return [[vocabulary.word(int(i)), round(float(p), 4)] for p, i in zip(probabilities, ids, strict=True)]


def running_sentence() -> dict[str, Any]:
    """The shipped model on the running sentence: all attention, and the best five words of each step.

    Row j of a map over the target belongs to the decoder's input word j, and is used to say the word after it.
    """
    shipped = pretrained.load("grammar")
    model, english, french = shipped.model, shipped.source_vocabulary, shipped.target_vocabulary
    source = torch.tensor([english.encode(RUNNING_SENTENCE)])  # (1, src_len)
    ids = greedy_search(model, source, BOS_ID, EOS_ID, model.config.max_len)  # <bos> ... <eos>
    attention, logits = attention_maps(model, source, ids[:, :-1])
    said = [french.word(int(i)) for i in ids[0, 1:]]
    best = [best_words(row, french) for row in logits]
    return {
        "source_tokens": RUNNING_SENTENCE.split(),
        "decoder_input_tokens": [french.word(int(i)) for i in ids[0, :-1]],
        "predicted_tokens": said,
        "translation": french.decode(ids[0].tolist()),
        "alignment": [list(pair) for pair in align(RUNNING_SENTENCE)],
        "steps": [{"chosen": word, "best": words} for word, words in zip(said, best, strict=True)],
        "attention": attention,
    }


def architecture_map() -> dict[str, Any]:
    """The shipped model on the running sentence, its right translation as the decoder's input: every block's output."""
    return record_trace(pretrained.load("grammar"), RUNNING_SENTENCE, RUNNING_TRANSLATION)


def snapshot(model: Transformer, step: int, loss: float | None) -> dict[str, Any]:
    """Where a model stands: loss of its last step, exact match, its answer, its cross-attention."""
    was_training = model.training
    model.eval()
    english, french = vocabularies()
    source = torch.tensor([english.encode(RUNNING_SENTENCE)])
    target = torch.tensor([french.encode(translate(RUNNING_SENTENCE), add_bos=True)])
    attention, _ = attention_maps(model, source, target)
    pairs = encode_pairs(held_out_pairs(SNAPSHOT_SENTENCES), english, french)
    answer = greedy_search(model, source, BOS_ID, EOS_ID, 16)[0].tolist()
    model.train(was_training)
    return {
        "step": step,
        "loss": None if loss is None else round(loss, 4),
        "exact_match": round(exact_match(model, pairs), 4),
        "translation": french.decode(answer),
        "cross_attention": {name: maps for name, maps in attention.items() if name.endswith("cross")},
    }


def training_snapshots() -> dict[str, Any]:
    """Cross-attention on the running sentence, with the right translation as the decoder's input, as it forms."""
    seed = SEEDS[0]
    snapshots = [snapshot(new_grammar_model(seed), 0, None)]

    def look(step: Step, model: Transformer) -> None:
        if step.step in SNAPSHOTS:
            snapshots.append(snapshot(model, step.step, step.loss))

    _, history = train_grammar_model(seed, on_step=look)
    return {
        "seed": seed,
        "source_tokens": RUNNING_SENTENCE.split(),
        "decoder_input_tokens": ["<bos>", *translate(RUNNING_SENTENCE).split()],
        "predicted_tokens": [*translate(RUNNING_SENTENCE).split(), "<eos>"],
        "held_out_sentences": SNAPSHOT_SENTENCES,
        "loss_curve": loss_curve(history),
        "snapshots": snapshots,
    }


def grammar_seeds() -> dict[str, Any]:
    """The recipe of chapter 13 from three seeds: what each scores on the held-out sentences."""
    runs: list[dict[str, Any]] = []
    for seed in SEEDS:
        model, history = train_grammar_model(seed)
        runs.append({
            "seed": seed,
            "held_out": held_out_score(model),
            "steps": len(history.steps),
            "target_tokens": history.tokens,
            "seconds": round(history.seconds, 1),
            "loss_curve": loss_curve(history),
        })  # fmt: skip
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return {
        "parameters": parameters,
        "lowest_exact_match": min(run["held_out"]["exact_match"] for run in runs),
        "runs": runs,
    }


def decoder_branches() -> dict[str, Any]:
    """The running sentence as the model may write it: each of its likeliest words tried at each step, and *la*."""
    return record_branches(pretrained.load("grammar"), RUNNING_SENTENCE, also=("la",))


CONTEXTS = (  # the running sentence, then: gender, nothing of the kind, number, one place to the left, in the object
    RUNNING_SENTENCE,
    "the small black cow does not sleep",
    "the small black dog does not sleep",
    "the small black cats do not sleep",
    "the black cat does not sleep",
    "the cow watches the small black cat",
)


def context_vectors() -> dict[str, Any]:
    """Words of the running sentence in other sentences: their vectors before, between and after the layers."""
    return record_vectors(pretrained.load("grammar"), CONTEXTS)


def cached_keys() -> dict[str, Any]:
    """The decoder's keys at every step of writing the running sentence, with the causal mask and without it."""
    return record_keys(pretrained.load("grammar"), RUNNING_SENTENCE)


def ablations() -> dict[str, Any]:
    """Each part of the model and of the recipe taken out alone, from three seeds. About a quarter of an hour."""
    return record_ablations(SEEDS)


def half_hour(folder: Path = Path("half-hour")) -> dict[str, Any]:
    """The translator's default recipe for half an hour, scored on test 2016. A finished run in `folder` is used."""
    if not (folder / "card.json").exists():
        command = [sys.executable, "-m", "transformer_edu", "train", "--out", str(folder), "--minutes", "30", "--half"]
        subprocess.run(command, check=True)
    translator = load_translator(folder)
    kept = ("command", "commit", "machine", "date", "training", "weights", "search")
    languages = translator.card["languages"]
    result = evaluate(translator, multi30k_pairs("test_2016_flickr", None, *languages), {})
    return {**{key: translator.card[key] for key in kept}, "scores": result["scores"]}


def long_range() -> dict[str, Any]:
    """Recalling a token across a distance: five architectures of one size from three seeds. About six minutes."""
    return record_long_range(SEEDS)


def step_times() -> dict[str, Any]:
    """How long a training step of those five takes, against the length of the sequence."""
    return record_step_times()


RECORDINGS: dict[str, Callable[[], dict[str, Any]]] = {
    "running-sentence": running_sentence,
    "architecture-map": architecture_map,
    "training-snapshots": training_snapshots,
    "training-replay": record_replay,
    "grammar-seeds": grammar_seeds,
    "decoder-branches": decoder_branches,
    "context-vectors": context_vectors,
    "cached-keys": cached_keys,
    "depth": record_depth,
    "embedding-scale": record_embedding_scale,
    "long-range": long_range,
    "ablations": ablations,
    "half-hour": half_hour,
    "multi30k": record_real_text,
    "real-ablations": record_real_ablations,
    "search-settings": record_search_settings,
    "step-times": step_times,
}


def as_text(recording: dict[str, Any]) -> str:
    """JSON with one line for each entry of `data` and of its longest lists: small, and a difference can be read."""
    lines = []
    for key, value in recording["data"].items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join(f"   {json.dumps(row, ensure_ascii=False, allow_nan=False)}" for row in value)
            lines.append(f'  "{key}": [\n{rows}\n  ]')
        else:
            lines.append(f'  "{key}": {json.dumps(value, ensure_ascii=False, allow_nan=False)}')
    head = [
        f' "{key}": {json.dumps(value, ensure_ascii=False, allow_nan=False)}'
        for key, value in recording.items()
        if key != "data"
    ]
    return "{\n" + ",\n".join([*head, ' "data": {\n' + ",\n".join(lines) + "\n }"]) + "\n}\n"


def make(name: str, folder: Path = FOLDER) -> Path:
    """Run one recording and write it; the path of the file."""
    path = folder / f"{name}.json"
    check_writable(path)  # before the work, which may take hours
    with one_thread():
        facts = provenance(f"python tools/make_recordings.py --only {name}")
        write_atomically(path, as_text({"name": name, **facts, "data": RECORDINGS[name]()}).encode())
    return path


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Make the recordings of the book.")
    parser.add_argument("--only", choices=RECORDINGS, action="append", help="make this one (may be repeated)")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to")
    options = parser.parse_args(arguments)
    for name in options.only or RECORDINGS:
        print(f"wrote {make(name, options.out).name}")


if __name__ == "__main__":
    main()
