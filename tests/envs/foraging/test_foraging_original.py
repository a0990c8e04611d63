"""Foraging beside lbforaging, from equal states with equal actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.cases import often
from tests.envs.foraging.original import Originals
from tests.packaged import packaged
from warpworld import World

CASES: dict[str, dict[str, Any]] = {
    "two": {},
    "crowd": dict(rows=5, cols=6, players=6, max_num_food=3, max_player_level=3, penalty=0.1, sight=2),
    "coop": dict(rows=5, cols=5, players=2, max_num_food=2, force_coop=True, normalize_reward=False, sight=1),
    "plain": dict(rows=9, cols=4, players=4, max_num_food=3, max_food_level=2, observe_agent_levels=False, sight=3),
    "grid": dict(rows=6, cols=7, players=4, max_num_food=3, grid_observation=True, sight=2),
    "grid-plain": dict(
        **dict(rows=5, cols=5, players=4, max_num_food=2, grid_observation=True, sight=3, observe_agent_levels=False)
    ),
}
# More players than a word has bits, some of whom are far away.
MANY: dict[str, Any] = dict(rows=9, cols=10, players=40, max_num_food=4, sight=3)


def mostly_useful(world: World, generator: np.random.Generator) -> np.ndarray:
    """Actions (envs, players): half of those who stand next to food load it; the others' are drawn from all."""
    drawn = generator.integers(0, 6, (world.num_envs, world.num_agents))
    can_load = world.data.numpy("action_mask")[..., 5]
    return np.where(can_load & (generator.random(drawn.shape) < 0.5), 5, drawn)


def walk(case: dict[str, Any], num_envs: int, episodes: int) -> dict[str, int]:
    """Play both side by side for a number of episodes; returns what happened how often."""
    params = {"episode_length": 25, **case}
    world = packaged("foraging", num_envs, device="cpu", seed=5, final_observations=True, **params)
    world.reset()
    originals, generator = Originals(world), np.random.default_rng(1)
    happened = dict.fromkeys(("episodes", "emptied", "loaded", "refused", "blocked", "shared"), 0)
    while happened["episodes"] < episodes:
        np.testing.assert_array_equal(world.data.numpy("observations"), originals.observations())
        np.testing.assert_array_equal(world.data.numpy("action_mask"), originals.action_mask())
        actions = mostly_useful(world, generator)
        world["actions"][:] = torch.from_numpy(actions.astype(np.int32))[..., None]
        before, could = originals.state(), originals.action_mask()
        world.step()
        rewards, ended = originals.step(actions)
        now = originals.state()
        np.testing.assert_array_equal(world.data.numpy("rewards"), rewards)
        over = world.data.numpy("terminated") | world.data.numpy("truncated")
        np.testing.assert_array_equal(over, ended)
        np.testing.assert_array_equal(world.data.numpy("terminated"), now["field"].sum((1, 2)) == 0)
        np.testing.assert_array_equal(world.data.numpy("final_observations")[over], originals.observations()[over])
        for name, values in now.items():
            np.testing.assert_array_equal(world.data.numpy(name)[~over], values[~over])
        stood = (now["row"] == before["row"]) & (now["col"] == before["col"])
        walks = (actions > 0) & (actions < 5) & np.take_along_axis(could, actions[..., None], 2)[..., 0]
        cells = np.sort(now["row"] * 100 + now["col"], 1)
        happened["episodes"] += int(over.sum())
        happened["emptied"] += int(world.data.numpy("terminated").sum())
        happened["loaded"] += int((rewards > 0).sum())
        happened["refused"] += int((rewards < 0).sum())
        happened["blocked"] += int((stood & walks).sum())
        happened["shared"] += int((cells[:, 1:] == cells[:, :-1]).sum())
        originals.follow(world, over)
    return happened


@pytest.mark.parametrize("case", CASES)
def test_the_package_plays_the_same(case: str) -> None:
    pytest.importorskip("lbforaging", reason="lbforaging is not installed; make peers")
    happened = walk(CASES[case], num_envs=4, episodes=8)
    assert happened["loaded"] > 0 or CASES[case].get("force_coop")
    assert happened["blocked"] > 0


def test_many_players_see_those_who_are_near() -> None:
    pytest.importorskip("lbforaging", reason="lbforaging is not installed; make peers")
    assert walk(MANY, num_envs=2, episodes=2)["blocked"] > 0


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("case", often(["crowd"], CASES))
def test_the_package_plays_the_same_for_a_thousand_episodes(case: str) -> None:
    """Players refuse each other's cells, now and then end on one cell, and some fields are emptied."""
    pytest.importorskip("lbforaging", reason="lbforaging is not installed; make peers")
    happened = walk(CASES[case], num_envs=50, episodes=1000)
    assert happened["emptied"] > 20 and happened["loaded"] > 500 and happened["blocked"] > 100
    assert (happened["refused"] > 100) == (CASES[case].get("penalty", 0.0) > 0)
    assert (happened["shared"] > 0) == (CASES[case].get("players", 2) > 2), happened
