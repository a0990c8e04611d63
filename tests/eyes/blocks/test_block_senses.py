"""What the blocks with cameras show, alone and together: beside environments written in CUDA, and an oracle."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.eyes.arenas import distances
from tests.eyes.blocks.block_worlds import ALL, NOTHING, SMALL, act, declared, made, place
from tests.eyes.floor_oracle import FACET_COLOURS, bilinear
from tests.eyes.raycast_oracle import look
from tests.packaged import packaged
from warpworld.drawing import Drawing, Image, Wedges
from warpworld.errors import BindError, DeclarationError
from warpworld.eyes.blocks import IMU, RGB, AgentPixels, Depth, MomentumMovement, RandomSpawns
from warpworld.eyes.blocks.senses import Camera
from warpworld.managers.kernel_source import INCLUDE_FOLDER


@pytest.mark.heavy
def test_blocks_see_together_what_each_sees_alone() -> None:
    cameras = RGB(), Depth(), AgentPixels()
    worlds = [
        made(MomentumMovement(), RandomSpawns(), *senses, cameras=(0.0, 150.0), plans="box")
        for senses in (cameras, *((camera,) for camera in cameras))
    ]
    for world in worlds[1:]:  # kernels draw other numbers in other company
        place(world, worlds[0].data.numpy("positions"), worlds[0].data.numpy("angles"))
    draws = np.random.default_rng(0)
    for _ in range(10):
        actions = draws.integers(0, 7, 2)
        for world in worlds:
            act(world, *actions)
    names = ["rgb", "depth", "agents"]
    assert [set(world.observations("agent")) for world in worlds] == [set(names), *({name} for name in names)]
    for world, name in zip(worlds[1:], names, strict=True):
        seen = world.data.numpy(f"observations_{name}")
        assert np.array_equal(seen, worlds[0].data.numpy(f"observations_{name}"))
        assert np.ptp(seen) > 0.05


def test_a_lone_agent_sees_what_an_explorer_sees() -> None:
    explorer = packaged("explorer", 3, device="cpu", seed=1, res=32, subsample=4, num_plans=2, max_rooms=7)
    ours = made(*ALL, agents=1, plans="homes", num_plans=2, max_rooms=7, res=32, subsample=4, fov=130.0)
    explorer.reset()
    for name in ("positions", "angles", "plan"):
        ours[name][:] = torch.as_tensor(explorer.data.numpy(name))
    for world in (explorer, ours):
        world["velocity"][:] = 0.0
        world["angvelocity"][:] = 0.0
        act(world, NOTHING)
    for name in ("observations_rgb", "observations_depth", "observations_imu"):
        assert np.array_equal(ours.data.numpy(name), explorer.data.numpy(name))


@pytest.mark.heavy
def test_fighters_see_what_those_in_deathmatch_see() -> None:
    """Where others are, and all else; shares of pixels that are nobody, wholly somebody, and in between."""
    same = {"plans": "box", "res": 64, "subsample": 4, "fov": 120.0}
    deathmatch = packaged("deathmatch", 20, device="cpu", seed=1, players=2, rivals=1, **same)
    ours = made(*ALL, AgentPixels(), num_envs=20, agents=3, **same)
    deathmatch.reset()
    for name in ("positions", "angles"):
        ours[name][:] = torch.as_tensor(deathmatch.data.numpy(name))
    for world in (deathmatch, ours):
        world["velocity"][:] = 0.0
        world["angvelocity"][:] = 0.0
        world["actions"][:] = NOTHING
        world.step()
    for name in ("rgb", "depth", "agents"):
        ours_seen = ours.data.numpy(f"observations_{name}")
        assert np.array_equal(ours_seen, deathmatch.data.numpy(f"observations_{name}"))
    assert set(np.unique(ours.data.numpy("observations_agents"))) > {0.0, 0.5, 1.0}


@pytest.mark.parametrize("cameras", [(90.0, -90.0), (0.0, 180.0, 45.0)])
def test_cameras_look_where_they_are_turned(cameras: tuple[float, ...]) -> None:
    """Pixels of each camera, side by side, are those of the oracle; three agents see each other, too."""
    random, rays = np.random.default_rng(2), 48
    world = made(*ALL, AgentPixels(), num_envs=40, agents=3, cameras=cameras)
    walls = world.environment.params.plan_set["plan_walls"].astype(np.float64)
    places = random.uniform(1.2, 6.8, (4000, 2))
    places = places[distances(walls, places).min(axis=1) > 0.15]  # in the column, too
    positions = places[:120].reshape(40, 3, 2).astype(np.float32)
    place(world, positions, random.uniform(-180.0, 180.0, (40, 3)))
    act(world, NOTHING, NOTHING, NOTHING)
    positions = world.data.numpy("positions").astype(np.float64)  # those who stood in each other were moved apart
    angles = np.radians(world.data.numpy("angles").astype(np.float64))
    near, rgb, others = (world.data.numpy(f"observations_{name}") for name in ("depth", "rgb", "agents"))
    assert near.shape == (40, 3, 1, len(cameras) * rays) and rgb.shape == (40, 3, 3, len(cameras) * rays)
    met = compared = 0
    for env in range(40):
        light = bilinear(world.environment.params.plan_set, 0, world.data.numpy("positions")[env])
        for agent in range(3):
            for at, turned in enumerate(np.radians(cameras)):
                bodies = angles[env].copy()
                seen = looked(walls, positions[env], bodies, agent, turned, rays)
                sure = seen.margin > 1e-4
                expected = 1.0 - np.clip((seen.depth - 0.106066) / 10.0, 0.0, 1.0)
                pixels = slice(at * rays, (at + 1) * rays)
                assert near[env, agent, 0, pixels][sure] == pytest.approx(expected[sure], abs=2e-4)
                assert np.array_equal(others[env, agent, 0, pixels][sure], (seen.facet >= 0)[sure])
                someone = sure & (seen.facet >= 0)
                shade = light[seen.object[someone]] * seen.facing[someone]
                colours = shade[:, None] * FACET_COLOURS[seen.facet[someone]]
                assert rgb[env, agent, :, pixels].T[someone] == pytest.approx(colours, abs=2e-3)
                met, compared = met + someone.sum(), compared + sure.sum()
    assert met > 100 and compared > 5000


def looked(walls: np.ndarray, positions: np.ndarray, angles: np.ndarray, agent: int, turned: float, rays: int) -> Any:
    """The oracle's view of a camera turned by an angle: the agent itself is left out, so that only it is turned."""
    turned_angles = angles.copy()
    turned_angles[agent] += turned
    return look(walls, positions, turned_angles, agent, rays, SMALL["fov"], 0.15)


