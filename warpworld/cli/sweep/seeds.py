"""Runs of one config that differ in their seed alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from warpworld.cli.sweep.worker_processes import Training, Workers
from warpworld.config import RunConfig, load_config
from warpworld.errors import RunError
from warpworld.runs import as_folder_name


def seeded_configs(source: str, overrides: Sequence[str], count: int) -> Iterator[tuple[RunConfig, list[str]]]:
    """The configuration of each seed, and the words for ``warpworld train`` that result in it.

    Args:
        source: as ``load_config``'s.
        overrides: as ``load_config``'s.
        count: seeds, from ``trainer.seed`` on.

    Raises:
        ConfigError: as ``load_config``.
    """
    first = load_config(source, overrides)
    name = first.saving.name or as_folder_name(first.title)
    for seed in range(first.trainer.seed, first.trainer.seed + count):
        words = [*overrides, f"trainer.seed={seed}", f"saving.name={name}-seed-{seed}"]
        if seed == first.trainer.seed:
            first = load_config(source, words)
        trainer = first.trainer.model_copy(update={"seed": seed})
        saving = first.saving.model_copy(update={"name": f"{name}-seed-{seed}"})
        yield first.model_copy(update={"trainer": trainer, "saving": saving}), [source, *words]


def train_seeds(
    orders: Sequence[tuple[RunConfig, list[str]]], workers: Workers, stop: Callable[[], bool]
) -> Iterator[Training]:
    """Train runs side by side: finished ones are passed over, unfinished ones continue.

    Args:
        orders: as ``seeded_configs`` yields them.
        workers: which train.
        stop: asked for as long as they do; True lets them end with a checkpoint.

    Yields:
        Each training that has ended.

    Raises:
        RunError: one has failed; the others were stopped.
    """
    waiting = list(orders)
    try:
        while (waiting or workers.running) and not stop():
            while waiting and not workers.are_busy:
                workers.start(*waiting.pop(0))
            for training in workers.ended():
                yield training
                if training.status:
                    raise RunError(f"{training.config.saving.name}: {training.last_words}")
                training.close()
    finally:
        workers.stop()
