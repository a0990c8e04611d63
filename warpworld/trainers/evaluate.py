"""Plays a run's policies for whole episodes, beside random actions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from warpworld.environment import Array
from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.trainers.actor import Actor
from warpworld.trainers.trainer import build_policies, build_world
from warpworld.world import World

if TYPE_CHECKING:
    from warpworld.config import RunConfig
    from warpworld.runs import Run

MAX_ENVS = 1024
PATIENCE = 100_000  # steps in which no episode ends, before it is said that none will
NORMAL_95 = 1.959964  # half-width of a 95% interval, in standard errors


def evaluate(run: Run, episodes: int = 1000, seed: int = 0, greedy: bool = False) -> dict[str, dict[str, float]]:
    """Mean return of each policy of a run's latest checkpoint.

    A return is the sum of an agent's rewards over one episode, undiscounted and without the rows that do not count; a
    policy's is the mean over its agents. Every env plays the same number of episodes from its start, so that short
    episodes do not count more than long ones.

    Args:
        run: an open run folder with a checkpoint.
        episodes: episodes of each pairing, rounded up to whole rounds of the envs.
        seed: of the episodes and of the actions drawn.
        greedy: take the likeliest actions instead of drawing.

    Returns:
        For each policy: ``mean_return`` with all policies as trained, ``confidence``, the half-width of its 95%
        interval, ``against_random``, its mean return while the other policies act at random, and ``random_return``, its
        mean return with random actions of all.

    Raises:
        RunError: there is no checkpoint, or it does not fit; or episodes do not end.
    """
    config = run.config
    trained = load_policies(run)
    play = _Play(config, episodes, seed, greedy)
    together = play.returns(trained)
    at_random = play.returns(dict.fromkeys(trained))
    results = {}
    for name in trained:
        others_random = {other: policy if other == name else None for other, policy in trained.items()}
        alone = together if others_random == trained else play.returns(others_random)
        mean, confidence = _mean_and_confidence(together[name])
        results[name] = {
            "mean_return": mean,
            "confidence": confidence,
            "against_random": float(alone[name].mean()),
            "random_return": float(at_random[name].mean()),
        }
    return results


def load_policies(run: Run) -> dict[str, Policy | None]:
    """The policies of a run's latest checkpoint, by name; None for those that act at random.

    Raises:
        RunError: there is no checkpoint, or its weights do not fit the run's configuration.
    """
    state = run.load_checkpoint()
    policies = build_policies(run.config, build_world(run.config, num_envs=1), torch.Generator())
    for name, policy in policies.items():
        if policy is None:
            continue
        try:
            policy.load_state_dict(state["policies"][name])
        except (KeyError, TypeError, RuntimeError) as error:
            reason = f"it lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split("\n\t")[:2])
            raise RunError(
                f"run '{run.path}': the checkpoint's weights do not fit policy '{name}' of config.yaml ({reason}); "
                "use the config.yaml that the run was made with"
            ) from error
    return policies


class _Play:
    """Plays a fixed number of episodes with any assignment of policies."""

    def __init__(self, config: RunConfig, episodes: int, seed: int, greedy: bool) -> None:
        self._config, self._seed = config, seed
        self._num_envs = min(episodes, MAX_ENVS)
        self._rounds = math.ceil(episodes / self._num_envs)
        self._kernel = "act_greedily" if greedy else "act"

    def returns(self, policies: Mapping[str, Policy | None]) -> dict[str, Tensor]:
        """(num_envs * rounds,) float64 returns of each policy; None acts at random."""
        world = build_world(self._config, self._num_envs, self._seed)
        actors = []
        for name, policy in policies.items():
            kernel = "act" if policy is None else self._kernel
            actors += [Actor(world, group, policy, kernel) for group in self._config.policy[name].groups]
        rewards = _Rewards(world)
        world.reset()
        for actor in actors:
            actor.freeze()
        total = self._play(world, actors, rewards)
        by_policy = {}
        for name in policies:
            agents = [total[:, :, world.groups[group].slice] for group in self._config.policy[name].groups]
            by_policy[name] = torch.cat(agents, dim=2).mean(2).flatten()
        return by_policy

    def _play(self, world: World, actors: Sequence[Actor], rewards: _Rewards) -> Tensor:
        """(num_envs, rounds, num_agents) float64: each agent's return in each episode."""
        # what comes after an env's last round falls into a spare column
        total = torch.zeros(self._num_envs, self._rounds + 1, world.num_agents, dtype=torch.float64)
        finished = torch.zeros(self._num_envs, dtype=torch.int64)
        envs = torch.arange(self._num_envs)
        steps_without_end = 0
        while int(finished.min()) < self._rounds:
            for actor in actors:
                actor.act()
            world.step()
            total[envs, finished.clamp(max=self._rounds)] += rewards.of_step().cpu()
            ended = (world["terminated"] | world["truncated"]).cpu()
            finished += ended
            steps_without_end = 0 if bool(ended.any()) else steps_without_end + 1
            if steps_without_end == PATIENCE:
                raise RunError(f"no episode of {self._config.name} ended in {PATIENCE:,} steps; give it a time limit")
        return total[:, : self._rounds]


class _Rewards:
    """The rewards of a step that count."""

    def __init__(self, world: World) -> None:
        """Take an unsealed world. The mask is recorded, as in a rollout: a reset may write it for the next episode."""
        self._world = world
        self._masked = "agent_mask" in world.data
        if self._masked:
            shape = (1, world.num_envs, world.num_agents)
            world.add(Array("mask_of_step", "bool", shape, per="world"), scratch=True)
            world.record("agent_mask", "mask_of_step")

    def of_step(self) -> Tensor:
        """(num_envs, num_agents) float32, 0 where the agent's row does not count."""
        rewards = self._world["rewards"]
        return rewards.masked_fill(~self._world["mask_of_step"][0], 0.0) if self._masked else rewards


def _mean_and_confidence(returns: Tensor) -> tuple[float, float]:
    """Mean, and half-width of its 95% interval."""
    if len(returns) < 2:
        return float(returns.mean()), float("inf")
    return float(returns.mean()), NORMAL_95 * float(returns.std()) / math.sqrt(len(returns))
