"""Deathmatch's pay for walls that are seen first, and what kills come to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.deathmatch.fights import BOX, FOUR, HOMES, face_off, made, random_step
from tests.packaged import packaged
from warpworld import World

EYES: dict[str, Any] = {"fov": 100.0}


def looked(world: World, explorer: World) -> np.ndarray:
    """(envs, agents, words): texels that Explorer's camera sees from where the agents are, without other agents."""
    agents = world.num_agents
    for name in ("seen", "velocity", "angvelocity", "actions"):
        explorer[name][:] = 0
    for name in ("positions", "angles"):
        explorer[name].view(-1)[:] = world[name].view(-1)
    explorer["plan"][:] = world["plan"].repeat_interleave(agents)
    explorer.step()
    return explorer.data.numpy("seen").reshape(world.num_envs, agents, -1).copy()


def bits(words: np.ndarray) -> np.ndarray:
    """Number of bits that are set in the last axis."""
    return np.unpackbits(words.view(np.uint8), axis=-1).sum(-1).astype(np.int64)


@pytest.mark.long
def test_walls_that_are_seen_first_are_paid_for() -> None:
    """The texels that Explorer sees, beside a world of the same course that pays nothing; a death makes all new."""
    fights = {**HOMES, **EYES, "kills_to_win": 2, "episode_length": 60, "fire_cone": 60.0, "cooldown": 1}
    paid, unpaid = (made(24, near_spawn=0.5, **fights) for _ in range(2))
    explorer = packaged("explorer", 48, device="cpu", seed=1, **HOMES, **EYES)
    explorer.reset()
    paid["discovery"].fill_(0.5)
    draws, paths = np.random.default_rng(0), [np.random.default_rng(1) for _ in range(2)]
    found = forgot = 0
    for _ in range(90):
        seen = paid.data.numpy("seen").copy()
        fire = draws.uniform(0.2, 1.0)
        for world, path in zip((paid, unpaid), paths, strict=True):
            random_step(world, path, fire)
        number = paid.data.numpy
        died = number("agent_terminated").any(1)
        ended = number("terminated") | number("truncated")
        view, now = looked(paid, explorer), number("seen")
        before = np.where((died | ended)[:, None, None], np.uint32(0), seen)
        alone = ~number("in_sight").any(-1)
        assert np.array_equal(now[alone], (before | view)[alone])
        assert not (now & ~(before | view)).any()  # who stands in the way hides what is behind
        fresh = np.where(died[:, None], 0, bits(now) - bits(before))
        gain = number("rewards") - unpaid.data.numpy("rewards")
        going = ~ended  # an episode's first look comes after the rewards of the one before
        assert np.allclose(gain[going], 0.5 / 64.0 * fresh[going], atol=1e-5)
        assert np.array_equal(number("positions"), unpaid.data.numpy("positions"))
        found += int(fresh[going].sum())
        forgot += int((died & ~ended).sum())
    assert found > 2000
    assert forgot > 20


@pytest.mark.parametrize("params", [{}, FOUR], ids=["two", "four"])
@pytest.mark.parametrize("rules", [{"fire_cone": 60.0}, {"megastep_rules": True}], ids=["own", "megastep"])
def test_kills_decide(rules: dict[str, Any], params: dict[str, Any]) -> None:
    world, draws = made(30, near_spawn=1.0, **BOX, **rules, **params, cooldown=1), np.random.default_rng(0)
    if "megastep_rules" in rules:
        world["health"].fill_(0.1)
    verdicts = set()
    for _ in range(60):
        if "megastep_rules" in rules:
            world["actions"][:] = torch.as_tensor(draws.integers(0, 7, world["actions"].shape))
            world.step()
        else:
            random_step(world, draws)
        kills = world.data.numpy("kills")
        others = np.stack([np.delete(kills, i, axis=1).max(1) for i in range(kills.shape[1])], 1)
        for name, expected in {"won": kills > others, "lost": kills < others, "undecided": kills == others}.items():
            assert np.array_equal(world.data.numpy(name), expected.astype(np.float32)), name
            verdicts |= {name} if expected.any() else set()
    assert verdicts == {"won", "lost", "undecided"}


def test_a_duel_without_a_shot_is_undecided() -> None:
    world = face_off(2)
    for name, expected in {"won": 0.0, "lost": 0.0, "undecided": 1.0}.items():
        assert (world.data.numpy(name) == expected).all(), name
