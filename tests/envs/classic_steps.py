"""Classic control beside Gymnasium's own: one step from states that both are put into."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch

from tests.packaged import packaged
from warpworld import World


class Outcome(NamedTuple):
    """What a step gave, of all envs: observations (envs, numbers), rewards (envs,), ends (envs,) bool."""

    observations: np.ndarray
    rewards: np.ndarray
    ends: np.ndarray


def make(name: str, num_envs: int, seed: int = 0, **params: Any) -> World:
    """A world on the cpu that keeps its final observations, after its first reset."""
    world = packaged(name, num_envs=num_envs, device="cpu", seed=seed, final_observations=True, **params)
    world.reset()
    return world


def ours(world: World, states: np.ndarray, actions: np.ndarray) -> Outcome:
    """One step of each env from its row of states (envs, numbers) with its action (envs,)."""
    world["state"][:, 0] = torch.from_numpy(states.astype(np.float32))
    world["actions"][:, 0, 0] = torch.from_numpy(actions).to(world["actions"].dtype)
    world.step()
    ended = world.data.numpy("terminated") | world.data.numpy("truncated")
    final, next_ = world.data.numpy("final_observations")[:, 0], world.data.numpy("observations")[:, 0]
    seen = np.where(ended[:, None], final, next_)
    return Outcome(seen, world.data.numpy("rewards")[:, 0].copy(), world.data.numpy("terminated").copy())


def gymnasiums(name: str, states: np.ndarray, actions: np.ndarray, **attributes: Any) -> Outcome:
    """The same of Gymnasium's env, whose attributes are set first; in float64."""
    env: Any = gymnasium.make(name).unwrapped
    env.reset(seed=0)
    vars(env).update(attributes)
    found = []
    for state, action in zip(states, actions, strict=True):
        env.state = state.astype(np.float64)
        observation, reward, terminated, *_ = env.step(action)
        found.append((observation, reward, terminated))
    observations, rewards, ends = zip(*found, strict=True)
    return Outcome(np.array(observations), np.array(rewards), np.array(ends))
