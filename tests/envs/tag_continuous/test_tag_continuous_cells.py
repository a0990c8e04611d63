"""The nearest of many agents, which tag_continuous seeks by cells: bit for bit what a look at everybody finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import often
from warpworld import Kernel, World
from warpworld.envs.tag_continuous.tag_continuous import NUM_BLOCKS, TagContinuous

FOLDER = TagContinuous.source_path().parent
SIDE = 20.0
FIELDS = ("loc_x", "loc_y", "speed", "acceleration", "direction")  # in the order of an observation's blocks


def edited(folder: Path, *edits: tuple[str, str]) -> str:
    """A copy of the kernel's files with some texts replaced, each of which must be there."""
    for path in (*FOLDER.glob("*.cu"), *FOLDER.glob("*.cuh")):
        (folder / path.name).write_text(path.read_text())
    for old, new in edits:
        found = [path for path in folder.iterdir() if old in path.read_text()]
        assert found, old
        for path in found:
            path.write_text(path.read_text().replace(old, new))
    return str(folder / TagContinuous.source_path().name)


# The ways to run: where lanes take turns, as a CPU's do; side by side, as a GPU's do; and then with the agents of a
# cell in another order than that of their indices, as lanes that run at the same time may come.
AS_ON_A_GPU = ("LANES_SIDE_BY_SIDE", "true")
REVERSED = ("cells.first[cell] + left - 1,", "cells.first[cell + 1] - left,")
WAYS: dict[str, tuple[tuple[str, str], ...]] = {
    "taking turns": (),
    "side by side": (AS_ON_A_GPU,),
    "in another order": (AS_ON_A_GPU, REVERSED),
}


