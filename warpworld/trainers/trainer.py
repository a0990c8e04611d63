"""The training loop: step, let every algorithm learn, log, save."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from warpworld.config import RunConfig
from warpworld.errors import LoggerError
from warpworld.runs import Run
from warpworld.trainers.building import (
    build_algorithms,
    build_collector,
    build_learners,
    build_world,
    fuse_copies,
    population_of,
)
from warpworld.trainers.checkpointing import Checkpoints
from warpworld.trainers.collecting import AtTheEnd, EpisodeMetrics, EpisodeStatistics, Teacher
from warpworld.trainers.evaluations import Evaluations, Recordings
from warpworld.trainers.league import League
from warpworld.trainers.measurements import Measurements, Metrics
from warpworld.trainers.overlap import Updates, choose_beside, copy_policies
from warpworld.trainers.precisions import check_precision, products_of_run
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.trainers.spans import CHECKS, OTHER, ROLLOUT, span
from warpworld.trainers.state import set_threads


@dataclass
class _Listeners:
    """Receivers of metrics: the run's loggers, and a function of the caller's.

    Attributes:
        run: an open run folder; None where another process writes it.
        on_iteration: called with each iteration's metrics.
        latest: metrics of the last complete iteration.
        failure: of a logger.
    """

    run: Run | None
    on_iteration: Callable[[Metrics], None] | None
    latest: Metrics = field(default_factory=Metrics)
    failure: LoggerError | None = None


class Trainer:
    """Trains the policies of one run, alone or as one of several processes that share its envs.

    Attributes:
        config: the run's settings.
        processes: those that train the run; all of them call the same methods in the same order.
        world: the world in which the policies learn, or this process's part of it.
        policies: by name; those with ``train: false`` act but keep their weights, and None acts at random.
        algorithms: one for each policy that is trained.
        shown: the policies as evaluations and checkpoints have them, by name; of some with averaged weights.
        population: the one among them whose members learn in a policy's place; None without one.
        collector: what steps the world.
        teacher: draws the levels of a curriculum; None without one.
        recordings: writes replays of the policies now and then.
        evaluations: plays the policies now and then, keeps the best, and decides when training may end.
        acting: copies of the policies, which act with ``trainer.overlap``; None without it.
        updates: runs the algorithms' updates, behind their rollout or beside the next one.
        iteration: iterations done; each is ``num_steps`` steps of the world, then an update by every algorithm.
        env_steps: env steps done.
        seconds: seconds of training so far, in all sessions of the run together.

    Raises:
        WarpworldError: the environment, a kernel or the device is wrong; nothing has been written.
    """

    def __init__(self, config: RunConfig, initial_weights: bool = True, processes: ProcessGroup = ALONE) -> None:
        """Build world, policies and algorithms.

        Args:
            config: the run's settings.
            initial_weights: read the policies' ``initial_weights``; False if a checkpoint is loaded next.
            processes: those that train the run.
        """
        self.config, self.processes = config, processes
        processes.check_same("configuration", config.to_yaml())
        set_threads(config.trainer.torch_threads)
        self.generator = torch.Generator().manual_seed(config.trainer.seed)
        # all parts; of a machine's processes one compiles first
        with processes.one_before_others():
            self._build(config, initial_weights)
        processes.check_same("device", self.world.device.type)
        self.league.check_same()
        # counters
        self.iteration = self.env_steps = 0
        self.seconds = self._started = 0.0
        self._spent_before = 0.0  # processor time of this process when the last line of metrics was measured
        self._read: tuple[int, Metrics] = 0, {}  # iteration whose measurements were read last, and these
        # of the latest iteration: whether it is timed, seconds of rollout and update, and what was held
        self._is_read, self._spent = False, (0.0, 0.0)
        self._of_others: Metrics | None = None
        # the sealed store, with first episodes and the same weights everywhere
        self.world.seal()
        self._set_scheduled()  # the first episodes begin with what they say
        self.world.reset()
        self._share_weights()

    def _build(self, config: RunConfig, initial_weights: bool) -> None:
        """Make whatever compiles; no process waits for another meanwhile."""
        trainer = config.trainer
        check_precision(config)
        # world, policies and algorithms
        self.world = build_world(config, processes=self.processes)
        self._products = products_of_run(trainer, self.world.device)
        self.policies = build_learners(config, self.world, self.generator, initial_weights)
        self.acting = copy_policies(config, self.policies, self.processes)
        playing = self.policies if self.acting is None else self.acting.acting
        self.league = League(config, self.world, playing, initial_weights, self.processes)
        built_for = self.world, self.generator
        self.algorithms = build_algorithms(config, self.policies, self.processes, *built_for)
        self.population = population_of(self.algorithms)
        self.shown = {**self.policies, **{name: each.shown for name, each in self.algorithms.items()}}
        self.evaluations = Evaluations(config, self.shown, self.world, self.processes, initial_weights)
        self.recordings = Recordings(config, self.shown, self.world)
        # the collector, and what acts and learns in it
        join = None if self.acting is None else self._join_update
        learning = self.policies, self.algorithms
        slots = self.league.slots if self.population is None else self.population.slots
        self.collector = build_collector(config, self.world, *learning, slots, self.acting, join)
        fuse_copies(config, self.world, self.league.modules)
        apart = {name: [each.shown] for name, each in self.algorithms.items() if each.shown is not each.policy}
        fuse_copies(config, self.world, apart)
        # statistics and checkpoints
        self.episodes = EpisodeStatistics(self.world, trainer.num_steps, slots)
        self.own_metrics = EpisodeMetrics(self.world, trainer.num_steps, slots)
        if self.acting is None:  # else what is reported of the rollout before comes first
            self.collector.add(AtTheEnd(self._add_up))
        self.teacher: Teacher | None = None
        if config.curriculum is not None:
            self.teacher = Teacher(config.curriculum, self.world, trainer.num_steps, slots, self.processes.sum)
        self.checkpoints = Checkpoints(self)
        measured = self.episodes, self.own_metrics
        captures = self.collector.graph_steps > 0
        self._measurements = Measurements(config, self.world, *measured, self.processes, captures)
        beside, together = choose_beside(self.world), self.collector.together
        taken = self._measurements, self._products, self.acting
        self.updates = Updates(self.algorithms, *taken, beside, self.world.random_state, self._wait, together)

    def _join_update(self) -> None:
        """Let what follows come after the update beside the present rollout."""
        self.updates.join()

    def _add_up(self) -> None:
        """Take the rollout that stands in the store into the statistics of episodes."""
        self.episodes.add_up()
        self.own_metrics.add_up()

    def _share_weights(self) -> None:
        """Start from process 0's weights: another processor or a model of one's own may have drawn others."""
        for policy in (*self.policies.values(), *self.shown.values()):
            for weight in policy.state_dict().values() if policy is not None else ():
                if isinstance(weight, Tensor):
                    self.processes.first_says(weight)

    @property
    def num_iterations(self) -> int:
        """Iterations of the whole run."""
        return self.config.trainer.total_env_steps // self.env_steps_per_iteration

    @property
    def is_finished(self) -> bool:
        """Whether the budget is used up, or something ended the run before."""
        return self.iteration >= self.num_iterations or bool(self.ending)

    @property
    def ending(self) -> str:
        """Reason to end before the budget is used up: scores, ``patience`` or time; "" if the run continues."""
        return self.evaluations.ending or self._time_is_up()

    def _time_is_up(self) -> str:
        """Reason to end by ``stop_when.seconds``; "" if there is time left."""
        limit = self.config.trainer.stop_seconds
        if limit is None or self.seconds < limit:
            return ""
        return f"trainer.stop_when is reached: {self.seconds:,.2f} seconds of training"

    @property
    def env_steps_per_iteration(self) -> int:
        """Env steps of one iteration, of all processes together."""
        return self.config.trainer.num_envs * self.config.trainer.num_steps

    def train(
        self,
        run: Run | None,
        on_iteration: Callable[[Metrics], None] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Metrics:
        """Train to the end of the budget, or until scores or time end the run; metrics and checkpoints go to ``run``.

        Metrics reach the host only in iterations that are logged, evaluated or saved. Each iteration's metrics are
        logged before it is saved, so that a process may end at any moment: a resumed run finds every line up to the
        checkpoint, and cuts off those behind it.

        Args:
            run: an open run folder; None where another process writes it.
            on_iteration: called with each iteration's metrics: counters, and all others if it is logged, evaluated or
                saved.
            stop: asked between two iterations; if it returns True in any process the training ends early, with a
                checkpoint.

        Returns:
            The last iteration's metrics; empty if there was none to do.

        Raises:
            RunError: the run folder cannot be written.
            LoggerError: a logger failed; the training ended at the next checkpoint, which is written.
            TrainingError: a reward, a loss or a weight is not a finite number; earlier checkpoints are good.
            ProcessError: another process of the run ended.
        """
        listeners = _Listeners(run, on_iteration)
        self._started, self._spent_before = time.perf_counter() - self.seconds, time.process_time()
        if self.acting is not None and self.iteration == 0:
            self.acting.begin()  # weights may have been set since they were copied
        self.checkpoints.save(run)
        with self.updates:
            while not self.is_finished and not self.processes.any(stop() or listeners.failure is not None):
                with span(OTHER):
                    self._iterate(listeners)
            if self.updates.are_due:  # of the last rollout: no other one follows
                self._report(self._learn(), listeners)
            # the end of the run, and a logger's failure after all is saved
            self.checkpoints.save(run)
        if run is not None and self.ending:
            run.save_ending(self.ending)
        if listeners.failure is not None:
            raise listeners.failure
        return listeners.latest

    def _iterate(self, listeners: _Listeners | None = None) -> None:
        """The world's steps, then an update by every algorithm, or beside the steps that of the rollout before."""
        listeners = listeners or _Listeners(None, None)
        # whether the host reads results in this iteration, and so waits for the device
        iteration, saving = self.iteration + 1, self.config.saving
        is_read = self._is_logged(iteration) or self._is_due(iteration, saving.checkpoint_every)
        if is_read:
            self._wait()  # what a device still does of the iteration before is not in this one's time
        # schedules of the environment, and new opponents
        began, is_late = time.perf_counter(), self.updates.are_due
        self._set_scheduled()
        self.league.begin(self.iteration)
        # the rollout
        self.updates.begin(is_timed=self._is_read)  # as the iteration before is read, whose updates they are
        with self._products(), span(ROLLOUT):
            self.collector.collect()  # with overlap, it waits for what was begun
        if is_late:  # the iteration before is complete
            self._report(self._metrics(), listeners)
        # statistics of episodes and matches
        with span(CHECKS):
            if self.acting is not None:
                self._add_up()
            if self.teacher is not None:
                self.teacher.add_up()
                self.teacher.teach()
            self.league.take_results()
            self.collector.check_finite()
        # an iteration more, whose update is due
        self._take()
        self.iteration, self._is_read = iteration, is_read
        self.env_steps += self.env_steps_per_iteration
        self._spent = time.perf_counter() - began - self.updates.waited, self.updates.waited
        if self.updates.overlap:
            self._hold()
        is_due = self._is_evaluated(iteration) or self._is_recorded(iteration)
        is_due = is_due or self._is_due(iteration, saving.checkpoint_every)
        if is_due or not self.updates.overlap:
            self._report(self._learn(), listeners)

    def _hold(self) -> None:
        """Measure what the next rollout would change before this iteration's metrics are complete."""
        self.seconds = time.perf_counter() - self._started
        if self._is_read or self._is_logged(self.iteration):
            self._measurements.hold()
            self._of_others = self._measured_by_others()

    def _take(self) -> None:
        """Take over the rollout that was recorded last; its update is due."""
        self.updates.take(self.iteration / self.num_iterations, self.env_steps, self.generator)

    def _learn(self) -> Metrics:
        """Let every algorithm learn from the rollout; gives the metrics of the iteration."""
        began = time.perf_counter()
        if not self.updates.are_due:
            self._take()
        self.updates.finish(self._is_read)
        if self._is_read:
            self.measured()  # waits for the device
        rollout, update = self._spent
        self._spent = rollout, update + time.perf_counter() - began
        self.seconds = self._agreed(time.perf_counter() - self._started)
        return self._metrics()

    def _metrics(self) -> Metrics:
        """Metrics of the iteration, read from the device all at once; only now it is known whether the time is up."""
        is_logged = self._is_logged(self.iteration)
        measured = self.measured() if self._is_read or is_logged else {}
        speed = {**self._speed(*self._spent), **self.updates.seconds} if self._is_read else {}
        if is_logged:
            self._measurements.begin()
            before, self._spent_before = self._spent_before, time.process_time()
            speed |= {"perf/cpu_s": self._spent_before - before}
        return {**self._counters(), **measured, **speed}

    def _report(self, metrics: Metrics, listeners: _Listeners) -> None:
        """Evaluate, log and save a complete iteration where it is time."""
        if self._is_evaluated(self.iteration):
            with self._products():
                metrics |= self.evaluations.take(self.iteration, self.env_steps, listeners.run)
        # log before checkpoint, see ``train``
        listeners.latest = metrics
        if listeners.run is not None and self._is_logged(self.iteration):
            listeners.failure = _failure_of_logging(listeners.run, metrics)
        if self._is_recorded(self.iteration):
            failure = self.recordings.take(self.iteration, self.env_steps, listeners.run)
            listeners.failure = listeners.failure or failure
        if self._is_due(self.iteration, self.config.saving.checkpoint_every):
            self.checkpoints.save(listeners.run)
        if listeners.on_iteration is not None:
            listeners.on_iteration(metrics)

    def _agreed(self, seconds: float) -> float:
        """Process 0's seconds in all processes, if they may end the run: it must end everywhere at once."""
        if self.config.trainer.stop_seconds is None:
            return seconds
        return float(self.processes.first_says(torch.tensor(seconds, dtype=torch.float64)))

    def _set_scheduled(self) -> None:
        """Set the environment's arrays that change during the run."""
        for name, value in self.config.scheduled_values(self.env_steps).items():
            self.world[name].fill_(value)

    def _is_due(self, iteration: int, every: int) -> bool:
        return iteration % every == 0 or self._is_last(iteration)

    def _is_last(self, iteration: int) -> bool:
        """Whether the run ends behind an iteration, as far as is known; that its time is up is known at its end."""
        return iteration == self.num_iterations or bool(self._time_is_up())

    def _is_logged(self, iteration: int) -> bool:
        return self._is_due(iteration, self.config.saving.log_every) or self._is_evaluated(iteration)

    def _is_evaluated(self, iteration: int) -> bool:
        return self.evaluations.is_due(iteration, self._is_last(iteration))

    def _is_recorded(self, iteration: int) -> bool:
        return self.recordings.is_due(iteration, self._is_last(iteration))

    def _wait(self) -> None:
        """Wait until the device has done all of its work."""
        self.world["clock"][0].item()

    # ---- metrics -----------------------------------------------------------------------------------------------------
    def measured(self) -> Metrics:
        """Episodes since the last report and the present iteration's diagnostics, read once and checked."""
        if self._read[0] != self.iteration:
            of_others, self._of_others = self._of_others, None
            self._read = self.iteration, {**self._measurements.read(), **(of_others or self._measured_by_others())}
        return self._read[1]

    def _measured_by_others(self) -> Metrics:
        """Metrics of league, teacher and population."""
        others = [other for other in (self.teacher, self.population) if other is not None]
        return {**self.league.read(), **{name: value for other in others for name, value in other.metrics().items()}}

    def continue_from(self, iteration: int, env_steps: int, seconds: float) -> None:
        """Set the counters to those of a checkpoint; measurements begin anew."""
        self.iteration, self.env_steps, self.seconds = iteration, env_steps, seconds
        self._read = iteration, {}

    def _counters(self) -> Metrics:
        agent_steps = self.env_steps * self.world.num_agents
        counts = {"iteration": self.iteration, "env_steps": self.env_steps, "agent_steps": agent_steps}
        return {**counts, "time": self.seconds}

    def _speed(self, rollout: float, update: float) -> Metrics:
        env_steps_per_s = self.env_steps_per_iteration / (rollout + update)
        return {
            "perf/env_steps_per_s": env_steps_per_s,
            "perf/agent_steps_per_s": env_steps_per_s * self.world.num_agents,
            "perf/rollout_s": rollout,
            "perf/update_s": update,
        }

    # ---- saving ------------------------------------------------------------------------------------------------------
    def create_run(self, directory: str | Path | None = None, path: Path | None = None) -> Run | None:
        """Make the folder of a run that starts here; arguments and errors as of ``Checkpoints.create_run``."""
        return self.checkpoints.create_run(directory, path)

    def resume(self, run: Run) -> None:
        """Continue from a run's newest intact checkpoint; errors as of ``Checkpoints.resume``."""
        self.checkpoints.resume(run)

    def state_dict(self) -> dict[str, Any]:
        """State that the rest of the run depends on; process 0 holds that of all processes."""
        return self.checkpoints.state_dict()

    def load_state_dict(
        self, state: Mapping[str, Any], opponents: Path | None = None, past: Path | None = None
    ) -> None:
        """Continue from a ``state_dict``; arguments and errors as of ``Checkpoints.load_state_dict``."""
        self.checkpoints.load_state_dict(state, opponents, past)


def _failure_of_logging(run: Run, metrics: Metrics) -> LoggerError | None:
    """Log an iteration; a logger that failed ends the run only after a checkpoint, so that no iteration is lost."""
    try:
        run.log(metrics)
    except LoggerError as error:
        return error
    return None
