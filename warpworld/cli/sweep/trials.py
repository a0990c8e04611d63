"""Trials of a study: each trains a run, reports how far it is, and ends with its objective's value."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpworld.cli.sweep.study import HEARTBEAT_SECONDS, distributions
from warpworld.cli.sweep.sweep_file import SweepFile
from warpworld.cli.sweep.worker_processes import Training, Workers
from warpworld.config import dump_value, load_config
from warpworld.errors import ConfigError, SweepError, suggest
from warpworld.runs import FEWEST_EPISODES, episodes_of, mean_of_last_tenth, of_episodes, points_of, read_metrics

if TYPE_CHECKING:
    import optuna

    from warpworld.config import TrainerConfig
    from warpworld.runs import RunFolder

FIRST, RUN, WHY = "first", "run", "why"  # a trial's attributes: number of its first start, run folder, why it failed


@dataclass
class _Running:
    """A trial that trains.

    Attributes:
        trial: of the study.
        training: its process.
        reported: hundredths of the budget that were reported.
        pruned: whether it was asked to end.
    """

    trial: optuna.Trial
    training: Training
    reported: int = 0
    pruned: bool = False


class Trials:
    """Trains the trials that a study still lacks; other processes may do the same.

    Args:
        file: of the sweep.
        study: as ``open_study`` returns it.
        workers: which train.
    """

    def __init__(self, file: SweepFile, study: optuna.Study, workers: Workers) -> None:
        self._file, self._study, self._workers = file, study, workers
        self._spaces = distributions(file)
        self._running: list[_Running] = []
        self._beaten = -float("inf")

    def run(self, stop: Callable[[], bool]) -> Iterator[optuna.trial.FrozenTrial]:
        """Run trials until the study has as many as the sweep asks for, or ``stop`` returns True.

        Trials that are cut off return to the study; the next process to take one continues its run.

        Yields:
            Each trial of this process that has ended.

        Raises:
            SweepError: no run writes the objective.
        """
        try:
            while not stop() and (self._running or self._missing() or self._others()):
                self._beat()
                while not self._workers.are_busy and self._missing():
                    refused = self._start()
                    if refused is not None:
                        yield refused
                for entry in self._running:
                    self._follow(entry)
                for training in self._workers.ended():
                    yield self._finish(next(entry for entry in self._running if entry.training is training))
        finally:
            self._workers.stop()
            for entry in self._running:
                self._give_back(entry.trial)

    def _missing(self) -> bool:
        """Whether the study needs another trial now."""
        found = self._study.get_trials(deepcopy=False)
        done = sum(trial.state.name in ("COMPLETE", "PRUNED", "RUNNING") or WHY in trial.user_attrs for trial in found)
        return done < self._file.sweep.trials

    def _others(self) -> bool:
        """Whether other processes have trials, which return to the study if these processes were killed."""
        return any(trial.state.name == "RUNNING" for trial in self._study.get_trials(deepcopy=False))

    def _beat(self) -> None:
        """Show other processes that this one is alive, and take back the trials of those that are not."""
        from optuna.storages import fail_stale_trials

        if time.monotonic() - self._beaten < HEARTBEAT_SECONDS:
            return
        self._beaten = time.monotonic()
        for entry in self._running:
            _record_heartbeat(self._study, entry.trial)
        fail_stale_trials(self._study)

    def _start(self) -> optuna.trial.FrozenTrial | None:
        """Start a trial; returns it if the config refuses its values, which do not go together."""
        trial = self._study.ask(self._spaces)
        _record_heartbeat(self._study, trial)
        if FIRST not in trial.user_attrs:
            trial.set_user_attr(FIRST, trial.number)
        words = self._file.words(values_of(trial.params, self._spaces), trial.user_attrs[FIRST])
        try:
            config = load_config(words[0], words[1:])
        except ConfigError as error:
            return self._fail(trial, str(error))
        self._running.append(_Running(trial, self._workers.start(config, words)))
        return None

    def _follow(self, entry: _Running) -> None:
        """Report the objective so far, and end the training if the pruner says so."""
        run = entry.training.run
        if run is None or entry.pruned or not run.metrics_path.exists():
            return
        # the objective so far
        rows, objective = read_metrics(run.metrics_path).rows, self._file.objective
        value = mean_of_last_tenth(rows, objective)
        if value is None or (of_episodes(objective) and episodes_of(rows, objective) < FEWEST_EPISODES):
            return
        # a report for each percent of the training
        reached = points_of(rows, objective)[-1][0]
        share = int(100 * _fraction(run, entry.training.config.trainer, reached))
        if share <= entry.reported:
            return
        entry.reported = share
        entry.trial.report(value, share)
        # the pruner's answer
        if entry.trial.should_prune():
            entry.pruned = True
            entry.training.stop()

    def _finish(self, entry: _Running) -> optuna.trial.FrozenTrial:
        """Tell the study how a trial has ended."""
        from optuna.trial import TrialState

        trial, training, run = entry.trial, entry.training, entry.training.run
        self._running.remove(entry)
        if run is not None:
            trial.set_user_attr(RUN, str(run.path))
        # a trial that was pruned
        if entry.pruned:
            training.close()
            return self._study.tell(trial, state=TrialState.PRUNED)
        # a training that failed
        failed = training.last_words if training.status else ""
        training.close()
        if failed or run is None:
            return self._fail(trial, failed)
        # the objective at the end
        rows = read_metrics(run.metrics_path).rows
        self._check_objective(trial, dict.fromkeys(name for row in rows for name in row))
        value = mean_of_last_tenth(rows, self._file.objective)
        if value is None:
            return self._fail(trial, f"{self._file.objective} was never a number")
        return self._study.tell(trial, value)

    def _check_objective(self, trial: optuna.Trial, names: Mapping[str, None]) -> None:
        """Raise SweepError where a run that has ended wrote other metrics."""
        objective = self._file.objective
        if names and objective not in names:
            self._fail(trial, "no such metric")
            known = ", ".join(name for name in names if "/" in name)
            raise SweepError(f"no run writes the objective '{objective}'.{suggest(objective, names)} Known: {known}")

    def _fail(self, trial: optuna.Trial, why: str) -> optuna.trial.FrozenTrial:
        from optuna.trial import TrialState

        trial.set_user_attr(WHY, why)
        return self._study.tell(trial, state=TrialState.FAIL)

    def _give_back(self, trial: optuna.Trial) -> None:
        """Let the next process take a trial that this one cut off."""
        from optuna.trial import TrialState

        self._study.tell(trial, state=TrialState.FAIL)
        self._study.enqueue_trial(trial.params, user_attrs={FIRST: trial.user_attrs[FIRST]})


def _fraction(run: RunFolder, trainer: TrainerConfig, env_steps: float) -> float:
    """Part of a run that is done: of its env steps or of its seconds, where these may end it first."""
    limit = trainer.stop_seconds
    timed = read_metrics(run.timing_path).rows if limit is not None and run.timing_path.exists() else []
    of_time = timed[-1].get("time", 0.0) / limit if timed and limit is not None else 0.0
    return float(min(1.0, max(env_steps / trainer.total_env_steps, of_time)))


def values_of(params: dict[str, Any], spaces: dict[str, Any]) -> dict[str, str]:
    """A trial's values as YAML, by key."""
    texts = {key for key, space in spaces.items() if hasattr(space, "choices")}
    return {key: value if key in texts else dump_value(value) for key, value in params.items()}


def _record_heartbeat(study: optuna.Study, trial: optuna.Trial) -> None:
    study._storage.record_heartbeat(trial._trial_id)  # type: ignore[attr-defined]