class Worlds:
    """Worlds whose agents stand where they are put, kept by way and size, since each is compiled."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._worlds: dict[tuple[str, int, int, int, float], World] = {}

    def get(self, way: str, num_agents: int, observed: int, taggers: int | None = None, reach: float = 0.0) -> World:
        """A world of one env in which nobody leaves and no episode is reset; of a tenth taggers by default."""
        taggers = taggers or num_agents // 10
        key = (way, num_agents, observed, taggers, reach)
        if key not in self._worlds:
            folder = self._folder / way.replace(" ", "-")  # one for each way, so that a size is compiled once
            folder.mkdir(exist_ok=True)

            class Standing(TagContinuous):
                source = edited(folder, *WAYS[way])

                def phases(self) -> list[Kernel]:
                    (step,) = super().phases()
                    one, most = step.threads_per_env  # one lane where lanes take turns
                    return [Kernel("step", threads_per_env=(one, most) if way == "taking turns" else most)]

                def resets(self) -> list[str]:
                    return []

            declared = Standing(
                num_taggers=taggers,
                num_runners=num_agents - taggers,
                num_other_agents_observed=observed,
                use_full_observation=False,
                grid_length=SIDE,
                tagging_distance=reach,
                runner_exits_game_after_tagged=False,
            )
            self._worlds[key] = World(declared, 1, "cpu", num_workers=1)
            self._worlds[key].reset()
        return self._worlds[key]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    return Worlds(tmp_path_factory.mktemp("ways"))


def nearest(x: np.ndarray, y: np.ndarray, in_game: np.ndarray, count: int) -> np.ndarray:
    """(agents, count) the nearest others in the game of each, the lowest index first among equals; -1 for nobody.

    In float32 as the kernel reckons, so that the order is the same to the last bit.
    """
    num_agents = len(x)
    assert x.dtype == y.dtype == np.float32
    dx, dy = x[None, :] - x[:, None], y[None, :] - y[:, None]
    apart = dx * dx + dy * dy
    apart[:, ~in_game] = np.inf
    np.fill_diagonal(apart, np.inf)
    order = np.argsort(apart, axis=1, kind="stable")[:, :count]
    found = np.where(np.isinf(np.take_along_axis(apart, order, 1)), -1, order)
    found[~in_game] = -1
    return np.pad(found, ((0, 0), (0, count - min(count, num_agents))), constant_values=-1)


def expected_rows(world: World, found: np.ndarray, in_game: np.ndarray) -> np.ndarray:
    """(agents, features) float32: what agents see that see these others."""
    one, place = np.float32(1.0), np.float32(1.41421356237309505) * np.float32(SIDE)
    speed = np.float32(world.environment.params.max_speed) + np.float32(1e-10)
    scales = (one / place, one / place, one / speed, one / speed, one / np.float32(6.28318530717958648))
    columns = []
    for name, scale in zip(FIELDS, scales, strict=True):
        values = world.data.numpy(name)[0]
        columns.append(np.where(found >= 0, (values[found] - values[:, None]) * scale, np.float32(0.0)))
    columns.append((found >= 0) & (found < world.environment.params.num_taggers))
    columns.append(found >= 0)
    timestep = np.float32(world["timestep"][0].item()) / np.float32(world.environment.params.episode_length)
    columns.append(np.where(in_game, timestep, np.float32(0.0))[:, None])
    return np.concatenate([column.astype(np.float32) for column in columns], axis=1)


def check(world: World, x: np.ndarray, y: np.ndarray, in_game: np.ndarray, generator: np.random.Generator) -> None:
    """Agents that stand there see exactly the nearest."""
    x, y = (np.clip(values, 0.0, SIDE).astype(np.float32) for values in (x, y))
    in_game = in_game.copy()
    in_game[-1] = True
    world["loc_x"], world["loc_y"] = x[None], y[None]
    world["speed"], world["acceleration"], world["actions"] = 0.0, 0.0, 0
    world["direction"] = (generator.random((1, len(x))) * 6.0).astype(np.float32)
    world["still_in_the_game"] = in_game[None].astype(np.int32)
    world["num_runners"], world["timestep"] = 1, int(generator.integers(0, 50))
    world.step()
    np.testing.assert_array_equal(world.data.numpy("loc_x")[0], x)  # nobody has moved
    found = nearest(x, y, in_game, world.environment.params.num_other_agents_observed)
    rows = world.data.numpy("observations")[0]
    assert rows.shape[1] == NUM_BLOCKS * found.shape[1] + 1
    np.testing.assert_array_equal(rows, expected_rows(world, found, in_game))


def places(kind: str, num_agents: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(agents,) x and y, float64: a placement that is hard on cells."""
    x, y = generator.random((2, num_agents)) * SIDE
    corner = generator.choice([0.0, SIDE], (2, num_agents))
    match kind:
        case "anywhere":
            return x, y
        case "one cell":
            return 0.3 + x * 1e-3, 19.7 + y * 1e-3
        case "one place":
            return np.full(num_agents, 7.7), np.full(num_agents, 11.1)
        case "edge":
            return np.where(generator.random() < 0.5, 0.0, SIDE) + 0.0 * x, y
        case "corners":
            return corner[0], corner[1]
        case "crowded corner":
            return SIDE * (x / SIDE) ** 6, SIDE - SIDE * (y / SIDE) ** 6
        case "two crowds":
            first = generator.random(num_agents) < 0.98
            return np.where(first, x * 0.02, SIDE - x * 0.1), np.where(first, y * 0.02, SIDE - y * 0.1)
        case "lattice":  # distances are equal, and places lie on the sides of cells
            step = SIDE / generator.integers(4, 40)
            return np.floor(x / step) * step, np.floor(y / step) * step
        case "a line":
            return x, np.full(num_agents, 10.0)
    raise ValueError(kind)


KINDS = ("anywhere", "one cell", "one place", "edge", "corners", "crowded corner", "two crowds", "lattice", "a line")
EACH_WAY = [("taking turns", 420, 10), ("side by side", 200, 10), ("in another order", 200, 10)]
each_way = pytest.mark.parametrize(("way", "num_agents", "observed"), EACH_WAY)


@pytest.mark.long
@each_way
@pytest.mark.parametrize("kind", KINDS)
def test_the_nearest_wherever_agents_are(way: str, num_agents: int, observed: int, kind: str, worlds: Worlds) -> None:
    world, generator = worlds.get(way, num_agents, observed), np.random.default_rng(5)
    for share in (1.0, 0.6, 0.1, 0.02, 0.0):  # of the agents are in the game, at last one alone
        in_game = generator.random(num_agents) < share
        check(world, *places(kind, num_agents, generator), in_game, generator)


