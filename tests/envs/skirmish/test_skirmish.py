"""Skirmish against an oracle in NumPy, its rules by hand, its script and its scenarios."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.skirmish.skirmish_oracle import Oracle
from tests.packaged import packaged
from tests.scripts import script_outputs
from warpworld import World
from warpworld.envs.skirmish.scenarios import KINDS, NAMED, scenario_of
from warpworld.envs.skirmish.skirmish import Skirmish
from warpworld.errors import DeclarationError
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.players import Scripted

STOP = 4


def make(num_envs: int = 1, seed: int = 0, **params: Any) -> World:
    """A world on the cpu without noise, after its first reset."""
    world = packaged("skirmish", num_envs, "cpu", seed, final_observations=True, **{"cooldown_noise": 0.0, **params})
    world.reset()
    return world


def put(world: World, **columns: list[float]) -> None:
    """Set arrays of the first env."""
    for name, values in columns.items():
        world[name][0] = torch.tensor(values)


def act(world: World, ally: list[int], enemy: list[int]) -> None:
    """One step of the first env."""
    world["actions_ally"][0, :, 0] = torch.tensor(ally, dtype=torch.int32)
    world["actions_enemy"][0, :, 0] = torch.tensor(enemy, dtype=torch.int32)
    world.step()


def oracles(world: World, side: int) -> list[Oracle]:
    """The oracle's skirmishes in the state of the world."""
    arrays = {name: world.data.numpy(name) for name in ("x", "y", "health", "cooldown", "kind")}
    places = np.stack([arrays["x"], arrays["y"]], -1).astype(float)
    return [
        Oracle(world.groups["ally"].size, arrays["kind"][env], places[env], *own, side)
        for env, own in enumerate(zip(arrays["health"].astype(float), arrays["cooldown"].astype(float), strict=True))
    ]


@pytest.mark.heavy
@pytest.mark.long
def test_steps_are_the_oracles() -> None:
    """From the same state each time; whoever is about to die at a threshold of float32 would be an exception."""
    world = make(20, seed=4, scenario="1M2g1s_vs_2m1z1h", map_width=14, map_height=14)
    generator = np.random.default_rng(0)
    ended = 0
    for _ in range(25):
        expected = oracles(world, 14)
        masks = world.data.numpy("action_mask")[..., :9]
        odds = np.where(np.arange(9) > 4, 8.0, 1.0) * masks + 0.01
        actions = np.array([[generator.choice(9, p=p / p.sum()) for p in env] for env in odds])
        rewards = np.array([oracle.step(row.tolist()) for oracle, row in zip(expected, actions, strict=True)])
        world["actions_ally"][..., 0] = torch.from_numpy(actions[:, :4].astype(np.int32))
        world["actions_enemy"][..., 0] = torch.from_numpy(actions[:, 4:].astype(np.int32))
        world.step()
        np.testing.assert_allclose(world.data.numpy("rewards")[:, [0, -1]], rewards, atol=1e-4)
        over = world.data.numpy("terminated")
        ended += over.sum()
        for env, oracle in enumerate(expected):
            is_over = not (oracle.health[:4] > 0).any() or not (oracle.health[4:] > 0).any()
            assert over[env] == is_over
            views = np.array([oracle.view(unit, actions[env].tolist()) for unit in range(8)])
            names = [f"{'final_' * is_over}observations_{side}" for side in ("ally", "enemy")]
            np.testing.assert_allclose(
                np.concatenate([world.data.numpy(name)[env] for name in names]), views, atol=1e-4
            )
            if not is_over:
                np.testing.assert_allclose(world.data.numpy("cooldown")[env], oracle.cooldown, atol=1e-4)
                flags = [oracle.mask(unit) for unit in range(8)]
                np.testing.assert_array_equal(world.data.numpy("action_mask")[env][:, :9], flags)
    assert ended > 5


def test_a_duel_by_hand() -> None:
    """The ally shoots first and wins with its fifth hit; both earn what the other loses."""
    world = make(scenario="1m")
    put(world, x=[10.0, 14.0], y=[16.0, 16.0], cooldown=[0.0, 100.0])
    earned, healths = [], []
    for _ in range(6):
        act(world, [5], [5])
        earned.append(world.data.numpy("rewards")[0].tolist())
        healths.append(world.data.numpy("health")[0, 1].item())
    assert healths == [36.0, 27.0, 18.0, 18.0, 9.0, 45.0]  # a shot every 0.6875 s, then a new episode
    assert [pay for pay, _ in earned] == pytest.approx([0.2, 0.2, 0.2, 0.0, 0.2, 1.2])
    assert [pay for _, pay in earned] == [0.0] * 6
    assert world["terminated"].tolist() == [True]


