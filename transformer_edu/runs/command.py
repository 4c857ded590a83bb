"""A training run from the command line, alone or under torchrun: what `train` and `train-lm` share."""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import fields
from typing import Any, TypeVar, get_args

import torch

from transformer_edu.fast.process import keep_freed_memory, quick_products
from transformer_edu.runs.distributed import Processes, process_group
from transformer_edu.runs.settings import RunSettings
from transformer_edu.runs.start import alone_in, remembered
from transformer_edu.runs.steps import chosen_precision
from transformer_edu.runs.task import Task
from transformer_edu.runs.trainer import Progress, Trainer
from transformer_edu.support.output import say
from transformer_edu.support.provenance import provenance
from transformer_edu.support.streams import lasting_streams

LOST = ("connection closed", "connection reset", "timed out", "timeout", "gloo", "nccl", "broken pipe")
FILES = ("train", "valid")
Settings = TypeVar("Settings", bound=RunSettings)
AnyTask = TypeVar("AnyTask", bound=Task)


def add_training(commands: Any, name: str, summary: str, kind: type[RunSettings]) -> argparse.ArgumentParser:
    """Add a command that trains, with one option for each field of its settings."""
    again = f"Several processes: torchrun --nproc-per-node=2 -m transformer_edu {name} ..."
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=f"{summary}. {again}")
    for field in fields(kind):
        parser.add_argument(f"--{field.name.replace('_', '-')}", **_argument(field))
    parser.add_argument(
        "--resume", action="store_true", help="go on from the newest checkpoint in --out; the run knows its settings"
    )
    parser.add_argument("--half", action="store_true", help="write the finished weights in float16")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def _argument(field: Any) -> dict[str, Any]:
    """Left out of the options where nobody typed it: a run that goes on knows it better than the default does."""
    said = f" (default: {field.default})" if field.default not in (None, (), False) else ""
    given: dict[str, Any] = {"help": field.metadata["help"] + said, "default": argparse.SUPPRESS}
    if field.type is bool:
        return {**given, "action": "store_true"}
    if field.name in FILES:
        return {**given, "nargs": "+", "metavar": "FILE"}
    if choices := field.metadata.get("choices"):
        return {**given, "metavar": "{" + ",".join(choices) + "}"}
    kind = next((kind for kind in get_args(field.type) if kind is not type(None)), field.type)
    return {**given, "type": kind, "metavar": {int: "N", float: "X", str: "FOLDER"}[kind]}


def settings_of(options: argparse.Namespace, kind: type[Settings]) -> Settings:
    """What was typed; of a run that goes on, what it was begun with; and the defaults."""
    typed = {field.name: getattr(options, field.name) for field in fields(kind) if hasattr(options, field.name)}
    known = remembered(typed.get("out", kind.out), kind) if options.resume else {}
    texts = {name: tuple(value) for name, value in {**known, **typed}.items() if name in FILES}
    return kind(**{**known, **typed, **texts})


@quick_products()
def run_training(
    options: argparse.Namespace,
    settings: Settings,
    prepare_task: Callable[[Settings, Processes, bool], AnyTask],
    announce: Callable[[AnyTask], str],
    export: Callable[[Trainer, AnyTask, bool], Mapping[str, Any]],
) -> dict[str, Any]:
    """Prepare, train, finish.

    Args:
        options: `resume`, `half` and `quiet` of the command line.
        settings: of the run.
        prepare_task: makes the task of settings and processes, in each process.
        announce: the data in a few words.
        export: writes the finished model, with half the bytes or all, and returns its card.

    Returns:
        The card; nothing in processes that write no files.
    """
    keep_freed_memory()
    if settings.threads:
        _check_threads(settings.threads)
        torch.set_num_threads(settings.threads)
    origin = provenance("transformer-edu " + shlex.join(sys.argv[1:]))
    with lasting_streams(), process_group() as processes, _explained(settings, processes), _folder(settings, processes):
        if processes.is_main and not options.quiet:
            say("reading the text, and learning its subwords unless the run has them")
        task = prepare_task(settings, processes, options.resume)
        with _bar(task, processes, options.quiet) as bar:
            trainer = Trainer(settings, task, processes, bar, origin)
            resumed = options.resume and trainer.resume()
            if processes.is_main:
                print(_begins(trainer, announce(task), resumed), flush=True)
            trainer.run()
        card = dict(export(trainer, task, options.half))
        if processes.is_main:
            chosen = card["weights"]["chosen"]
            print(f"chosen: {chosen}; on the validation text: {listed(card['weights']['tried'][chosen])}")
    return card


def listed(values: Mapping[str, Any]) -> str:
    """{"beam_size": 5} as "beam size 5"."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in values.items())


def _check_threads(threads: int) -> None:
    if threads > (processors := os.cpu_count() or 1):
        raise ValueError(f"threads must be at most {processors}, the processors of this machine, got {threads}")


def _folder(settings: RunSettings, processes: Processes) -> AbstractContextManager[None]:
    """The folder is held by the first process for all of them."""
    return alone_in(settings.out) if processes.is_main else nullcontext()


def _begins(trainer: Trainer, data: str, resumed: bool) -> str:
    parameters = sum(weight.numel() for weight in trainer.model.parameters())
    processes = trainer.processes
    return (
        f"{data}, vocabulary of {len(trainer.task.tokenizer):,}, {parameters:,} parameters, "
        f"{chosen_precision(trainer.settings, processes.device)}, "
        f"{processes.world_size} process(es) on {processes.device.type}"
        + (f", going on after step {trainer.progress.step:,}" if resumed else "")
    )


@contextmanager
def _bar(task: Task, processes: Processes, quiet: bool) -> Iterator[Any]:
    """A progress bar: steps, time left, loss per token, tokens per second, the last score."""
    from tqdm import tqdm

    name = task.score.removeprefix("validation_").replace("_", " ").replace("bleu", "BLEU")
    hidden = quiet or not processes.is_main
    with tqdm(total=task.settings.steps, disable=hidden, unit="step", mininterval=1.0) as bar:
        smooth = {"loss": 0.0}

        def show(progress: Progress, loss: float, rate: float) -> None:
            smooth["loss"] = loss if not smooth["loss"] else 0.98 * smooth["loss"] + 0.02 * loss
            score = f", {name} {progress.evaluations[-1][task.score]:.4g}" if progress.evaluations else ""
            speed = progress.tokens / max(progress.seconds, 1e-9)
            bar.set_postfix_str(f"loss {smooth['loss']:.3f}, {speed:,.0f} tokens/s{score}", refresh=False)
            bar.update(progress.step - bar.n)

        yield show


@contextmanager
def _explained(settings: RunSettings, processes: Processes) -> Iterator[None]:
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
            f"out of memory with batches in --accumulate {settings.accumulate} part(s): more parts need less memory "
            "and give the same result; the checkpoints written so far are whole"
        ) from error
