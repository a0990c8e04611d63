"""Skirmish and its script beside JaxMARL's SMAX, from equal states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.skirmish.original import Originals
from tests.packaged import packaged
from tests.scripts import script_outputs
from warpworld import World

pytest.importorskip("jaxmarl", reason="no JaxMARL here: pip install jaxmarl")
pytestmark = pytest.mark.slow
SCENARIOS = ("2s3z", "5m_vs_6m", "3s5z_vs_3s6z", "6h_vs_8z", "27m_vs_30m", "2M3g_vs_1M2g1h", "smacv2_5_units")
TOLERANCE = 1e-4
NO_NOISE = {"cooldown_noise": 0.0}


@pytest.fixture(autouse=True)
def _no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The original's time between shots without noise; its step is traced with this in place."""
    import jax
    import jax.numpy as jnp

    def nothing(key: Any, shape: Any = (), dtype: Any = float, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
        return jnp.zeros(shape)

    monkeypatch.setattr(jax.random, "uniform", nothing)


def make(scenario: str, num_envs: int, seed: int) -> World:
    world = packaged("skirmish", num_envs, "cpu", seed, final_observations=True, **NO_NOISE, scenario=scenario)
    world.reset()
    return world


def chances(world: World) -> list[torch.Tensor]:
    """The script's probabilities: of allies, and of enemies."""
    return [script_outputs(world, "attack", name).softmax(-1) for name in ("ally", "enemy")]


def draw(world: World, random_share: float, generator: torch.Generator) -> np.ndarray:
    """Puts new actions in place, some of them random, the others the script's; (envs, units)."""
    given = []
    for name, script in zip(("ally", "enemy"), chances(world), strict=True):
        anything = torch.randint(script.shape[-1], script.shape[:2], generator=generator)
        drawn = torch.multinomial(script.flatten(0, 1), 1, generator=generator).reshape(script.shape[:2])
        is_random = torch.rand(script.shape[:2], generator=generator) < random_share
        given.append(torch.where(is_random, anything, drawn))
        world[f"actions_{name}"][..., 0] = given[-1].int()
    return torch.cat(given, 1).numpy()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_steps_are_smaxs(scenario: str) -> None:
    num_envs, steps = 64, 100
    world = make(scenario, num_envs, seed=3)
    originals = Originals(world, max_steps=99)  # which ends an episode one step later
    generator = torch.Generator().manual_seed(1)
    ends = 0
    for _ in range(steps):
        originals.follow(world)
        rewards, ended = originals.step(draw(world, 0.3, generator))
        world.step()
        over = (world["terminated"] | world["truncated"]).cpu().numpy()
        np.testing.assert_array_equal(over, ended)
        np.testing.assert_allclose(world.data.numpy("rewards"), rewards, atol=TOLERANCE)
        views, state = originals.views(), originals.state
        sides = [world.data.numpy(f"{kind}observations_{name}") for kind in ("", "final_") for name in world.groups]
        now, last = np.concatenate(sides[:2], 1), np.concatenate(sides[2:], 1)
        np.testing.assert_allclose(np.where(over[:, None, None], last, now), views, atol=TOLERANCE)
        for name, theirs in (("health", state.unit_health), ("cooldown", state.unit_weapon_cooldowns)):
            np.testing.assert_allclose(world.data.numpy(name)[~over], np.asarray(theirs)[~over], atol=TOLERANCE)
        places = np.stack([world.data.numpy("x"), world.data.numpy("y")], -1)
        np.testing.assert_allclose(places[~over], originals.positions()[~over], atol=TOLERANCE)
        for unit, mask in enumerate(originals.masks()):
            ours = world.data.numpy("action_mask")[:, unit, : mask.shape[1]]
            np.testing.assert_array_equal(ours[~over], mask[~over])
        ends += int(over.sum())
    assert ends >= num_envs


class Heuristics:
    """The original's heuristic for all units, which chases the opponent that ``wanted`` says where it sees that one."""

    def __init__(self, world: World, originals: Originals, monkeypatch: pytest.MonkeyPatch) -> None:
        import jax
        import jax.numpy as jnp
        from jaxmarl.environments.smax.heuristic_enemy import (
            create_heuristic_policy,
            get_heuristic_policy_initial_state,
        )

        self._jax, self._originals = jax, originals
        sizes = (originals.allies, originals.enemies)
        self._sides = (slice(0, sizes[0]), slice(sizes[0], None))
        key = jax.random.PRNGKey(0)

        def act(team: int, states: Any, views: Any, wanted: Any) -> Any:
            def choice(key: Any, places: Any, p: Any) -> Any:
                return places[jnp.argmax(jnp.nan_to_num(p) * (1 + (jnp.arange(len(p)) == wanted)))]

            monkeypatch.setattr(jax.random, "choice", choice)
            policy = create_heuristic_policy(originals.env, team)
            every = jax.vmap(jax.vmap(policy, (None, 0, 0)), (None, 0, 0))
            return every(key, states, views)

        self._act = [jax.jit(lambda *given, team=team: act(team, *given)) for team in range(2)]

        def first(size: int) -> Any:
            return jax.tree.map(
                lambda x: jnp.broadcast_to(x, (world.num_envs, size, *jnp.shape(x))),
                get_heuristic_policy_initial_state(),
            )

        self._states = [first(size) for size in sizes]

    def step(self, views: np.ndarray) -> list[np.ndarray]:
        """Of each side (opponents, envs, units): the choices, for each opponent that could be chased."""
        found = []
        for side in range(2):
            opponents = (self._originals.enemies, self._originals.allies)[side]
            seen = views[:, self._sides[side]]
            outcomes = [self._act[side](self._states[side], seen, wanted) for wanted in range(opponents)]
            self._states[side] = outcomes[0][1]
            found.append(np.stack([np.asarray(choices) for choices, _ in outcomes]))
        return found


@pytest.mark.parametrize("scenario", ["2s3z", "5m_vs_6m", "2M3g_vs_1M2g1h"])
def test_the_script_is_smaxs_heuristic(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each opponent in view the way that leads to it has its share of the probability; shots are certain."""
    num_envs = 32
    world = make(scenario, num_envs, seed=5)
    originals = Originals(world)
    heuristics = Heuristics(world, originals, monkeypatch)
    generator = torch.Generator().manual_seed(2)
    compared, shots = 0, 0
    running = np.ones(num_envs, dtype=bool)  # in their first episode
    for _ in range(60):
        originals.follow(world)
        views = originals.views()
        expected = heuristics.step(views)
        for name, theirs, ours in zip(world.groups, expected, chances(world), strict=True):
            units = world.groups[name].slice
            lives = (world.data.numpy("health")[:, units] > 0) & running[:, None]
            first = 13 * (world.groups[name].size - 1)
            in_view = views[:, units, first : first + 13 * len(theirs) : 13] > 0
            weights = np.where(in_view.any(-1, keepdims=True), in_view, 1.0).astype(float)
            weights /= weights.sum(-1, keepdims=True)
            chosen = np.eye(ours.shape[-1])[theirs]  # opponents, envs, units, choices
            mean = np.einsum("kuc,uk->uc", chosen[:, lives], weights[lives])
            np.testing.assert_allclose(ours[lives], mean, atol=1e-6)
            compared, shots = compared + lives.sum(), shots + (theirs[0][lives] > 4).sum()
        draw(world, 0.0, generator)
        world.step()
        running &= ~(world["terminated"] | world["truncated"]).cpu().numpy()
    assert compared > 1000
    assert shots > 500