def test_walls_kill_and_both_may_lose() -> None:
    world = make(scenario="1m")
    put(world, x=[0.5, 31.5], y=[5.0, 5.0])
    act(world, [3], [1])
    assert world["terminated"].tolist() == [True]
    assert world.data.numpy("rewards").tolist() == [[1.0, 1.0]]  # all health is gone, and nobody has won


def test_without_deadly_walls_units_stop_at_them() -> None:
    world = make(scenario="1m", walls_cause_death=False)
    put(world, x=[0.5, 31.5], y=[5.0, 5.0])
    act(world, [3], [1])
    assert world.data.numpy("x").tolist() == [[0.0, 32.0]]
    assert world["terminated"].tolist() == [False]


def test_units_that_overlap_are_pushed_apart() -> None:
    world = make(scenario="2m_vs_1m")
    put(world, x=[10.0, 10.3, 30.0], y=[16.0, 16.0, 16.0])
    act(world, [STOP, STOP], [STOP])
    x = world.data.numpy("x")[0]
    assert x[1] - x[0] == pytest.approx(0.75, abs=1e-4)
    assert x[1] + x[0] == pytest.approx(20.3, abs=1e-4)


def test_rewards_of_self_play_are_zero_sum() -> None:
    world = make(scenario="1m", self_play_rewards=True, won_bonus=2.0)
    put(world, x=[10.0, 14.0], y=[16.0, 16.0], health=[45.0, 18.0], cooldown=[0.0, 100.0])
    act(world, [5], [STOP])
    assert world.data.numpy("rewards").tolist() == [[0.0, 0.0]]
    act(world, [5], [STOP])
    assert world.data.numpy("rewards").tolist() == [[2.0, -2.0]]


def test_enemy_damage_is_of_each_env() -> None:
    world = make(2, scenario="1m", enemy_damage=[1.0, 0.5])
    for name, values in (("x", [10.0, 14.0]), ("y", [16.0, 16.0])):
        world[name][:] = torch.tensor(values)
    world["actions_ally"][...] = world["actions_enemy"][...] = 5
    world.step()
    assert world.data.numpy("health").tolist() == [[36.0, 36.0], [40.5, 36.0]]


def test_noise_spreads_the_time_between_shots() -> None:
    world = make(500, scenario="1m", cooldown_noise=1.0)
    for name, values in (("x", [10.0, 14.0]), ("y", [16.0, 16.0])):
        world[name][:] = torch.tensor(values)
    world["actions_ally"][...] = world["actions_enemy"][...] = 5
    world.step()
    reload = world.data.numpy("cooldown") + 7 / 16  # the first tick shot, seven have passed since
    assert reload.min() >= 0.61 - 1 / 16 - 1e-6
    assert reload.max() <= 0.61 + 2 / 16 + 1e-6
    assert reload.mean() == pytest.approx(0.61 + 0.5 / 16, abs=0.005)
    assert reload.std() == pytest.approx(3 / 16 / np.sqrt(12), abs=0.003)


def test_what_opponents_did_can_be_hidden() -> None:
    seen = {}
    for shown in (True, False):
        world = make(scenario="2m_vs_1m", see_enemy_actions=shown)
        put(world, x=[10.0, 12.0, 14.0], y=[16.0, 16.0, 16.0])
        act(world, [0, STOP], [5])
        seen[shown] = world.data.numpy("observations_ally")[0, 1]
    friend, enemy = slice(3, 6), slice(16, 19)
    assert seen[True][friend].tolist() == seen[False][friend].tolist() == [0.0, 1.0, 0.0]
    assert seen[True][enemy].tolist() == pytest.approx([0.0, 0.0, 5 / 6])
    assert seen[False][enemy].tolist() == [0.0, 0.0, 0.0]


# ---- the script -----------------------------------------------------------------------------------------------------
def chances(world: World, side: str) -> list[list[float]]:
    """The script's probabilities in the first env, of every unit of a side."""
    found: list[list[float]] = script_outputs(world, "attack", side)[0].softmax(-1).tolist()
    return [[round(chance, 4) for chance in row] for row in found]


