"""The training loop: rollout, returns, update, log, save."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from warpworld.config import RunConfig
from warpworld.environment import get_environment
from warpworld.errors import ConfigError, RunError, StoreError, TrainingError
from warpworld.policies import Policy, build_policy
from warpworld.policies.fused import fuse
from warpworld.runs import Run
from warpworld.runs.resume import check_same_course
from warpworld.trainers.algorithms import build_learners
from warpworld.trainers.batch import Batch
from warpworld.trainers.episodes import EpisodeStatistics
from warpworld.trainers.initial_weights import load_initial_weights
from warpworld.trainers.rollout import Rollout
from warpworld.trainers.state import check_finite_weights, check_state, random_state, set_random_state, set_threads
from warpworld.world import World

Metrics = dict[str, Any]


def build_world(config: RunConfig, num_envs: int | None = None, seed: int | None = None) -> World:
    """The world that a run's configuration describes, with its own number of envs and seed if these are given."""
    trainer = config.trainer
    return World(
        get_environment(config.name)(**config.env),
        trainer.num_envs if num_envs is None else num_envs,
        device=trainer.device,
        seed=trainer.seed if seed is None else seed,
        num_workers=trainer.num_workers,
    )


def build_policies(config: RunConfig, world: World, generator: torch.Generator) -> dict[str, Policy | None]:
    """Fresh policies by name, on the world's device; None for those that act at random."""
    policies: dict[str, Policy | None] = {}
    for name, entry in config.policy.items():
        policies[name] = None
        if entry.algorithm != "random":
            policies[name] = build_policy(entry.model, world.groups[entry.groups[0]], generator).to(world.device)
    return policies


