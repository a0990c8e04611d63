"""Battle beside MAgent2, wherever the order in which soldiers act changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.envs.battle.battle_oracle import actions_of
from tests.envs.battle.battles import act, battle_world, place, soldiers_of
from tests.envs.battle.magent import Original
from warpworld import World

pytest.importorskip("magent2", reason="MAgent2 is not installed")

PAIRS, MAP = 9, 30


@pytest.mark.long
def test_rewards_hp_places_and_views_are_magents() -> None:
    """Pairs of enemies far apart: in each step one of the two acts, most often by a strike at the other."""
    world, generator = battle_world(army_size=PAIRS, map_size=MAP), np.random.default_rng(0)
    red = [(5 + 9 * (k % 3), 5 + 9 * (k // 3)) for k in range(PAIRS)]
    blue = [(x + 1, y + k % 2) for k, (x, y) in enumerate(red)]
    place(world, [*red, *blue])
    original, mirror = Original(red, blue, MAP), _mirrored(world)
    deaths = 0
    for _ in range(40):
        actions = _actions(world, generator)
        act(world, np.where(np.arange(2 * PAIRS) < PAIRS, actions, mirror[actions]).tolist())
        rewards = original.step(actions)
        deaths += len(rewards) - len(original.alive)
        for number, reward in rewards.items():
            assert world["rewards"][0, number].item() == pytest.approx(reward, abs=1e-6)
        if world["terminated"]:  # and reset
            break
        soldiers = soldiers_of(world)
        assert [number for number, soldier in enumerate(soldiers) if soldier.cell is not None] == original.alive
        assert [soldiers[number].cell for number in original.alive] == original.cells()
        for number, expected in zip(original.alive, original.views(), strict=True):
            seen = world["observations"][0, number].cpu().numpy() / 255.0
            seen = seen if number < PAIRS else seen[..., ::-1]
            np.testing.assert_allclose(seen, expected.transpose(2, 0, 1), atol=0.5 / 255 + 1e-5)
    assert deaths >= PAIRS


def _mirrored(world: World) -> np.ndarray:
    """For each action of MAgent2 the one that does the same for blue, whose x is mirrored."""
    known = actions_of(world.environment.params)
    return np.array([known.index(((-x, y), strikes)) for (x, y), strikes in known])


def _actions(world: World, generator: np.random.Generator) -> np.ndarray:
    """(agents,): one of each pair acts, the other stays."""
    known, soldiers = actions_of(world.environment.params), soldiers_of(world)
    stay = known.index(((0, 0), False))
    chosen = np.full(2 * PAIRS, stay)
    for pair in range(PAIRS):
        own, other = (pair, pair + PAIRS)[:: 1 if generator.random() < 0.8 else -1]
        chosen[own] = generator.integers(len(known))
        a, b = soldiers[own].cell, soldiers[other].cell
        towards = ((b[0] - a[0], b[1] - a[1]), True) if a and b else None
        if towards in known and generator.random() < 0.9:
            chosen[own] = known.index(towards)
    return chosen