def test_the_script_stays_with_its_target() -> None:
    world = make(scenario="1m_vs_2m")
    put(world, x=[10.0, 13.0, 14.0], y=[16.0, 16.0, 16.0])
    assert chances(world, "ally") == [[0, 0, 0, 0, 0, 1, 0]]  # the nearest
    world["last_action"][0, 0] = 6
    assert chances(world, "ally") == [[0, 0, 0, 0, 0, 0, 1]]
    world["health"][0, 2] = 0.0
    assert chances(world, "ally") == [[0, 0, 0, 0, 0, 1, 0]]


def test_the_script_walks_to_those_it_sees_or_across() -> None:
    world = make(scenario="1m_vs_2m")
    put(world, x=[10.0, 10.0, 18.0], y=[16.0, 23.0, 16.0], goal_x=[5.0, 0.0, 0.0], goal_y=[16.0, 0.0, 0.0])
    assert chances(world, "ally") == [[0.5, 0.5, 0, 0, 0, 0, 0]]  # north to one, east to the other
    assert chances(world, "enemy") == [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]]
    put(world, x=[10.0, 25.0, 25.0])
    assert chances(world, "ally") == [[0, 0, 0, 1, 0, 0, 0]]


@pytest.mark.long
def test_the_script_beats_random_units() -> None:
    world = packaged("skirmish", 64, "cpu", scenario="3m")
    player = Scripted("attack", world.environment.scripts()["attack"])
    actors = [Actor(world, "ally"), Actor(world, "enemy", player)]
    world.reset()
    games = lost = 0
    for _ in range(100):
        for actor in actors:
            actor.act()
        world.step()
        games += int(world["terminated"].sum())
        lost += int((world["rewards"][:, -1] >= 1.0).sum())
    assert games > 50
    assert lost > 0.95 * games


# ---- sides that are drawn -------------------------------------------------------------------------------------------
PUSHED = 1.0  # cells by which units that overlap at the start may be pushed, at most


