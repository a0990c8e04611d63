"""Environments of blocks: what each block does, and how they go together with rules in PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

import warpworld
from tests.eyes.arenas import distances
from tests.eyes.blocks.block_worlds import ALL, FORWARD, NOTHING, TURN_LEFT, TURN_RIGHT, act, declared, made, place
from tests.trainers.recorded import Recorded
from warpworld import Array, World
from warpworld.errors import BindError, DeclarationError
from warpworld.eyes.blocks import (
    IMU,
    RGB,
    AgentPixels,
    Block,
    BlockEnvironment,
    BlockParams,
    Depth,
    MomentumMovement,
    RandomLifespans,
    RandomSpawns,
    SimpleMovement,
)
from warpworld.eyes.plans import box, write_plan


# ---- movement --------------------------------------------------------------------------------------------------------
def test_simple_movement_is_in_metres_and_degrees_a_second() -> None:
    """At 2 m/s and 45 degrees/s with 10 steps a second, looking along +y; no action, no motion."""
    world = made(SimpleMovement(), IMU(), RandomSpawns(), num_envs=7, agents=1, plans="box", speed=2.0, ang_speed=45.0)
    place(world, [3.5, 3.5], 90.0)
    world["actions"][:, 0, 0] = torch.as_tensor(range(7))
    for _ in range(3):
        world.step()
    way = np.array([[0, 0], [-0.6, 0], [0.6, 0], [0, 0.6], [0, -0.6], [0, 0], [0, 0]])
    assert world.data.numpy("positions")[:, 0] == pytest.approx(3.5 + way, abs=1e-5)
    assert world.data.numpy("angles")[:, 0] == pytest.approx([90, 90, 90, 90, 90, 103.5, 76.5], abs=1e-4)
    felt = [[0, 0, 0], [0, 0, 0.2], [0, 0, -0.2], [0, 0.2, 0], [0, -0.2, 0], [0.125, 0, 0], [-0.125, 0, 0]]
    assert world.data.numpy("observations_imu")[:, 0] == pytest.approx(np.array(felt), abs=1e-6)
    act(world, NOTHING)
    assert world.data.numpy("positions")[:, 0] == pytest.approx(3.5 + way, abs=1e-5)
    assert (world.data.numpy("observations_imu") == 0.0).all()


def test_momentum_movement_gathers_and_loses_speed() -> None:
    world = made(MomentumMovement(), IMU(), RandomSpawns(), agents=1, plans="box", accel=4.0, decay=0.25, fps=20.0)
    place(world, [3.5, 3.5], 0.0)
    speed, way = 0.0, 0.0
    for action in (FORWARD, FORWARD, FORWARD, NOTHING, NOTHING):
        act(world, action)
        speed = 0.75 * speed + 0.2 * (action == FORWARD)
        way += speed / 20.0
        assert world.data.numpy("positions")[:, 0] == pytest.approx(np.tile([3.5 + way, 3.5], (3, 1)), abs=1e-5)
        assert world.data.numpy("observations_imu")[:, 0, 1] == pytest.approx([0.1 * speed] * 3, abs=1e-6)


@pytest.mark.parametrize("movement", [SimpleMovement(), MomentumMovement()], ids=repr)
def test_agents_stop_at_each_other_and_slide_along_walls(movement: Block) -> None:
    world = made(movement, IMU(), RandomSpawns(), plans="box")
    place(world, [[2.0, 3.5], [3.0, 3.5]], [0.0, 180.0])
    for _ in range(30):
        act(world, FORWARD, FORWARD)
    gap = np.diff(world.data.numpy("positions")[:, :, 0], axis=1)
    assert gap == pytest.approx(2 * 0.106066, abs=2e-3)
    place(world, [[5.8, 2.0], [2.0, 3.5]], [30.0, 0.0])  # 30 degrees from +x into the wall at x = 6
    for _ in range(20):
        act(world, FORWARD, NOTHING)
    x, y = world.data.numpy("positions")[:, 0].T
    assert x == pytest.approx([6.0 - 0.106066] * 3, abs=1e-3)
    assert (y > 2.2).all()


def test_contact_turns_nobody() -> None:
    """In the open, against walls and against each other bodies turn by the same angles, to the last bit."""
    world = made(MomentumMovement(), IMU(), RandomSpawns(), plans="box")
    place(world, [[[2.0, 2.5], [5.0, 4.5]], [[5.8, 2.0], [1.2, 5.0]], [[3.3, 3.5], [3.7, 3.5]]], [0.0, 180.0])
    for step in range(12):
        act(world, *([TURN_LEFT, TURN_RIGHT] if step < 3 else [FORWARD, FORWARD]))
        angles, angvelocity = world.data.numpy("angles"), world.data.numpy("angvelocity")
        assert np.array_equal(angles, np.tile(angles[0], (3, 1)))
        assert np.array_equal(angvelocity, np.tile(angvelocity[0], (3, 1)))
        assert (angvelocity != 0.0).all()
    velocity = world.data.numpy("velocity")
    assert (np.abs(velocity[0, :, 0]) > 0.3).all()
    assert velocity[1, :, 0] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert velocity[2, 0, 0] == pytest.approx(velocity[2, 1, 0], abs=1e-6)  # they push each other


# ---- lives -----------------------------------------------------------------------------------------------------------
def test_agents_start_anywhere_at_rest_and_apart() -> None:
    """Eight in homes of a room or two, where draws alone would put some two of them into each other."""
    world = made(*ALL, num_envs=400, agents=8, plans="homes", num_plans=5, min_rooms=1, max_rooms=2)
    plans = world.environment.params.plan_set
    chosen, positions = world.data.numpy("plan"), world.data.numpy("positions").astype(np.float64)
    assert set(chosen.tolist()) == set(range(5))
    for env in range(400):
        walls = plans.plans[chosen[env]].walls.reshape(-1, 4).astype(np.float64)
        assert distances(walls, positions[env]).min() > 0.106066 + 0.0099
        gaps = np.linalg.norm(positions[env, :, None] - positions[env], axis=-1)[np.triu_indices(8, 1)]
        assert gaps.min() > 2 * 0.106066
    assert (world.data.numpy("velocity") == 0.0).all() and (world.data.numpy("angvelocity") == 0.0).all()
    assert np.histogram(world.data.numpy("angles"), 6, (-180.0, 180.0))[0].min() > 400


def test_starts_do_not_depend_on_how_many_envs_there_are() -> None:
    few, many = made(*ALL, num_envs=3), made(*ALL, num_envs=9)
    for name in ("positions", "angles", "plan", "lifespan"):
        assert np.array_equal(few.data.numpy(name), many.data.numpy(name)[:3])


def test_so_many_that_there_is_no_room_still_start(tmp_path: Path) -> None:
    """Thirty bodies in a square of 1 m, which holds about 16: all stay inside, and are numbers."""
    plan = write_plan(box(1.0), tmp_path / "plan.json")
    world = made(MomentumMovement(), RandomSpawns(), IMU(), agents=30, plans=str(plan))
    for _ in range(5):
        act(world, *[FORWARD] * 30)
    assert ((world.data.numpy("positions") > 1.1) & (world.data.numpy("positions") < 1.9)).all()


def test_time_limits_are_drawn_between_half_the_steps_and_all(monkeypatch: pytest.MonkeyPatch) -> None:
    world = made(*ALL, num_envs=600, agents=1, plans="box", res=4, episode_length=9)
    limits = world.data.numpy("lifespan").copy()
    assert set(limits.tolist()) == set(range(5, 10))
    ended = np.zeros(600, dtype=int)
    for step in range(1, 10):
        act(world, NOTHING)
        ended[world.data.numpy("truncated") & (ended == 0)] = step
    assert np.array_equal(ended, limits)
    assert world.environment.truncations(20) == 20 // 5 + 1
    assert declared(MomentumMovement(), RandomSpawns(), IMU()).truncations(20) == 20
    monkeypatch.setattr(type(world.environment), "rules", lambda self: [lambda arrays, active: None])
    assert world.environment.truncations(20) == 20  # which may end an episode in any step


# ---- rules -----------------------------------------------------------------------------------------------------------
def test_rules_run_between_movement_and_senses() -> None:
    """A rule throws agents to where the camera then sees them from; a first rule writes to envs that start."""

    def throw(arrays: Any, active: torch.Tensor) -> None:
        arrays["moved_to"] = arrays["positions"]
        arrays["positions"][..., 0] = 3.0
        arrays["terminated"] = arrays["timestep"] >= arrays["wanted"]

    def begin(arrays: Any, active: torch.Tensor) -> None:
        arrays["begun"] += active.int()
        arrays["positions"] = torch.where(active[:, None, None], 2.0, arrays["positions"])

    extra = [
        Array("moved_to", "float32", (2,)),
        Array("begun", "int32", per="env", initial=0, on_reset="keep"),
        Array("wanted", "int32", per="env", initial=[2, 3, 100], on_reset="keep"),
    ]
    members = {
        "rules": lambda self: [throw],
        "first_rules": lambda self: [begin],
        "arrays": lambda self: [*BlockEnvironment.arrays(self), *extra],
    }
    blocks = (SimpleMovement(), Depth(), RandomSpawns())
    world = World(declared(*blocks, agents=1, members=members, plans="box", res=1), 3, device="cpu")
    world.reset()
    place(world, [5.0, 3.5], 0.0)
    act(world, FORWARD)
    assert world.data.numpy("moved_to")[:, 0, 0] == pytest.approx([5.1] * 3)
    assert world.data.numpy("observations_depth")[:, 0, 0, 0] == pytest.approx([0.7106066] * 3, abs=1e-5)
    for _ in range(5):
        act(world, NOTHING)
    assert world.data.numpy("begun").tolist() == [1 + 3, 1 + 2, 1]


def test_rules_are_part_of_rollouts_and_of_their_graphs() -> None:
    """What a rollout records is the same whether each step is launched by itself or, on cuda, several in a graph."""

    def pay(arrays: Any, active: torch.Tensor) -> None:
        arrays["rewards"] = torch.exp(-torch.cdist(arrays["positions"], arrays["positions"]).sum(-1))

    recorded = []
    for graph_steps in (0, 4):
        environment = declared(*ALL, members={"rules": lambda self: [pay]}, res=16, episode_length=6)
        world = World(environment, 5, device="cpu", seed=2)
        rollout = Recorded(world, dict.fromkeys(world.groups), num_steps=12, graph_steps=graph_steps)
        world.reset()
        for _ in range(3):
            rollout.collect()
        recorded.append(rollout.trajectories("agent"))
    one, other = recorded
    assert torch.equal(one.observations, other.observations) and torch.equal(one.rewards, other.rewards)
    assert one.truncated.sum() > 5 and (one.rewards > 0.0).all() and one.rewards.std() > 0.01


@pytest.mark.heavy
@pytest.mark.parametrize("movement", [SimpleMovement(), MomentumMovement()], ids=repr)
def test_envs_that_share_a_warp_go_the_same_trajectory(movement: Block) -> None:
    environment = declared(movement, *ALL[1:], agents=3, cameras=(0.0, 150.0), res=12, episode_length=6)
    plain, packed = (
        World(environment, 23, device="cpu", seed=4, envs_per_warp=each) for each in (None, 5)
    )  # 10 would be too much for a GPU
    draws, ends = np.random.default_rng(3), 0
    plain.reset(), packed.reset()
    for _ in range(20):
        actions = draws.integers(0, 7, (23, 3, 1))
        for world in (plain, packed):
            world["actions"][:] = torch.as_tensor(actions)
            world.step()
        for name in plain.data:
            assert np.array_equal(plain.data.numpy(name), packed.data.numpy(name)), name
        ends += int(plain["truncated"].sum())
    assert ends > 23


@pytest.mark.long
def test_a_block_and_a_kernel_of_your_own(tmp_path: Path) -> None:
    """A block with a header beside the environment's file, and a rule that is a kernel of that file."""
    (tmp_path / "bell.cuh").write_text(
        "#pragma once\n#include <warpworld.cuh>\n"
        'extern "C" __global__ void ring(int* rung) { if (is_active()) rung[agent_index()] += 2; }\n'
    )
    (tmp_path / "own.cu").write_text(
        '#include <warpworld.cuh>\nextern "C" __global__ void pay(const int* rung, float* rewards) {\n'
        "  if (is_active()) rewards[agent_index()] = (float)rung[agent_index()];\n}\n"
    )

    class Bell(Block):
        header = "bell.cuh"
        steps = ("ring",)

        def arrays(self, params: Any) -> list[Array]:
            return [Array("rung", "int32", initial=0, on_reset="keep")]

        def observations(self, params: Any) -> dict[str, Box]:
            return {"bell": Box(0.0, 1.0, (1,))}

    members = {"source": tmp_path / "own.cu", "rules": lambda self: ["pay"]}
    world = World(declared(Bell(), *ALL, members=members), 2, device="cpu")
    world.reset()
    assert "bell" in world.observations("agent")
    for _ in range(3):
        act(world, NOTHING, NOTHING)
    assert (world.data.numpy("rewards") == 6.0).all()


