"""`transformer-edu train`: from text to a model, alone or under torchrun."""

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import fields
from typing import Any, get_args

import torch

from transformer_edu.fast.memory import keep_freed_memory
from transformer_edu.runs.distributed import Processes, process_group
from transformer_edu.runs.start import alone_in, remembered
from transformer_edu.runs.steps import chosen_precision
from transformer_edu.runs.trainer import Progress, Trainer
from transformer_edu.support.provenance import provenance
from transformer_edu.translate.commands.output import say
from transformer_edu.translate.commands.streams import lasting_streams
from transformer_edu.translate.export import export
from transformer_edu.translate.settings import TrainingSettings
from transformer_edu.translate.task import Task, prepare_task

LOST = ("connection closed", "connection reset", "timed out", "timeout", "gloo", "nccl", "broken pipe")


def add_parser(commands: Any) -> None:
    """Add the command, with one option for each field of `TrainingSettings`."""
    parser = commands.add_parser(
        "train",
        help="train a model on Multi30k or on any parallel text",
        description="Train a model. Several processes: torchrun --nproc-per-node=2 -m transformer_edu train ...",
    )
    for setting in fields(TrainingSettings):
        parser.add_argument(f"--{setting.name.replace('_', '-')}", **_argument(setting))
    parser.add_argument(
        "--resume", action="store_true", help="go on from the newest checkpoint in --out; the run knows its settings"
    )
    parser.add_argument("--half", action="store_true", help="write the finished weights in float16")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.set_defaults(run=run)


def _argument(setting: Any) -> dict[str, Any]:
    """Left out of the options where nobody typed it: a run that goes on knows it better than the default does."""
    said = f" (default: {setting.default})" if setting.default not in (None, (), False) else ""
    given: dict[str, Any] = {"help": setting.metadata["help"] + said, "default": argparse.SUPPRESS}
    if setting.type is bool:
        return {**given, "action": "store_true"}
    if setting.name in ("train", "valid"):
        return {**given, "nargs": "+", "metavar": "FILE"}
    if choices := setting.metadata.get("choices"):
        return {**given, "metavar": "{" + ",".join(choices) + "}"}
    kind = next((kind for kind in get_args(setting.type) if kind is not type(None)), setting.type)
    return {**given, "type": kind, "metavar": {int: "N", float: "X", str: "FOLDER"}[kind]}


def _settings(options: argparse.Namespace) -> TrainingSettings:
    """What was typed; of a run that goes on, what it was begun with; and the defaults."""
    names = [setting.name for setting in fields(TrainingSettings)]
    typed = {name: getattr(options, name) for name in names if hasattr(options, name)}
    known = remembered(typed.get("out", TrainingSettings.out)) if options.resume else {}
    texts = {name: tuple(value) for name, value in {**known, **typed}.items() if name in ("train", "valid")}
    return TrainingSettings(**{**known, **typed, **texts})


def run(options: argparse.Namespace) -> None:
    """Prepare, train, finish."""
    settings = _settings(options)
    keep_freed_memory()
    if settings.threads:
        _check_threads(settings.threads)
        torch.set_num_threads(settings.threads)
    origin = provenance("transformer-edu " + shlex.join(sys.argv[1:]))
    with lasting_streams(), process_group() as processes, _explained(settings, processes), _folder(settings, processes):
        if processes.is_main and not options.quiet:
            say("reading the text, and learning its subwords unless the run has them")
        task = prepare_task(settings, processes, options.resume)
        with _bar(settings, processes, options.quiet) as bar:
            trainer = Trainer(settings, task, processes, bar, origin)
            resumed = options.resume and trainer.resume()
            _announce(trainer, task, processes, resumed)
            trainer.run()
        card = export(trainer, options.half)
        if processes.is_main:
            chosen = card["weights"]["chosen"]
            print(f"chosen: {chosen}; on the validation text: {_listed(card['weights']['tried'][chosen])}")
            print(f"searching with {_listed(card['search'])}")
            text = " --text SOURCE TARGET" if settings.train else ""
            print(f"written to {settings.out}; next: transformer-edu evaluate --model {settings.out}{text}")


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in values.items())


def _check_threads(threads: int) -> None:
    if threads > (processors := os.cpu_count() or 1):
        raise ValueError(f"threads must be at most {processors}, the processors of this machine, got {threads}")


def _folder(settings: TrainingSettings, processes: Processes) -> AbstractContextManager[None]:
    """The folder is held by the first process for all of them."""
    return alone_in(settings.out) if processes.is_main else nullcontext()


def _announce(trainer: Trainer, task: Task, processes: Processes, resumed: bool) -> None:
    if not processes.is_main:
        return
    parameters = sum(weight.numel() for weight in trainer.model.parameters())
    precision = chosen_precision(trainer.settings, processes.device)
    print(
        f"{len(task.train):,} pairs ({task.too_long} longer than {trainer.settings.max_length} tokens left out), "
        f"vocabulary of {len(task.tokenizer):,}, {parameters:,} parameters, {precision}, "
        f"{processes.world_size} process(es) on {processes.device.type}"
        + (f", going on after step {trainer.progress.step:,}" if resumed else ""),
        flush=True,
    )


@contextmanager
def _bar(settings: TrainingSettings, processes: Processes, quiet: bool) -> Iterator[Any]:
    """A progress bar: steps, time left, loss per token, target tokens per second, the last validation."""
    from tqdm import tqdm

    with tqdm(total=settings.steps, disable=quiet or not processes.is_main, unit="step", mininterval=1.0) as bar:
        smooth = {"loss": 0.0}

        def show(progress: Progress, loss: float, rate: float) -> None:
            smooth["loss"] = loss if not smooth["loss"] else 0.98 * smooth["loss"] + 0.02 * loss
            bleu = f", BLEU {progress.evaluations[-1]['validation_bleu']:.1f}" if progress.evaluations else ""
            speed = progress.tokens / max(progress.seconds, 1e-9)
            bar.set_postfix_str(f"loss {smooth['loss']:.3f}, {speed:,.0f} tokens/s{bleu}", refresh=False)
            bar.update(progress.step - bar.n)

        yield show


@contextmanager
def _explained(settings: TrainingSettings, processes: Processes) -> Iterator[None]:
    """Say what to do when memory runs out, or when another process is gone."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(
            f"stopped; the checkpoints in {settings.out} are whole: go on with --resume --out {settings.out}"
        ) from stop
    except (MemoryError, RuntimeError) as error:
        text = str(error).lower()
        if processes.world_size > 1 and any(sign in text for sign in LOST):
            raise ConnectionError(
                f"process {processes.rank} lost the others ({str(error).splitlines()[0][:200]}): one of them has "
                "stopped, and its own last lines say why; the checkpoints are whole, go on with --resume"
            ) from error
        if "out of memory" not in text and "can't allocate memory" not in text and not isinstance(error, MemoryError):
            raise
        raise MemoryError(
            f"out of memory with batches of --max-tokens {settings.max_tokens} in --accumulate {settings.accumulate} "
            "part(s): more parts need less memory and give the same result; the checkpoints written so far are whole"
        ) from error