def starts(scenario: str, num_envs: int = 2000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kinds (envs, units), places (envs, units, 2) from the middle of a map of 32 x 32, and which envs are mirrored."""
    world = make(num_envs, scenario=scenario)
    kinds = world.data.numpy("kind").copy()
    places = np.stack([world.data.numpy("x"), world.data.numpy("y")], -1) - 16.0
    np.testing.assert_array_equal(world.data.numpy("health"), np.array([kind.health for kind in KINDS])[kinds])
    allies = world.groups["ally"].size
    both = min(allies, world.groups["enemy"].size)
    allied, hostile = places[:, :both], places[:, allies : allies + both]
    apart = np.abs(allied * (-1.0, 1.0) - hostile).max((1, 2))
    return kinds, places, apart < (1e-3 if len(kinds[0]) == 2 * both else PUSHED)


def test_drawn_sides_are_of_the_same_kinds() -> None:
    kinds, _, _ = starts("smacv2_5_units")
    np.testing.assert_array_equal(kinds[:, :5], kinds[:, 5:])
    counts = np.bincount(kinds[:, :5].ravel(), minlength=len(KINDS))
    expected = 2000 * 5 / len(KINDS)
    assert (np.abs(counts - expected) < 5 * expected**0.5).all()
    assert np.abs(np.corrcoef(kinds[:, :5].T) - np.eye(5)).max() < 0.1


@pytest.mark.parametrize("scenario", ["smacv2_3_vs_5_units", "smacv2_5_vs_3_units"])
def test_the_larger_side_s_other_units_are_drawn_on_their_own(scenario: str) -> None:
    kinds, places, is_mirrored = starts(scenario)
    allies = scenario_of(scenario).allies
    np.testing.assert_array_equal(kinds[:, :3], kinds[:, len(allies) : len(allies) + 3])
    others = kinds[:, 3:5] if len(allies) == 5 else kinds[:, 6:8]
    assert len(np.unique(others, axis=0)) == len(KINDS) ** 2
    sides = np.where(np.arange(8) < len(allies), -1.0, 1.0)
    assert (places[is_mirrored, :, 0] * sides > -PUSHED).all()


def test_half_of_the_drawn_sides_are_mirrored_in_all_of_their_halves() -> None:
    _, places, is_mirrored = starts("smacv2_5_units")
    assert abs(is_mirrored.mean() - 0.5) < 0.06
    allied = places[is_mirrored, :5]
    assert (allied[..., 0] < PUSHED).all()
    assert np.abs(allied.mean((0, 1)) - (-8.0, 0.0)).max() < 0.6
    assert (np.abs(allied).max((0, 1)) > 15.5).all()


def test_the_other_drawn_sides_are_inside_and_around() -> None:
    _, places, is_mirrored = starts("smacv2_5_units")
    sides = places[~is_mirrored].reshape(-1, 2, 5, 2)
    are_allies_inside = np.abs(sides[:, 0]).max((1, 2)) < np.abs(sides[:, 1]).max((1, 2))
    assert abs(are_allies_inside.mean() - 0.5) < 0.1
    inside = np.where(are_allies_inside[:, None, None], sides[:, 0], sides[:, 1])
    around = np.where(are_allies_inside[:, None, None], sides[:, 1], sides[:, 0])
    # a side that is around by less than its noise is taken for the other
    assert np.abs(inside).max() < 2.0 + PUSHED
    out = np.abs(around)
    assert np.abs(out[..., 0] - out[..., 1]).max() < 4.0 + PUSHED
    assert abs(out.mean() - 8.0) < 0.6
    assert out.max() > 16.5, "some start beyond the edge"
    one_part = np.sign(around[:, 1:]) == np.sign(around[:, :1])
    far = out.min((1, 2)) > 3.0
    assert abs(one_part[far].all(-1).mean() - 0.25) < 0.05
    together = np.abs(around[:, 1:] - around[:, :1])[far][one_part[far].all(-1)]
    assert together.max() < 4.0 + 2 * PUSHED


def test_who_starts_beyond_the_edge_dies_in_the_first_step() -> None:
    world = make(500, scenario="smacv2_10_units")
    places = np.stack([world.data.numpy("x"), world.data.numpy("y")], -1)
    is_out = (places <= 0).any(-1) | (places >= 32).any(-1)
    for name in ("ally", "enemy"):
        world[f"actions_{name}"].fill_(STOP)
    world.step()
    ended = (world["terminated"] | world["truncated"]).numpy()
    dead = world.data.numpy("health") <= 0
    assert is_out.sum() > 100
    assert dead[~ended][is_out[~ended]].all()
    assert not dead[~ended][~is_out[~ended]].all()


# ---- scenarios ------------------------------------------------------------------------------------------------------
def test_scenarios_are_read() -> None:
    assert scenario_of("2s3z").allies == scenario_of("2s3z").enemies == (2, 2, 3, 3, 3)
    assert scenario_of("1M1g_vs_2h").enemies == (5, 5)
    sizes = [(len(scenario_of(name).allies), len(scenario_of(name).enemies)) for name in NAMED]
    listed = [(3, 3), (8, 8), (25, 25), (5, 5), (8, 8), (5, 6), (10, 11), (27, 30), (3, 5), (8, 9), (6, 8)]
    assert sizes == [*listed, (5, 5), (10, 10), (20, 20)]
    assert scenario_of("smacv2_2_vs_3_units").enemies == (-1, -1, -1)


KINDS_KNOWN = "m (marine), M (marauder), s (stalker), z (zealot), g (zergling), h (hydralisk)"
NAMES_KNOWN = "SMAX's: " + ", ".join(NAMED)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            dict(scenario="5m_v_6m"),
            "scenario='5m_v_6m': expected numbers of units such as 2s3z, both sides as in 5m_vs_6m, or "
            "drawn units as in smacv2_5_units. Did you mean "
            f"'5m_vs_6m'? {NAMES_KNOWN}",
        ),
        (
            dict(scenario=""),
            "scenario='': expected numbers of units such as 2s3z, both sides as in 5m_vs_6m, or "
            "drawn units as in smacv2_5_units. " + NAMES_KNOWN,
        ),
        (dict(scenario="2s3q"), f"scenario='2s3q': 'q' is no kind of unit, expected {KINDS_KNOWN}"),
        (dict(scenario="0m"), "scenario='0m': 0 units of kind 'm', expected 1 to 1024"),
        (dict(scenario="512m_vs_513m"), "scenario='512m_vs_513m': 1025 units, expected 1024 at most"),
        (dict(scenario="smacv2_0_units"), "scenario='smacv2_0_units': 0 units, expected 1 to 1024 on a side"),
        (dict(scenario="smacv2_600_units"), "scenario='smacv2_600_units': 1200 units, expected 1024 at most"),
        (dict(map_width=4), "map_width=4: expected 8 to 4096"),
        (dict(episode_length=0), "episode_length=0: expected 1 to 2^31 - 1"),
        (dict(cooldown_noise=2.0), "cooldown_noise=2.0: expected 0 to 1"),
        (dict(enemy_damage=-1.0), "enemy_damage=-1.0: expected a finite number of at least 0"),
        (dict(won_bonus=float("inf")), "won_bonus=inf: expected a finite number of at least 0"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Skirmish(**params)
    assert str(caught.value).endswith(message)