def test_a_replay_shows_agents_and_what_they_see() -> None:
    world = made(*ALL, cameras=(0.0, 120.0))
    own = {array.name for array in world.environment.arrays()} | {"observations_rgb", "observations_depth"}
    one = {name: world.data.numpy(name)[0] for name in own if world.data.array(name).per != "world"}
    drawing = world.environment.draw(one)
    assert isinstance(drawing, Drawing)
    wedges = [mark for mark in drawing.marks if isinstance(mark, Wedges)]
    turned = np.radians(world.data.numpy("angles")[0][:, None].astype(float) + np.array([0.0, 120.0]))
    assert np.array([mark.direction for mark in wedges]) == pytest.approx(turned)


@pytest.mark.parametrize(
    ("senses", "strips"), [((RGB(),), 1), ((Depth(),), 1), ((RGB(), AgentPixels()), 2), ((IMU(),), 0)], ids=str
)
def test_a_picture_shows_the_cameras_that_there_are(senses: tuple[Any, ...], strips: int) -> None:
    world = made(MomentumMovement(), RandomSpawns(), *senses, num_envs=1)
    of_env = [name for name in world.data if world.data.array(name).per != "world"]
    drawing = world.environment.draw({name: world.data.numpy(name)[0] for name in of_env})
    assert isinstance(drawing, Drawing)
    shown = [mark.pixels.shape for mark in drawing.marks if isinstance(mark, Image) and len(mark.pixels) == 1]
    assert shown == 2 * strips * [(1, world.environment.params.pixels, 3)]
    wedges = [mark for mark in drawing.marks if isinstance(mark, Wedges)]
    assert [np.size(mark.direction) for mark in wedges] == [min(strips, 1)] * 2


# --- numbers of 16 bits -----------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("cameras", [(RGB(), Depth(), AgentPixels()), (RGB(),), (Depth(),)], ids=str)
def test_pixels_of_float16_are_the_nearest_to_those_of_float32(cameras: tuple[Camera, ...]) -> None:
    blocks = (MomentumMovement(), *cameras, IMU(), RandomSpawns())
    floats, halves = (made(*blocks, cameras=(0.0, 90.0), dtype=dtype) for dtype in ("float32", "float16"))
    for world in (floats, halves):
        act(world, NOTHING, NOTHING)
    for name, seen in floats.observations("agent").items():  # type: ignore[union-attr]
        found = halves.observations("agent")[name]  # type: ignore[index]
        wanted = torch.float32 if name == "imu" else torch.float16
        assert found.dtype == wanted and torch.equal(found, seen.to(wanted))
        assert name == "imu" or seen.std() > 0.01


@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        ("float64", "dtype='float64': expected 'float32' or 'float16'"),
        (16, "dtype=16: expected 'float32' or 'float16'"),
        ("float16", "dtype='float16' has no effect: none of the blocks is a camera, such as RGB()"),
    ],
)
def test_dtypes_that_are_refused(dtype: Any, message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        declared(MomentumMovement(), IMU(), dtype=dtype)
    assert str(error.value).startswith(f"Blocks: {message}") and "\n" not in str(error.value)


def test_a_camera_of_ones_own_that_writes_floats(tmp_path: Path) -> None:
    text = (INCLUDE_FOLDER / "blocks" / "rgb.cuh").read_text()
    (tmp_path / "own.cuh").write_text(text.replace("Pixel*", "float*"))

    class OwnCamera(RGB):
        header = str(tmp_path / "own.cuh")

    with pytest.raises(BindError) as error:
        made(MomentumMovement(), OwnCamera(), RandomSpawns(), dtype="float16")
    assert re.search(
        r"own\.cuh:\d+: kernel 'see_rgb', parameter `float\* observations_rgb`: the array is float16: write "
        r"`__half\* observations_rgb`, and `#include <half\.cuh>` above$",
        str(error.value),
    )