class Trainer:
    """Trains the policies of one run.

    Attributes:
        config: the run's settings.
        world: the world that is learnt in.
        policies: by name; those with ``train: false`` act but keep their weights, and None acts at random.
        learners: one for each policy that is trained.
        iteration: iterations done; each is one rollout and one update.
        env_steps: env steps done.
        seconds: seconds of training so far, in all sessions of the run together.

    Raises:
        WarpworldError: the environment, a kernel or the device is wrong; nothing has been written then.
    """

    def __init__(self, config: RunConfig, initial_weights: bool = True) -> None:
        """Build world, policies and learners.

        Args:
            config: the run's settings.
            initial_weights: read the policies' ``initial_weights``; False where a checkpoint follows.
        """
        self.config = config
        set_threads(config.trainer.torch_threads)
        self.generator = torch.Generator().manual_seed(config.trainer.seed)
        self.world = build_world(config)
        self.policies = build_policies(config, self.world, self.generator)
        if initial_weights:
            load_initial_weights(config, self.policies)
        self.learners = build_learners(config, self.policies)
        if config.trainer.fused:
            for name, policy in self.policies.items():
                if policy is not None:
                    fuse(policy, name)
        served = {group: self.policies[name] for name, entry in config.policy.items() for group in entry.groups}
        self.rollout = Rollout(self.world, served, config.trainer.num_steps, config.trainer.graph_steps)
        self.episodes = EpisodeStatistics(self.world, config.trainer.num_steps)
        self.iteration = self.env_steps = 0
        self.seconds = self._started = 0.0
        self._saved: int | None = None  # iteration of the latest checkpoint
        self.world.reset()
        self.rollout.freeze()
        self.episodes.freeze()

    @property
    def num_iterations(self) -> int:
        """Iterations of the whole run."""
        return self.config.trainer.total_env_steps // self._env_steps_per_iteration

    @property
    def _env_steps_per_iteration(self) -> int:
        return self.config.trainer.num_envs * self.config.trainer.num_steps

    def train(
        self,
        run: Run,
        on_iteration: Callable[[Metrics], None] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Metrics:
        """Train to the end of the budget; metrics and checkpoints go to ``run``.

        Each iteration's metrics are logged before it is saved, so that a process may end at any moment: whoever
        resumes finds every line up to the checkpoint, and cuts off those behind it.

        Args:
            run: an open run folder.
            on_iteration: called with each iteration's metrics.
            stop: asked between two iterations; where it says True the training ends early, with a checkpoint.

        Returns:
            The last iteration's metrics; empty if there was none to do.

        Raises:
            RunError: the run folder cannot be written.
            TrainingError: a reward, a loss or a weight is no longer a finite number; what was saved so far is good.
        """
        saving, metrics = self.config.saving, Metrics()
        self._started = time.perf_counter() - self.seconds
        self._save(run)
        while self.iteration < self.num_iterations and not stop():
            metrics = self._iterate()
            if self._is_due(saving.log_every):
                run.log(metrics)
            if self._is_due(saving.checkpoint_every):
                self._save(run)
            if on_iteration is not None:
                on_iteration(metrics)
        self._save(run)
        return metrics

    def _iterate(self) -> Metrics:
        """One rollout and one update, timed apart."""
        began = time.perf_counter()
        self.rollout.collect()
        episodes = self._episode_metrics()
        collected = time.perf_counter()
        self.rollout.check_finite()
        losses = self._update()
        updated = time.perf_counter()
        self.iteration += 1
        self.env_steps += self._env_steps_per_iteration
        self.seconds = updated - self._started
        return {**self._counters(), **episodes, **losses, **self._speed(collected - began, updated - collected)}

    def _is_due(self, every: int) -> bool:
        return self.iteration % every == 0 or self.iteration == self.num_iterations

    # ---- update ------------------------------------------------------------------------------------------------------
    def _update(self) -> Metrics:
        """Let every learner learn from the rollout."""
        metrics: Metrics = {}
        for name, learner in self.learners.items():
            learner.set_progress(self.iteration / self.num_iterations, self.env_steps)
            diagnostics = learner.update(self._batch(name), self.generator)
            _check_finite(name, diagnostics)
            metrics |= {f"losses/{name}/{key}": value for key, value in diagnostics.items()}
            metrics[f"charts/{name}/learning_rate"] = learner.learning_rate
        return metrics

    def _batch(self, name: str) -> Batch:
        """The rows of all groups that a learner's policy plays."""
        learner, groups = self.learners[name], self.config.policy[name].groups
        gamma, gae_lambda = learner.settings.gamma, learner.settings.gae_lambda
        return Batch.join([self.rollout.batch(group, learner.policy, gamma, gae_lambda) for group in groups])

    # ---- metrics -----------------------------------------------------------------------------------------------------
    def _counters(self) -> Metrics:
        agent_steps = self.env_steps * self.world.num_agents
        counts = {"iteration": self.iteration, "env_steps": self.env_steps, "agent_steps": agent_steps}
        return {**counts, "time": self.seconds}

    def _speed(self, rollout: float, update: float) -> Metrics:
        env_steps_per_s = self._env_steps_per_iteration / (rollout + update)
        return {
            "perf/env_steps_per_s": env_steps_per_s,
            "perf/agent_steps_per_s": env_steps_per_s * self.world.num_agents,
            "perf/rollout_s": rollout,
            "perf/update_s": update,
        }

    def _episode_metrics(self) -> Metrics:
        finished = self.episodes.finished()
        metrics: Metrics = {"charts/episodes": finished.count, "charts/episodic_length": finished.length}
        for name, entry in self.config.policy.items():
            agents = torch.cat([finished.returns[self.world.groups[group].slice] for group in entry.groups])
            metrics[f"charts/{name}/episodic_return"] = float(agents.mean())
        return metrics

    # ---- saving ------------------------------------------------------------------------------------------------------
    def create_run(self, directory: str | Path | None = None) -> Run:
        """Make the folder of a run that starts from here, with its first checkpoint, which ``train`` then leaves out.

        Args:
            directory: where the folder is made; None takes ``config.saving.directory``.

        Raises:
            RunError: the folder cannot be made or written, or a logger's package is missing.
            TrainingError: a weight is not finite; no folder is made then.
        """
        check_finite_weights(self.policies)
        run = Run.create(self.config, directory, first_state=self.state_dict())
        self._saved = self.iteration
        return run

    def _save(self, run: Run) -> None:
        """Save the present iteration, if it is not saved yet and every weight is finite."""
        if self._saved == self.iteration:
            return
        check_finite_weights(self.policies)
        run.save_checkpoint(self.iteration, self.state_dict())
        self._saved = self.iteration

    def state_dict(self) -> dict[str, Any]:
        """Everything that the run's further course depends on."""
        return {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            "seconds": self.seconds,
            "config": self.config.to_yaml(),
            "policies": {name: policy.state_dict() for name, policy in self.policies.items() if policy is not None},
            "learners": {name: learner.state_dict() for name, learner in self.learners.items()},
            "generator": self.generator.get_state(),
            "random": random_state(self.world.device),
            "layout": self.world.data.layout(),
            "store": self.world.snapshot(),
            "torch_threads": torch.get_num_threads(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a ``state_dict`` of a trainer with the same settings.

        On cpu the further course is then the same bit for bit: for that torch gets the number of threads that it had,
        unless the settings name another.

        Raises:
            RunError: it lacks something, something in it is not what it should be, or a policy has other sizes.
            StoreError: it is of another environment, or of other sizes.

        After either error the trainer is as it was.
        """
        check_state(state, self.state_dict(), self.policies, self.learners)
        self.world.restore(state["store"], state["layout"])
        for name, policy in self.policies.items():
            if policy is not None:
                policy.load_state_dict(state["policies"][name])
        for name, learner in self.learners.items():
            learner.load_state_dict(state["learners"][name])
        self.generator.set_state(state["generator"])
        set_random_state(self.world.device, state["random"])
        set_threads(self.config.trainer.torch_threads or state["torch_threads"], saved=state["torch_threads"])
        self.iteration, self.env_steps, self.seconds = state["iteration"], state["env_steps"], state["seconds"]

    def resume(self, run: Run) -> None:
        """Go on from a run's newest checkpoint that is whole, and cut the run's metrics back to it.

        Raises:
            RunError: no checkpoint can be read, or it does not fit the run's configuration; the folder is as it was.
            ConfigError: the run has done more than its budget is now; the folder is as it was.
        """
        state = run.load_newest_readable()
        try:
            if isinstance(state.get("config"), str):
                check_same_course(state["config"], self.config)
            self.load_state_dict(state)
        except (RunError, StoreError) as error:
            raise RunError(f"run '{run.path}' cannot be resumed: {error}") from error
        if self.env_steps > self.num_iterations * self._env_steps_per_iteration:
            raise ConfigError(
                f"trainer.total_env_steps is {self.config.trainer.total_env_steps:,}, but run '{run.path}' has done "
                f"{self.env_steps:,} env steps already, expected more"
            )
        self._saved = self.iteration
        run.rewind(self.iteration, self.env_steps)


def _check_finite(name: str, diagnostics: Mapping[str, float]) -> None:
    """Stop before weights that are lost are saved over good ones."""
    for key, value in diagnostics.items():
        if not math.isfinite(value):
            raise TrainingError(
                f"policy '{name}': {key} is {value} after this update; the run's latest checkpoint is from before it. "
                "A lower learning_rate or max_grad_norm, or smaller rewards, may keep it finite"
            )
