"""Normal numbers of an update: what they are a function of, and that they are normal."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from warpworld.environment import get_environment
from warpworld.trainers.replay import Normals, Priorities
from warpworld.world import World


def made(shape: tuple[int, ...], name: str = "cart", num_envs: int = 4, **world: Any) -> tuple[World, Normals]:
    own = World(get_environment("cartpole")(), num_envs, **{"seed": 7, **world})
    priorities = Priorities(own, name, blocks=2, block=num_envs, batch_size=4, alpha=0.0)
    normals = Normals(own, name, priorities, shape)
    own.reset()
    return own, normals


def drawn(shape: tuple[int, ...], update: int = 0, name: str = "cart", **world: Any) -> Tensor:
    own, normals = made(shape, name, **world)
    own[f"replay_update_{name}"].view(torch.int64).fill_(update)
    return normals.draw().clone().cpu()


def test_they_are_normal() -> None:
    numbers = drawn((2, 50_000)).double()
    for moment, expected, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):  # spread: variance of the power
        for row in numbers:
            assert abs((row**moment).mean().item() - expected) < 5.5 * math.sqrt(spread / 50_000)
    flat = numbers.flatten()
    for apart in (1, 2, 3, 50_000):
        assert abs((flat[apart:] * flat[:-apart]).mean().item()) < 5.5 / math.sqrt(len(flat) - apart)


def test_they_are_a_function_of_seed_replay_and_update() -> None:
    first = drawn((3, 5))
    assert torch.equal(drawn((3, 5)), first)
    others = [drawn((3, 5), update=1), drawn((3, 5), update=2**32), drawn((3, 5), seed=8), drawn((3, 5), name="other")]
    others.append(drawn((3, 5), first_env=4))  # of another process
    for other in others:
        assert not torch.isin(other, first).any()
    assert first.isfinite().all() and len(first.unique()) == 15


def test_threads_and_envs_do_not_matter() -> None:
    first = drawn((7,), num_workers=1)  # no multiple of what one block of random words gives
    assert torch.equal(drawn((7,), num_workers=2), first)
    torch.testing.assert_close(drawn((7,), num_envs=9), first)
    torch.testing.assert_close(drawn((11,))[:7], first)