@pytest.mark.heavy
@pytest.mark.cpu_backend
@pytest.mark.parametrize(
    "blocks",
    [
        (*ALL, AgentPixels()),
        (SimpleMovement(), Depth(), RandomSpawns()),
        (MomentumMovement(), RGB(), RandomSpawns()),
    ],
    ids=["all", "depth", "rgb"],
)
@pytest.mark.long
def test_a_check_finds_nothing(blocks: tuple[Block, ...]) -> None:
    length = {"episode_length": 6} if RandomLifespans() in blocks else {}
    report = warpworld.check(declared(*blocks, agents=3, cameras=(0.0, 180.0), res=8, **length), 4, 20)
    assert report.clean, str(report)


# ---- bad input -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (
            (RGB, IMU()),
            "Blocks: blocks has <class 'warpworld.eyes.blocks.senses.RGB'>, expected Block objects; write RGB()",
        ),
        (("rgb", IMU()), "Blocks: blocks has 'rgb', expected Block objects"),
        ((RGB(), IMU(), RGB()), "Blocks: blocks has RGB twice, expected one of a kind"),
        ((RGB(), RandomSpawns()), "Blocks: 0 of the blocks have actions, expected one, such as MomentumMovement()"),
        ((RGB(), SimpleMovement(), MomentumMovement()), "Blocks: 2 of the blocks have actions, expected one"),
    ],
    ids=["class", "text", "twice", "none", "two"],
)
def test_blocks_that_make_no_environment(blocks: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        World(declared(*blocks), 1, device="cpu")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"cameras": ()}, "cameras=(): expected 1 to 64 angles in degrees, such as (0.0, 180.0) for one ahead and one"),
        ({"cameras": 90.0}, "cameras=90.0: expected 1 to 64 angles"),
        ({"cameras": (0.0, float("nan"))}, "cameras=(0.0, nan): expected 1 to 64 angles"),
        ({"cameras": (0.0, 400.0)}, "cameras=(0.0, 400.0): expected 1 to 64 angles"),
        ({"cameras": (0.0,) * 65}, "expected 1 to 64 angles"),
        ({"speed": 0.0}, "speed=0.0: expected a finite number above 0"),
        ({"ang_speed": float("inf")}, "ang_speed=inf: expected a finite number above 0"),
        ({"episode_length": 1}, "episode_length=1: expected 2 to 2^31 - 1"),
        ({"fov": 180.0}, "fov=180.0: expected a number above 0 and below 180"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, dict) else "",
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        declared(*ALL, **params)
    assert message in str(error.value)