@settings(max_examples=40, deadline=None)
@given(
    way=st.sampled_from(EACH_WAY),
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    shift=st.floats(0.0, 1.0),
    share=st.sampled_from((1.0, 0.9, 0.3, 0.05)),
    seed=st.integers(0, 2**32 - 1),
)
@pytest.mark.long
def test_the_nearest_of_mixed_crowds(
    way: tuple[str, int, int], kinds: list[str], shift: float, share: float, seed: int, worlds: Worlds
) -> None:
    world, generator = worlds.get(*way), np.random.default_rng(seed)
    num_agents = way[1]
    mixed = np.stack([places(kind, num_agents, generator) for kind in kinds])
    x, y = np.take_along_axis(mixed, generator.integers(0, len(kinds), (1, 1, num_agents)), 0)[0]
    check(world, (x + shift * SIDE) % (SIDE * 1.0001), y, generator.random(num_agents) < share, generator)


@pytest.mark.parametrize(
    ("way", "observed"),
    [
        pytest.param("side by side", 1),
        pytest.param("taking turns", 30),
        pytest.param("taking turns", 1, marks=pytest.mark.slow),
        pytest.param("side by side", 30, marks=pytest.mark.slow),
    ],
)
def test_other_numbers_of_nearest(way: str, observed: int, worlds: Worlds) -> None:
    world, generator = worlds.get(way, 450, observed), np.random.default_rng(6)
    for kind in KINDS:
        check(world, *places(kind, 450, generator), generator.random(450) < 0.8, generator)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_the_nearest_of_more_agents_than_a_block_has_threads(way: str, worlds: Worlds) -> None:
    world, generator = worlds.get(way, 1100, 3), np.random.default_rng(8)
    for kind in KINDS:
        check(world, *places(kind, 1100, generator), generator.random(1100) < 0.9, generator)


@pytest.mark.long
@pytest.mark.parametrize("reach", [0.0, 0.004, 0.05, 1.0])
@pytest.mark.parametrize("way", WAYS)
def test_the_nearest_of_many_taggers_is_paid(way: str, reach: float, worlds: Worlds) -> None:
    world, generator = worlds.get(way, 560, 2, 260, reach), np.random.default_rng(9)
    tagged = 0
    for kind in KINDS:
        x, y = places(kind, 560, generator)
        check(world, x, y, generator.random(560) < 0.9, generator)
        x, y = world.data.numpy("loc_x")[0], world.data.numpy("loc_y")[0]
        playing = world.data.numpy("still_in_the_game")[0] != 0
        dx, dy = x[:260] - x[260:, None], y[:260] - y[260:, None]
        apart = np.where(playing[:260], dx * dx + dy * dy, np.float32(np.inf))
        margin = np.float32(reach) * np.float32(SIDE)
        caught = (apart.min(1) < margin * margin) & playing[260:]
        tags = np.bincount(apart.argmin(1)[caught], minlength=260)
        np.testing.assert_array_equal(world.data.numpy("rewards")[0], np.concatenate([tags, -1.0 * caught]))
        tagged += int(caught.sum())
    assert (tagged > 0) == (reach > 0)


@pytest.mark.long
def test_starts_are_the_same_by_cells(tmp_path: Path) -> None:
    class Direct(TagContinuous):
        source = edited(tmp_path, ("MANY_TAGGERS = 256", "MANY_TAGGERS = 1 << 20"))

    params = dict(num_taggers=300, num_runners=250, use_full_observation=False, grid_length=SIDE)
    for reach in (0.01, 0.03, 0.2):  # room for all, for some, and for none out of reach
        worlds = [World(kind(**params, tagging_distance=reach), 3, "cpu") for kind in (TagContinuous, Direct)]
        for world in worlds:
            world.reset()
        for name in FIELDS:
            np.testing.assert_array_equal(*(world.data.numpy(name) for world in worlds))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("num_agents", often([1024], [1000, 1024, 2000]))
def test_the_nearest_of_a_full_block(way: str, num_agents: int, worlds: Worlds) -> None:
    world, generator = worlds.get(way, num_agents, 10), np.random.default_rng(7)
    for kind in KINDS:
        check(world, *places(kind, num_agents, generator), generator.random(num_agents) < 0.9, generator)
