"""Trainings of a table: a run for each task and seed, found again by the next command."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path

from warpworld.cli.reproduce.judging import Matrix, crossed, judged
from warpworld.cli.reproduce.results import Results, SeedResult, TaskResult
from warpworld.cli.reproduce.table_file import TableFile
from warpworld.cli.sweep import Workers, found_run, seeded_configs, train_seeds
from warpworld.config import RunConfig, dump_value
from warpworld.runs import RunFolder, summarise

Orders = Sequence[tuple[RunConfig, list[str]]]  # each a configuration, and the words for `warpworld train`


class Trainings:
    """All runs of a table.

    Args:
        file: of the table.
        folder: in which run folders lie.
        quick: see ``Results``.
        overrides: likewise.

    Raises:
        ConfigError: a configuration is wrong.
    """

    def __init__(self, file: TableFile, folder: Path, quick: bool, overrides: Sequence[str]) -> None:
        self._how = file.table.judged
        self._about = Results(
            table=file.name, quick=quick, greedy=self._how.greedy, overrides=tuple(overrides), tasks={}
        )
        planned = list(file.planned(quick, overrides))
        self._orders: dict[str, Orders] = {}
        self._words = {task.name: task.words for task in planned}
        for task in planned:
            source, *words = task.words
            words += [f"trainer.seed={task.seed}", f"saving.name={task.name}"]
            words.append(f"saving.directory={dump_value(str(folder))}")
            self._orders[task.name] = list(seeded_configs(source, words, task.seeds))
        self._found: dict[str, dict[int, SeedResult]] = {name: {} for name in self._orders}
        self._runs: dict[str, dict[int, RunFolder]] = {name: {} for name in self._orders}
        self._crossed: dict[str, Matrix] = {}
        self._folder = folder

    def judge_finished(self) -> None:
        """Judge the runs that earlier commands have finished."""
        for name, orders in self._orders.items():
            for config, _ in orders:
                run = found_run(config)
                if run is not None and summarise(run).state == "finished":
                    self._judge(name, config, run)

    def left(self, tasks: Container[str]) -> Orders:
        """Runs of some tasks that are left to train, the first seed of every task before the second."""
        numbered = [
            (number, order)
            for name, orders in self._orders.items()
            for number, order in enumerate(orders)
            if name in tasks and order[0].trainer.seed not in self._found[name]
        ]
        return [order for _, order in sorted(numbered, key=lambda entry: entry[0])]

    def run(self, orders: Orders, workers: Workers, stop: Callable[[], bool]) -> Iterator[tuple[str, SeedResult]]:
        """Train runs, and judge each at its end.

        Args:
            orders: of ``left``.
            workers: which train.
            stop: asked for as long as they do; True lets them end with a checkpoint.

        Yields:
            The task of each run that has ended, and its result.

        Raises:
            RunError: a training has failed; the others were stopped.
        """
        for training in train_seeds(orders, workers, stop):
            run, config = training.run, training.config
            if run is not None and summarise(run).state == "finished":
                name = str(config.saving.name).removesuffix(f"-seed-{config.trainer.seed}")
                yield name, self._judge(name, config, run)

    def cross_play(self) -> None:
        """Let the seeds of each task play with each other, where there are several."""
        for name, runs in self._runs.items():
            if len(runs) > 1:
                folders = [runs[seed] for seed in sorted(runs)]
                self._crossed[name] = crossed(folders, self._how, self._folder / f"cross-play-{name}.json")

    def results(self) -> Results:
        """The results so far; tasks without one are left out."""
        tasks = {
            name: TaskResult(
                words=self._words[name],
                seeds=tuple(seeds[seed] for seed in sorted(seeds)),
                cross_play=self._crossed.get(name),
            )
            for name, seeds in self._found.items()
            if seeds
        }
        return self._about.model_copy(update={"tasks": tasks})

    def _judge(self, name: str, config: RunConfig, run: RunFolder) -> SeedResult:
        result = judged(run, self._how)
        self._found[name][config.trainer.seed], self._runs[name][config.trainer.seed] = result, run
        return result
