"""Games of particles beside mpe2, from equal states with equal actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.particles.original import Originals
from tests.packaged import packaged
from warpworld import World

STEPS, NUM_ENVS = 25, 4
NEAR = 1e-5  # rewards of agents that touch so narrowly may fall on either side

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "adversary": ("adversary", {}),
    "adversary-5": ("adversary", dict(agents=5, damping=0.4)),
    "crypto": ("crypto", {}),
    "push": ("push", {}),
    "push-heavy": ("push", dict(mass=2.0)),
    "pursuit": ("pursuit", {}),
    "reference": ("reference", {}),
    "reference-0.2": ("reference", dict(local_ratio=0.2, episode_length=10)),
    "simple": ("simple", dict(damping=0.4)),
    "speaker_listener": ("speaker_listener", {}),
    "spread": ("spread", {}),
    "spread-1": ("spread", dict(agents=1)),
    "spread-5": ("spread", dict(agents=5, damping=0.1, mass=2.0, local_ratio=0.3)),
}
# Contacts of so many push errors of float32 beyond 1e-5 within 25 steps: states are injected anew before each step.
CROWDS: dict[str, tuple[str, dict[str, Any]]] = {
    "spread-12": ("spread", dict(agents=12)),
    "world_comm": ("world_comm", {}),
    "world_comm-3-2": ("world_comm", dict(agents=3, adversaries=2, obstacles=2, food=1, forests=3)),
    "pursuit-2-4-3": ("pursuit", dict(agents=2, adversaries=4, obstacles=3, prey_speed=0.75)),
}


def seen(world: World, group: str, over: bool) -> np.ndarray:
    """What a group sees, of the episode that has just ended if one has."""
    prefix = "final_observations" if over else "observations"
    return world.data.numpy(prefix if prefix in world.data else f"{prefix}_{group}")


def begun(game: str, params: dict[str, Any]) -> World:
    """A world whose agents begin near each other, where it has several."""
    world = packaged(f"particles_{game}", NUM_ENVS, device="cpu", seed=5, final_observations=True, **params)
    world.reset()
    if "position" in world.data:
        world["position"][NUM_ENVS // 2 :] *= 0.3
    return world


def walk(game: str, params: dict[str, Any], injected: bool) -> None:
    world, generator = begun(game, params), np.random.default_rng(1)
    originals, length = Originals(world), world.environment.params.episode_length
    heads = [originals.spaces(name)[1] for name, group in world.groups.items() for _ in range(group.size)]
    for step in range(1, min(STEPS, length) + 1):
        actions = generator.integers(0, heads, (NUM_ENVS, world.num_agents))
        world["actions"][...] = torch.from_numpy(actions.astype(np.int32))[..., None]
        if injected:
            originals.follow(world)
        world.step()
        rewards, cut = originals.step(actions)
        clear = originals.gaps() > NEAR
        np.testing.assert_allclose(world.data.numpy("rewards")[clear], rewards[clear], rtol=1e-5, atol=1e-5)
        assert clear.sum() >= NUM_ENVS - 2
        np.testing.assert_array_equal(world.data.numpy("truncated"), cut)
        assert cut.all() == (step == length) and not world.data.numpy("terminated").any()
        for name in world.groups:
            np.testing.assert_allclose(seen(world, name, step == length), originals.observations(name), atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_mpe2_moves_pays_and_shows_the_same_for_a_whole_episode(case: str) -> None:
    pytest.importorskip("mpe2", reason="mpe2 is not installed; make peers")
    walk(*CASES[case], injected=False)


@pytest.mark.long
@pytest.mark.parametrize("case", CROWDS)
def test_mpe2_moves_pays_and_shows_the_same_to_crowds_in_each_step(case: str) -> None:
    pytest.importorskip("mpe2", reason="mpe2 is not installed; make peers")
    walk(*CROWDS[case], injected=True)


@pytest.mark.parametrize("game", sorted({game for game, _ in CASES.values()}))
def test_spaces_are_those_of_mpe2(game: str) -> None:
    pytest.importorskip("mpe2", reason="mpe2 is not installed; make peers")
    world = begun(game, {})
    originals = Originals(world)
    for name, group in world.groups.items():
        assert (group.observation.shape[0], int(group.action.n)) == originals.spaces(name)
