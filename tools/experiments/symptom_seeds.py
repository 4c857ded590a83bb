"""The bugs of `symptoms` once more, from another seed: what follows from a bug, and what from the draw (chapter 17)."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.processes import in_processes
from transformer_edu.book.experiments import experiment, symptoms
from transformer_edu.book.experiments.bugs import BUGS, HEALTHY, Bug
from transformer_edu.book.experiments.healthy_translator import STEPS
from transformer_edu.support.threads import one_thread

HEALTHY_SEEDS, SEEDS = (1, 2), (1,)  # seed 0 stands in `symptoms`
SOME = (*BUGS[:16], BUGS[-1])  # all 25 would take half as long again


@experiment("symptom-seeds")
def record_symptom_seeds(
    bugs: Sequence[Bug] = SOME,
    healthy_seeds: Sequence[int] = HEALTHY_SEEDS,
    seeds: Sequence[int] = SEEDS,
    steps: int = STEPS,
    sentences: int = symptoms.SENTENCES,
    processes: int = 2,
) -> dict[str, Any]:
    """The healthy translator and each bug, from other seeds than `symptoms`. Four minutes on two cores.

    Returns:
        Under "healthy" and "bugs" one dict each run: the bug's "name", the "seed", and "values" in the order of
        `symptoms.ALL`. The results do not depend on `processes`.
    """
    jobs = [(HEALTHY, seed) for seed in healthy_seeds] + [(bug, seed) for bug in bugs for seed in seeds]
    runs = in_processes(partial(_run, steps=steps, sentences=sentences), jobs, processes)
    return {"healthy": runs[: len(healthy_seeds)], "bugs": runs[len(healthy_seeds) :]}


def _run(bug: Bug, seed: int, steps: int, sentences: int) -> dict[str, Any]:
    with one_thread():
        patient = symptoms.train_patient(bug, steps, sentences, seed)
        return {"name": bug.name, "seed": seed, "values": symptoms.values_of(patient)}
