"""The state of a trainer, and the checkpoints that hold it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from warpworld.errors import ConfigError, RunError, StoreError
from warpworld.runs import RESUMABLE, Run, check_counters, check_same_trajectory
from warpworld.trainers.histories import SavedHistories
from warpworld.trainers.processes import Layout, gather_store, lacks_states, restore_store
from warpworld.trainers.state import (
    check_finite_weights,
    check_state,
    check_weights,
    random_state,
    set_random_state,
    set_threads,
)

if TYPE_CHECKING:
    from warpworld.trainers.trainer import Trainer


class Checkpoints:
    """Writes a trainer's checkpoints, and continues from them.

    Args:
        trainer: with its world, policies and algorithms.
    """

    def __init__(self, trainer: Trainer) -> None:
        self._trainer, config = trainer, trainer.config
        newest = config.saving.replay == "newest"
        self._past = SavedHistories(trainer.algorithms, trainer.processes, config.trainer.num_envs, newest)
        self._saved: int | None = None  # iteration of the latest checkpoint

    def create_run(self, directory: str | Path | None = None, path: Path | None = None) -> Run | None:
        """Make the folder of a run that starts here, with its first checkpoint.

        Args:
            directory: where the folder is made; None takes ``config.saving.directory``.
            path: the folder itself, instead.

        Returns:
            The run; None in processes other than the first.

        Raises:
            RunError: the folder cannot be made or written, or a logger's package is missing.
            TrainingError: a weight is not finite; no folder is made.
        """
        trainer = self._trainer
        check_finite_weights(trainer.policies)
        opponents, state = self._opponents(None), {**self.state_dict(), **self._past.at_start()}
        run = Run.create(trainer.config, directory, state, opponents, path) if trainer.processes.is_first else None
        self._saved = trainer.iteration
        return run

    def save(self, run: Run | None) -> None:
        """Save the present iteration, if it is not saved yet and every diagnostic and weight is finite."""
        trainer = self._trainer
        if self._saved == trainer.iteration:
            return
        trainer.measured()
        check_finite_weights(trainer.policies)
        if run is not None:
            run.save_opponents(self._opponents(run.opponents_folder))
        state = self.state_dict()
        past = self._past.save(None if run is None else run.past_folder, trainer.iteration)
        if run is not None:
            run.save_checkpoint(trainer.iteration, {**state, **past})
            self._keep_past(run)
        self._saved = trainer.iteration

    def _opponents(self, folder: Path | None) -> dict[str, bytes]:
        """Files of opponents' weights that the run's ``league`` folder lacks, by name; with None, all of them."""
        trainer = self._trainer
        return {**trainer.league.files(folder), **trainer.evaluations.files(folder)}

    def _keep_past(self, run: Run) -> None:
        """Remove files of replays that the newest checkpoints do not need."""
        files = self._past.files(run.checkpoints()[-RESUMABLE:])
        if files is not None:
            run.keep_past(files)

    def state_dict(self) -> dict[str, Any]:
        """State that the rest of the run depends on; process 0 holds that of all processes."""
        trainer = self._trainer
        state = self._state(*gather_store(trainer.world, trainer.processes, trainer.config.trainer.num_envs))
        return {**state, **trainer.evaluations.state_dict()}

    @cached_property
    def _config(self) -> str:
        """The run's settings, which are the same in all checkpoints."""
        return self._trainer.config.to_yaml()

    def _state(self, layout: Layout, store: Tensor) -> dict[str, Any]:
        trainer = self._trainer
        return {
            "iteration": trainer.iteration,
            "env_steps": trainer.env_steps,
            "seconds": trainer.seconds,
            "config": self._config,
            "policies": {name: policy.state_dict() for name, policy in trainer.shown.items() if policy is not None},
            "learners": {name: algorithm.state_dict() for name, algorithm in trainer.algorithms.items()},
            "generator": trainer.generator.get_state(),
            "random": random_state(trainer.world),
            "layout": layout,
            "store": store,
            "torch_threads": trainer.updates.torch_threads,
            **({} if trainer.acting is None else {"acting": trainer.acting.state_dict()}),
            **({"league": trainer.league.state_dict()} if trainer.league.matchmakers else {}),
        }

    def load_state_dict(
        self, state: Mapping[str, Any], opponents: Path | None = None, past: Path | None = None
    ) -> None:
        """Continue from a ``state_dict`` of a trainer with the same settings.

        On cpu the rest of the run is then the same bit for bit: for that torch gets the number of threads that it had,
        unless the settings name another.

        Args:
            state: see above.
            opponents: folder with the opponents' weights; None knows those that this trainer has met.
            past: folder with what replays remember; without it they begin empty, with a warning.

        Raises:
            RunError: something is missing or of another kind, or a policy has other sizes.
            StoreError: it is of another environment, or of other sizes.

        After either error the trainer is as it was, unless a file of ``past`` was changed since it was checked.
        """
        trainer, config = self._trainer, self._trainer.config.trainer
        # check everything before anything is loaded
        own = self._state(trainer.world.data.layout(), trainer.world.snapshot())
        check_state(state, own, trainer.policies, trainer.algorithms)
        check_counters(state, trainer.config)
        if trainer.acting is not None:
            check_weights(trainer.acting.acted, state["acting"])
        league_states = trainer.league.read_state(state.get("league", {}), opponents)
        evaluation_state = trainer.evaluations.read_state(state, opponents)
        # the store, weights and what algorithms keep
        restore_store(trainer.world, trainer.processes, config.num_envs, state["store"], state["layout"])
        for name, policy in trainer.policies.items():
            if policy is not None:
                policy.load_state_dict(state["policies"][name])
        if trainer.acting is not None:
            trainer.acting.load_state_dict(state["acting"])
        for name, algorithm in trainer.algorithms.items():
            algorithm.load_state_dict(state["learners"][name])
        trainer.league.take_state(league_states)
        trainer.evaluations.state = evaluation_state
        # random numbers and threads
        trainer.generator.set_state(state["generator"])
        set_random_state(trainer.world, state["random"])
        set_threads(config.torch_threads or state["torch_threads"], saved=state["torch_threads"])
        # counters, and replays
        trainer.continue_from(state["iteration"], state["env_steps"], state["seconds"])
        self._past.load(state, past)
        if not trainer.world.environment.resumable or lacks_states(trainer.world):
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Begin new episodes, where the state of envs is not in the store; what unfinished ones had is dropped."""
        trainer = self._trainer
        trainer.world.reset()
        trainer.world["truncated"] = True  # so that recurrent policies forget
        trainer.episodes.drop_running()
        for algorithm in trainer.algorithms.values():
            algorithm.drop_running()
        self._past.end_episodes()

    def resume(self, run: Run) -> None:
        """Continue from a run's newest intact checkpoint, and cut the run's metrics back to it.

        Every process reads the folder; only the first writes to it. The number of processes may differ from before.

        Raises:
            RunError: no checkpoint can be read, or it does not fit the run's configuration; the folder is unchanged.
            ConfigError: the run has already exceeded its budget; the folder is unchanged.
        """
        trainer = self._trainer
        # the newest checkpoint that is intact, the same in every process
        state = run.load_newest_readable(partial(self._past.check, folder=run.past_folder))
        trainer.processes.check_same("checkpoint", repr(state.get("iteration")))
        # its state, under settings of the same trajectory
        try:
            if isinstance(state.get("config"), str):
                check_same_trajectory(state["config"], trainer.config)
            self.load_state_dict(state, run.opponents_folder, run.past_folder)
        except (RunError, StoreError) as error:
            raise RunError(f"run '{run.path}' cannot be resumed: {error}") from error
        # the budget, now that env_steps are known
        if trainer.env_steps > trainer.num_iterations * trainer.env_steps_per_iteration:
            raise ConfigError(
                f"trainer.total_env_steps is {trainer.config.trainer.total_env_steps:,}, but run '{run.path}' has done "
                f"{trainer.env_steps:,} env steps already, expected more"
            )
        # the folder, cut back by the first process alone
        self._saved = trainer.iteration
        trainer.processes.barrier()  # no process reads the folder any more
        if trainer.processes.is_first:
            run.rewind(trainer.iteration, trainer.env_steps)
            trainer.evaluations.restore(run)
            run.save_ending(trainer.ending)
            self._past.note_older(run)
            self._keep_past(run)
