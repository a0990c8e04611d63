"""Plays a run's policies for whole episodes, beside random actions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from warpworld.errors import RunError
from warpworld.policies import ActorCritic
from warpworld.trainers.actor import Actor
from warpworld.trainers.trainer import build_policies, build_world

if TYPE_CHECKING:
    from warpworld.config import RunConfig
    from warpworld.runs import Run

MAX_ENVS = 1024
NORMAL_95 = 1.959964  # half-width of a 95% interval, in standard errors


def evaluate(run: Run, episodes: int = 1000, seed: int = 0, greedy: bool = False) -> dict[str, dict[str, float]]:
    """Mean return of each policy of a run's latest checkpoint.

    A return is the sum of an agent's rewards over one episode, undiscounted; a policy's is the mean over its agents. Every
    env plays the same number of episodes from its start, so that short episodes do not count more than long ones.

    Args:
        run: an open run folder with a checkpoint.
        episodes: episodes of each pairing, rounded up to whole rounds of the envs.
        seed: of the episodes and of the actions drawn.
        greedy: take the likeliest actions instead of drawing.

    Returns:
        For each policy: ``mean_return`` with all policies as trained, ``confidence``, the half-width of its 95% interval,
        ``against_random``, its mean return while the other policies act at random, and ``random_return``, its mean return
        with random actions of all.

    Raises:
        RunError: there is no checkpoint, or it does not fit.
    """
    config = run.config
    trained = load_policies(run)
    play = _Play(config, episodes, seed, greedy)
    together = play.returns(trained)
    at_random = play.returns(dict.fromkeys(trained))
    results = {}
    for name in trained:
        alone = together if len(trained) == 1 else play.returns({n: p if n == name else None for n, p in trained.items()})
        mean, confidence = _mean_and_confidence(together[name])
        results[name] = {
            "mean_return": mean,
            "confidence": confidence,
            "against_random": float(alone[name].mean()),
            "random_return": float(at_random[name].mean()),
        }
    return results


def load_policies(run: Run) -> dict[str, ActorCritic]:
    """The policies of a run's latest checkpoint, by name.

    Raises:
        RunError: there is no checkpoint, or its weights do not fit the run's configuration.
    """
    state = run.load_checkpoint()
    policies = build_policies(run.config, build_world(run.config, num_envs=1), torch.Generator())
    for name, policy in policies.items():
        try:
            policy.load_state_dict(state["policies"][name])
        except (KeyError, RuntimeError) as error:
            raise RunError(f"run '{run.path}': the checkpoint's weights do not fit policy '{name}' of config.yaml: {error}") from error
    return policies


class _Play:
    """Plays a fixed number of episodes with any assignment of policies."""

    def __init__(self, config: RunConfig, episodes: int, seed: int, greedy: bool) -> None:
        self._config, self._seed = config, seed
        self._num_envs = min(episodes, MAX_ENVS)
        self._rounds = math.ceil(episodes / self._num_envs)
        self._kernel = "act_greedily" if greedy else "act"

    def returns(self, policies: Mapping[str, ActorCritic | None]) -> dict[str, Tensor]:
        """(num_envs * rounds,) float64 returns of each policy; None acts at random."""
        world = build_world(self._config, self._num_envs, self._seed)
        actors = []
        for name, policy in policies.items():
            kernel = "act" if policy is None else self._kernel
            actors += [Actor(world, group, policy, kernel) for group in self._config.policy[name].groups]
        world.reset()
        for actor in actors:
            actor.freeze()
        total = torch.zeros(self._num_envs, self._rounds + 1, world.num_agents, dtype=torch.float64)
        finished = torch.zeros(self._num_envs, dtype=torch.int64)
        envs = torch.arange(self._num_envs)
        while int(finished.min()) < self._rounds:
            for actor in actors:
                actor.act()
            world.step()
            # what comes after an env's last round falls into a spare column
            total[envs, finished.clamp(max=self._rounds)] += world["rewards"].cpu()
            finished += (world["terminated"] | world["truncated"]).cpu()
        by_policy = {}
        for name in policies:
            agents = [total[:, : self._rounds, world.groups[group].slice] for group in self._config.policy[name].groups]
            by_policy[name] = torch.cat(agents, dim=2).mean(2).flatten()
        return by_policy


def _mean_and_confidence(returns: Tensor) -> tuple[float, float]:
    """Mean, and half-width of its 95% interval."""
    if len(returns) < 2:
        return float(returns.mean()), float("inf")
    return float(returns.mean()), NORMAL_95 * float(returns.std()) / math.sqrt(len(returns))
