"""Environments of bodies in Python alone: what agents sense and do, and bodies that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from warpworld import Group, World
from warpworld.errors import DeclarationError
from warpworld.eyes.blocks import Body, BodyEnvironment

AGENTS = (Body((1.0, 1.0), radius=0.2), Body((1.0, 4.0), radius=0.2))
CRATE = Body((1.7, 1.0), half=(0.4, 0.3), mass=2.0)
NOTHING, HOLD, LOCK, UNLOCK = (1, 1, 0, 0), (1, 1, 1, 0), (1, 1, 0, 1), (1, 1, 0, 2)


def declared(*bodies: Body, walls: Any = (), **params: Any) -> BodyEnvironment:
    def groups(self: BodyEnvironment) -> list[Group]:
        return [Group(name, 1, self.observation(), self.action()) for name in ("red", "blue")]

    def rules(self: BodyEnvironment) -> list[Callable[..., None]]:
        return [lambda arrays, active: arrays["rewards"].copy_(arrays["position"][:, 2, :1].expand(-1, 2))]

    members = {"bodies": bodies or (*AGENTS, CRATE), "walls": walls, "groups": groups, "rules": rules}
    made: BodyEnvironment = type("Crates", (BodyEnvironment,), members)(**params)
    return made


def made(*bodies: Body, num_envs: int = 1, **params: Any) -> World:
    world = World(declared(*bodies, **params), num_envs, device="cpu", seed=1)
    world.reset()
    return world


def act(world: World, first: tuple[int, ...] = NOTHING, second: tuple[int, ...] = NOTHING) -> None:
    world["actions"] = torch.tensor([[first, second]] * world.num_envs, dtype=torch.int32)
    world.step()


def test_an_agent_pushes_holds_and_locks_for_its_team() -> None:
    world = made()
    for _ in range(10):
        act(world, (2, 1, 0, 0))
    assert 0.3 < world["position"][0, 2, 0].item() - 1.7 < 1.0
    assert world["rewards"][0].tolist() == [world["position"][0, 2, 0].item()] * 2
    for _ in range(10):
        act(world, (0, 1, 1, 0))
    assert world["held"][0].tolist() == [2, -1, -1] and world["position"][0, 2, 0].item() < 2.0
    act(world, LOCK)
    assert world["locked"][0].tolist() == [0, 0, 1]
    world["position"][0, 1] = world["position"][0, 2].cpu() + torch.tensor([0.0, 0.6])
    act(world, NOTHING, UNLOCK)
    assert world["locked"][0, 2].item() == 1
    act(world, UNLOCK)
    assert world["locked"][0, 2].item() == 0


def test_an_agent_holds_the_nearest_body_that_is_no_agent() -> None:
    near, nearer = Body((1.35, 1.0), radius=0.1), Body((1.0, 1.32), radius=0.1)
    world = made(AGENTS[0], Body((0.55, 1.0), radius=0.2), nearer, near)
    act(world, HOLD)
    assert world["held"][0].tolist() == [2, -1, -1, -1]


def test_what_an_agent_senses() -> None:
    world = made(lidar_rays=4)
    act(world, HOLD)
    row, place = world["observations"][0, 0].cpu().numpy(), world["position"][0].cpu().numpy()
    assert row[:5] == pytest.approx([*(place[0] / 6), *world["velocity"][0, 0].tolist(), 1.0])
    assert row[5:7] == pytest.approx((place[1] - place[0]) / 6) and row[9:13].tolist() == [0, 0, 0, 0]
    assert row[13:15] == pytest.approx((place[2] - place[0]) / 6) and row[17:21].tolist() == [1, 1, 0, 0]
    ways = [place[2, 0] - 0.4 - place[0, 0], place[1, 1] - 0.2 - place[0, 1], place[0, 0], place[0, 1]]
    assert row[21::2] == pytest.approx(1 - np.array(ways) / 6, abs=1e-6)
    assert row[22::2].tolist() == [1, 1, 0, 0]
    assert world["action_mask"][0, :, 7].tolist() == [True, False]
    act(world, LOCK)
    assert world["observations"][0, 0, 17:21].tolist() == [1, 0, 1, 0]
    assert world["observations"][0, 1, 19:21].tolist() == [0, 1]
    assert world["action_mask"][0, 0, 8:].tolist() == [True, False, True]


def test_bodies_start_off_their_places_and_hold() -> None:
    world = made(
        *AGENTS, Body((2.0, 1.0), half=(0.4, 0.3)), Body((5.0, 5.0), radius=0.3, holds=2), num_envs=200, spread=0.1
    )
    off = world["position"].cpu().numpy() - np.array([[1, 1], [1, 4], [2, 1], [5, 5]])
    assert 0.09 < np.abs(off).max() <= 0.1 and np.abs(off.mean(0)).max() < 0.03
    assert world["held"].tolist() == [[-1, -1, -1, 2]] * 200
    act(world)
    assert (world["held"] == -1).all()  # too far from it


def test_episodes_end_at_their_length() -> None:
    world = made(episode_length=3)
    ends = []
    for _ in range(6):
        act(world)
        ends.append(bool(world["truncated"].item()))
    assert ends == [False, False, True] * 2


def test_a_drawing_shows_all_bodies_and_walls() -> None:
    world = made(walls=[(3.0, 3.0, 0.1, 1.0)])
    arrays = {name: world.data.numpy(name)[0] for name in ("position", "locked", "held")}
    drawing = world.environment.draw(arrays)
    assert drawing is not None and len(drawing.marks) == 1 + 1 + 3 + 1


@pytest.mark.heavy
def test_a_check_is_clean(check_environment: Callable[..., object]) -> None:
    check_environment(declared(lidar_rays=3, spread=0.02, walls=[(3.0, 3.0, 0.1, 1.0)]))


@pytest.mark.parametrize(
    ("bodies", "params", "message"),
    [
        ((AGENTS[0],), {}, "1 bodies for 2 agents, expected 2 to 64, those of agents first"),
        ((*AGENTS, *[CRATE] * 63), {}, "65 bodies for 2 agents, expected 2 to 64"),
        (
            (*AGENTS, Body((3.0, 3.0), half=(0.4, 0.0))),
            {},
            "body 2 has radius=0.0 and half=(0.4, 0.0), expected a radius",
        ),
        ((*AGENTS, Body((3.0, 3.0))), {}, "body 2 has radius=0.0 and half=(0.0, 0.0), expected a radius above 0"),
        ((*AGENTS, Body((3.0, 3.0), radius=0.1, mass=0.0)), {}, "body 2 has mass=0.0"),
        (
            (*AGENTS, Body((3.0, 3.0), radius=0.1, holds=3)),
            {},
            "body 2 has holds=3, expected -1 for none or the number",
        ),
        ((*AGENTS, Body((3.0, 3.0), radius=0.1, holds=2)), {}, "body 2 has holds=2, expected"),
        (
            (*AGENTS, Body((1.3, 1.0), radius=0.2)),
            {},
            "body 2 at (1.3, 1) may overlap body 0 at the start with spread=0",
        ),
        ((*AGENTS, CRATE), {"spread": 0.1}, "body 2 at (1.7, 1) may overlap body 0 at the start with spread=0.1; move"),
        ((*(Body((1.0, y), radius=0.2, holds=2) for y in (1.0, 4.0)), CRATE), {}, "body 0 has holds=2, expected -1"),
        ((*AGENTS, Body((5.9, 3.0), radius=0.2)), {}, "body 2 at (5.9, 3) does not fit into the arena of 6 x 6 m"),
        ((*AGENTS, CRATE), {"walls": [(2.0, 1.0, 0.1, 1.0)]}, "body 2 at (1.7, 1) may overlap wall 0 at the start"),
        ((), {"reach": 0.6}, "reach=0.6: expected"),
    ],
)
def test_bodies_that_do_not_fit(bodies: tuple[Body, ...], params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        declared(*bodies, **params)
    assert message in str(error.value) and "\n" not in str(error.value)
