"""The training loop: rollout, returns, update, log, save."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from warpworld.config import PolicyConfig, RunConfig
from warpworld.environment import get_environment
from warpworld.policies import ActorCritic, build_policy
from warpworld.trainers.episodes import EpisodeStatistics
from warpworld.trainers.ppo import PPO, Batch
from warpworld.trainers.rollout import Rollout
from warpworld.world import World

if TYPE_CHECKING:
    from warpworld.runs import Run

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


def build_policies(config: RunConfig, world: World, generator: torch.Generator) -> dict[str, ActorCritic]:
    """Fresh policies by name, on the world's device."""
    policies = {}
    for name, entry in config.policy.items():
        policies[name] = build_policy(entry.model, world.groups[entry.groups[0]], generator).to(world.device)
    return policies


class Trainer:
    """Trains the policies of one run.

    Attributes:
        config: the run's settings.
        world: the world that is learnt in.
        policies: by name; those with ``train: false`` act but keep their weights.
        learners: one for each policy that is trained.
        iteration: iterations done; each is one rollout and one update.
        env_steps: env steps done.

    Raises:
        WarpworldError: the environment, a kernel or the device is wrong; nothing has been written then.
    """

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.generator = torch.Generator().manual_seed(config.trainer.seed)
        self.world = build_world(config)
        self.policies = build_policies(config, self.world, self.generator)
        self.learners = {n: PPO(self.policies[n], entry) for n, entry in config.policy.items() if entry.train}
        served = {group: self.policies[name] for name, entry in config.policy.items() for group in entry.groups}
        self.rollout = Rollout(self.world, served, config.trainer.num_steps)
        self.episodes = EpisodeStatistics(self.world, config.trainer.num_steps)
        self.iteration = self.env_steps = 0
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

    def train(self, run: Run, on_iteration: Callable[[Metrics], None] | None = None) -> Metrics:
        """Train to the end of the budget; metrics and checkpoints go to ``run``.

        Args:
            run: an open run folder.
            on_iteration: called with each iteration's metrics.

        Returns:
            The last iteration's metrics.
        """
        saving, start = self.config.saving, time.perf_counter()
        metrics: Metrics = {}
        run.save_checkpoint(self.iteration, self.state_dict())
        while self.iteration < self.num_iterations:
            began = time.perf_counter()
            self.rollout.collect()
            episodes = self._episode_metrics()
            collected = time.perf_counter()
            losses = self._update()
            updated = time.perf_counter()
            self.iteration += 1
            self.env_steps += self._env_steps_per_iteration
            metrics = {
                **self._counters(updated - start),
                **episodes,
                **losses,
                **self._speed(collected - began, updated - collected),
            }
            last = self.iteration == self.num_iterations
            if last or self.iteration % saving.log_every == 0:
                run.log(metrics)
            if last or self.iteration % saving.checkpoint_every == 0:
                run.save_checkpoint(self.iteration, self.state_dict())
            if on_iteration is not None:
                on_iteration(metrics)
        return metrics

    # ---- update ------------------------------------------------------------------------------------------------------
    def _update(self) -> Metrics:
        """Let every learner learn from the rollout."""
        metrics: Metrics = {}
        for name, learner in self.learners.items():
            learner.set_progress(self.iteration / self.num_iterations)
            diagnostics = learner.update(self._batch(name, self.config.policy[name]), self.generator)
            metrics |= {f"losses/{name}/{key}": value for key, value in diagnostics.items()}
            metrics[f"charts/{name}/learning_rate"] = learner.learning_rate
        return metrics

    def _batch(self, name: str, entry: PolicyConfig) -> Batch:
        """The rows of all groups that a policy plays."""
        parts = [self.rollout.batch(g, self.policies[name], entry.gamma, entry.gae_lambda) for g in entry.groups]
        return Batch.join(parts)

    # ---- metrics -----------------------------------------------------------------------------------------------------
    def _counters(self, seconds: float) -> Metrics:
        agent_steps = self.env_steps * self.world.num_agents
        return {"iteration": self.iteration, "env_steps": self.env_steps, "agent_steps": agent_steps, "time": seconds}

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
    def state_dict(self) -> dict[str, Any]:
        """Everything that the run's further course depends on."""
        return {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            "policies": {name: policy.state_dict() for name, policy in self.policies.items()},
            "learners": {name: learner.state_dict() for name, learner in self.learners.items()},
            "generator": self.generator.get_state(),
            "store": self.world.snapshot(),
            "torch_threads": torch.get_num_threads(),
        }
