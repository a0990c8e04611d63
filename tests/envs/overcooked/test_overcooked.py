"""Overcooked against an oracle in plain Python and against JaxMARL's, and its layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.overcooked.overcooked_oracle import Kitchen
from tests.packaged import packaged
from warpworld import World
from warpworld.envs.overcooked.layouts import CLASSIC, layout_of
from warpworld.envs.overcooked.overcooked import Overcooked
from warpworld.errors import DeclarationError

ITEMS = ("", "onion", "plate", "soup")
ODDS = np.array([1, 1, 1, 1, 0.5, 4]) / 8.5  # of actions: cooks that use their hands meet more of the rules
STEPS = 60


def make(layout: str, num_envs: int, seed: int = 0, **params: Any) -> World:
    """A world on the cpu in which small rewards count whole, after its first reset."""
    options = dict(num_envs=num_envs, device="cpu", seed=seed, final_observations=True)
    world = packaged("overcooked", layout=layout, **options, **params)
    world.reset()
    world["shaping"][...] = 1.0
    return world


def act(world: World, actions: np.ndarray) -> None:
    """One step with an action (envs, 2) for each cook."""
    world["actions"][:] = torch.from_numpy(actions.astype(np.int32))[..., None]
    world.step()


def seen(world: World) -> np.ndarray:
    """What agents saw at the end of the last step, in onions, steps and flags."""
    ended = world["truncated"][:, None, None, None, None]
    values = torch.where(ended, world["final_observations"], world["observations"]).cpu().numpy()
    scale = np.full(22, 255.0)
    scale[[15, 16]], scale[17] = 85.0, 13.0
    return values / scale[:, None, None]


def kitchens(world: World, layout: str) -> list[Kitchen]:
    """The oracle's kitchens in the state of the world."""
    rows = [row.replace("1", " ").replace("2", " ") for row in CLASSIC[layout]]
    columns, arrays = len(rows[0]), {name: world.data.numpy(name) for name in ("place", "facing", "held", "contents")}
    found = []
    for env in range(world.num_envs):
        contents = {(k % columns, k // columns): int(value) for k, value in enumerate(arrays["contents"][env])}
        kind = {(x, y): rows[y][x] for x, y in contents}
        pots = {c: ("onions", 23 - v) if v >= 20 else ("cooking", v) for c, v in contents.items() if kind[c] == "P"}
        counters = {c: ITEMS[v] for c, v in contents.items() if kind[c] == "X" and v}
        places = [(int(k) % columns, int(k) // columns) for k in arrays["place"][env]]
        held = [ITEMS[item] for item in arrays["held"][env]]
        found.append(Kitchen(rows, places, arrays["facing"][env].tolist(), held, counters, pots))
    return found


@pytest.mark.long
@pytest.mark.parametrize("layout", CLASSIC)
def test_steps_are_the_oracles(layout: str) -> None:
    world = make(layout, num_envs=100, seed=7, start="random", episode_length=STEPS)
    generator = np.random.default_rng(1)
    oracles = kitchens(world, layout)
    soups, small_rewards = np.zeros(100), set()
    for step in range(1, STEPS + 1):
        actions = generator.choice(6, (100, 2), p=ODDS)
        outcomes = [kitchen.step(row.tolist()) for kitchen, row in zip(oracles, actions, strict=True)]
        act(world, actions)
        served = np.array([count for count, _ in outcomes])
        small = np.array([rewards for _, rewards in outcomes])
        expected = np.array([[kitchen.layers(cook, STEPS - step < 40) for cook in (0, 1)] for kitchen in oracles])
        np.testing.assert_array_equal(seen(world), expected)
        np.testing.assert_array_equal(world.data.numpy("rewards"), 20 * served[:, None] + small)
        assert world.data.numpy("truncated").all() == (step == STEPS)
        soups, small_rewards = soups + served, small_rewards | set(small.ravel().tolist())
    assert soups.sum() > 0
    assert small_rewards == {0, 3, 5}


def test_random_starts_are_on_floor_that_a_cook_can_walk_to() -> None:
    """In the forced layout the first cook has three cells and the second three others; in the ring both have all."""
    forced = make("forced_coord", num_envs=400, seed=5, start="random")["place"].reshape(-1, 2)
    assert [set(cook.tolist()) for cook in forced.T] == [{6, 11, 16}, {8, 13, 18}]
    ring = make("coord_ring", num_envs=400, seed=5, start="random")["place"].reshape(-1, 2)
    assert [set(cook.tolist()) for cook in ring.T] == [{6, 7, 8, 11, 13, 16, 17, 18}] * 2
    assert (ring[:, 0] != ring[:, 1]).all()


def test_a_part_of_episodes_starts_anywhere() -> None:
    """Each env begins as it would with no random starts, or as with random ones alone."""
    begun = {}
    for share in (0.0, 0.3, 1.0):
        world = make("counter_circuit", num_envs=1000, seed=5)
        world["random_starts"][...] = share
        world.reset()
        begun[share] = np.concatenate(
            [world.data.numpy(name).reshape(1000, -1) for name in ("place", "facing", "held", "contents")], 1
        )
    anywhere = (begun[0.3] == begun[1.0]).all(1)
    np.testing.assert_array_equal(begun[0.3], np.where(anywhere[:, None], begun[1.0], begun[0.0]))
    assert abs(anywhere.mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 1000)


def test_cooks_that_lapse_do_nothing() -> None:
    """Steps are the oracle's with no action for who is idle; lapses begin and end as often as they should."""
    num_envs, steps, lapses = 200, 50, 0.05
    world = make("cramped_room", num_envs, seed=7, start="random")
    world["lapses"][...] = lapses
    generator, oracles = np.random.default_rng(1), kitchens(world, "cramped_room")
    idle = [np.zeros((num_envs, 2), bool)]
    for _ in range(steps):
        actions = generator.choice(6, (num_envs, 2), p=ODDS)
        act(world, actions)
        idle.append(world.data.numpy("idle").copy())
        done = np.where(idle[-1], 4, actions)
        for kitchen, row in zip(oracles, done, strict=True):
            kitchen.step(row.tolist())
    expected = np.array([[kitchen.layers(cook, False) for cook in (0, 1)] for kitchen in oracles])
    np.testing.assert_array_equal(seen(world), expected)
    before, after = np.array(idle[:-1]), np.array(idle[1:])
    for was_idle, probability in ((False, lapses), (True, 0.9)):
        found = after[before == was_idle]
        assert abs(found.mean() - probability) < 4 * np.sqrt(probability * (1 - probability) / found.size)
    world["lapses"][...] = 0.0
    act(world, np.full((num_envs, 2), 4))
    assert not world.data.numpy("idle").any()


@pytest.mark.slow
@pytest.mark.parametrize("layout", CLASSIC)
def test_steps_are_jaxmarls(layout: str) -> None:
    """Exact, in all five layouts, from random kitchens; observations, rewards, small rewards and ends."""
    pytest.importorskip("jaxmarl", reason="no JaxMARL here: pip install jaxmarl")
    from tests.envs.overcooked.original import Originals

    num_envs = 100
    world = make(layout, num_envs, seed=3, start="random", episode_length=STEPS)
    plain = make(layout, num_envs, seed=3, start="random", episode_length=STEPS)
    plain["shaping"][...] = 0.0
    originals = Originals(layout, num_envs, STEPS)
    generator = np.random.default_rng(2)
    originals.follow(world)
    for _ in range(STEPS):
        actions = generator.choice(6, (num_envs, 2), p=ODDS)
        expected, rewards, small, ended = originals.step(actions)
        act(world, actions)
        act(plain, actions)
        np.testing.assert_array_equal(seen(world), expected)
        np.testing.assert_array_equal(plain.data.numpy("rewards"), rewards)
        np.testing.assert_array_equal(world.data.numpy("rewards"), rewards + small)
        np.testing.assert_array_equal(world.data.numpy("truncated"), ended)


def test_a_soup_by_hand() -> None:
    """One cook fills the pot of the cramped room, waits, plates and serves; the other one stands still."""
    world = make("cramped_room", num_envs=1)
    fill = [3, 5, 2, 0, 5]  # face the pile on the left, take an onion, step right, face the pot, put it in
    serve = [1, 3, 1, 5, 2, 0, 0, 5, 1, 2, 1, 5]  # down to the plates, up to the pot, down to the serving cell
    earned, pots = np.zeros(2), []
    for action in [*fill * 3, *[4] * 25, *serve]:
        act(world, np.array([[action, 4]]))
        earned += world.data.numpy("rewards")[0]
        pots.append(int(world.data.numpy("contents")[0, 2]))
    full = len(fill) * 3 - 1
    assert pots[full : full + 22] == [*range(19, -1, -1), 0, 0]
    assert earned.tolist() == [3 * 3 + 3 + 5 + 20, 20]
    assert world["soups"].tolist() == [1]


def test_small_rewards_count_only_as_scheduled() -> None:
    world = packaged("overcooked", num_envs=1, device="cpu", seed=0)
    world.reset()
    world["facing"][...] = 0
    for action in [3, 5, 2, 0, 5]:
        act(world, np.array([[action, 4]]))
    assert world["rewards"].tolist() == [[0.0, 0.0]]
    assert world["contents"][0, 2] == 22


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("XXPXX\nO1 2Q\nXDXSX", "{file}:2: cell 5 is 'Q', expected X, P, O, D, S, 1, 2 or a space"),
        ("XXPXX\nO1 2\nXDXSX", "{file}:2: 4 cells, expected 5 as in line 1"),
        ("XXPXX\nO1 2O\nX X X\nXDXXX", "{file}: no serving cell (S), expected at least one"),
        ("XXXXX\nO1 2O\nXDXSX", "{file}: no pot (P), expected at least one"),
        ("XXPXX\nO1 1O\nXDXSX", "{file}: 2 cells are '1', expected one: where a cook begins"),
        ("XXPXX\nO1 2O\nXDXS ", "{file}:3: floor at the edge, expected counters all around the kitchen"),
        ("XXPXX\n 1 2O\nXDXSX", "{file}:2: floor at the edge, expected counters all around the kitchen"),
        ("XXPXX\n\nO1 2\n", "{file}:3: 4 cells, expected 5 as in line 1"),
        ("", "{file}: the file is empty, expected a line of X, P, O, D, S, 1, 2 or a space for each row"),
    ],
)
def test_files_that_are_no_kitchens(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "kitchen.txt"
    file.write_text(text)
    with pytest.raises(DeclarationError) as caught:
        Overcooked(layout=str(file))
    assert str(caught.value) == message.format(file=file)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            dict(layout="cramped_rom"),
            "layout='cramped_rom': expected cramped_room, asymm_advantages, coord_ring, forced_coord, counter_circuit, "
            "or the path of a text file. Did you mean 'cramped_room'?",
        ),
        (dict(layout="missing.txt"), "layout='missing.txt': the file cannot be read: No such file or directory"),
        (dict(episode_length=0), "episode_length=0: expected 1 to 2^31 - 1"),
        (dict(start="anyhow"), "start='anyhow': expected 'fixed' or 'random'"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Overcooked(**params)
    assert str(caught.value).endswith(message)


def test_a_layout_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.txt"
    file.write_text("\n".join(CLASSIC["coord_ring"]) + "\n")
    mine, classic = layout_of(str(file)), layout_of("coord_ring")
    np.testing.assert_array_equal(mine.cells, classic.cells)
    assert mine.starts == classic.starts == (7, 11)