def test_an_episode_length_that_nothing_reads() -> None:
    """Unless rules of the environment's own read it, which then declares it."""
    blocks = MomentumMovement(), RGB(), RandomSpawns()
    with pytest.raises(DeclarationError) as error:
        declared(*blocks, episode_length=100)
    assert str(error.value) == (
        "Blocks: episode_length=100 has no effect: add RandomLifespans() to blocks, which draws time limits from it, "
        "or declare episode_length in Params for rules of your own that read it"
    )
    assert declared(*blocks, episode_length=500).params.episode_length == 500

    @dataclass(frozen=True)
    class Params(BlockParams):
        episode_length: int = 20

    assert declared(*blocks, members={"Params": Params}, episode_length=100).params.episode_length == 100


def test_too_many_agents_for_a_block() -> None:
    """Each has eight facets, which a camera sees as lines; what an env's threads share has room for 182 agents."""
    World(declared(*ALL, agents=182), 1, device="cpu")
    with pytest.raises(
        DeclarationError, match=r"Blocks: 183 agents, res=48 and the 12 walls of plan 'column 6 m' take"
    ):
        World(declared(*ALL, agents=183), 1, device="cpu")


def test_a_header_that_is_not_there() -> None:
    block = type("Lost", (Block,), {"header": "lost.cuh"})()
    with pytest.raises(BindError, match=r"includes has 'lost.cuh', which is neither beside .*blocks.cu nor one of"):
        World(declared(block, *ALL), 1, device="cpu")


def test_actions_are_seven() -> None:
    assert declared(*ALL).action() == Discrete(7)
    assert isinstance(declared(*ALL).params, BlockParams)
