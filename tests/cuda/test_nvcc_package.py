"""The kernels of the package's own compile for GPUs without a warning, with nvcc and with NVRTC, and spill nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

import warpworld
from tests.cases import often, seldom
from tests.hybrid import MaskedHybrid
from tests.toys import box, environment
from tests.trainers import acting_memories
from tests.trainers.acting import Kinds, declared
from tests.trainers.recall import Lives
from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import Relay
from warpworld import Environment, Group, Kernel, World
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.environment import get_environment
from warpworld.eyes.blocks import (
    IMU,
    RGB,
    AgentPixels,
    Block,
    BlockEnvironment,
    Body,
    BodyEnvironment,
    Depth,
    MomentumMovement,
    RandomLifespans,
    RandomSpawns,
    SimpleMovement,
)
from warpworld.eyes.plans.bake import Bake
from warpworld.eyes.plans.sights import FindSights
from warpworld.eyes.plans.ways import FindWays
from warpworld.managers.cpu.backend import CpuBackend
from warpworld.managers.kernel_source import INCLUDE_FOLDER, OWN_FOLDERS, KernelSource, is_own_kernel
from warpworld.managers.signature import read_signatures
from warpworld.policies import MLP, Categorical, Gaussian, ObservationNormaliser, Policy
from warpworld.trainers.algorithms.a2c import A2CSettings
from warpworld.trainers.algorithms.parameters import OPTIMIZERS, FlatParameters
from warpworld.trainers.algorithms.targets.kernel_estimates import KernelEstimates
from warpworld.trainers.algorithms.updates import layer_backward
from warpworld.trainers.algorithms.updates.box_loss import BoxLoss
from warpworld.trainers.algorithms.updates.choice_loss import choice_loss
from warpworld.trainers.algorithms.updates.device_inputs import DeviceInputs
from warpworld.trainers.algorithms.updates.joint_passes import PassLaunches
from warpworld.trainers.algorithms.updates.optimizer_steps import give_steps
from warpworld.trainers.algorithms.updates.perceptron_passes import perceptron_kernels
from warpworld.trainers.algorithms.updates.sequence_passes import sequence_kernels
from warpworld.trainers.algorithms.updates.summaries import Summaries
from warpworld.trainers.building import build_algorithms, build_policies, build_world
from warpworld.trainers.collecting import acting_kernel
from warpworld.trainers.collecting.acting_kernel import SOURCE as ACTING_SOURCE
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.episodes import EPISODES_SOURCE, EpisodeStatistics
from warpworld.trainers.collecting.metrics import EpisodeMetrics
from warpworld.trainers.collecting.mingru_kernels import give_kernels
from warpworld.trainers.collecting.teacher import Teacher
from warpworld.world.env_states import STATES_SOURCE
from warpworld.world.environment_kernels import RESIDENTS_SOURCE

# packaged configs whose algorithms have kernels
LEARNING = ("cartpole_dqn", "pendulum_ddpg", "pendulum_sac", "recall_r2d2")

# a team whose environment declares a state
TEAM: dict[str, Any] = {
    "name": "particles_reference",
    "trainer": {"num_envs": 4, "num_steps": 2, "total_env_steps": 1000},
    "policy": {"agent": {"algorithm": "qmix"}},
}

# a team with a memory, of the same environment
REMEMBERING_TEAM: dict[str, Any] = {
    **TEAM,
    "policy": {"agent": {"algorithm": "qmix", "model": {"recurrent": "gru"}, "burn_in": 1, "train_length": 2}},
}

# a curriculum
TAUGHT: dict[str, Any] = {
    "name": "mountain_car",
    "trainer": {"num_envs": 4, "num_steps": 2, "total_env_steps": 1000},
    "curriculum": {"parameters": {"force": [0.004, 0.001]}, "success": -199},
    "policy": {"agent": {"algorithm": "ppo"}},
}

# a policy whose memory is kernels
REMEMBERING: dict[str, Any] = {
    "name": "cartpole",
    "trainer": {"num_envs": 4, "num_steps": 2, "total_env_steps": 1000},
    "policy": {"agent": {"algorithm": "ppo", "model": {"recurrent": "mingru", "recurrent_size": 32}}},
}

pytestmark = pytest.mark.cpu_backend  # which is asked for the sources


@pytest.mark.slow
def test_the_world_s_own_kernel(check: Callable[[KernelSource], None]) -> None:
    path = INCLUDE_FOLDER / "gpu" / "world.cu"
    text = path.read_text()
    check(KernelSource(path, text, {"NUM_AGENTS": 32}, tuple(read_signatures(path, text).values()), threads=(32,)))


@pytest.mark.heavy
@pytest.mark.long
def test_agents_that_take_turns(check: Callable[[KernelSource], None]) -> None:
    path = EPISODES_SOURCE
    text = path.read_text()
    signatures = tuple(read_signatures(path, text).values())
    check(KernelSource(path, text, {"NUM_AGENTS": 3000}, signatures, threads=(3000,) * len(signatures)))


@pytest.mark.heavy
@pytest.mark.long
def test_states_of_envs(check: Callable[[KernelSource], None]) -> None:
    text = STATES_SOURCE.read_text()
    signatures = tuple(read_signatures(STATES_SOURCE, text).values())
    check(KernelSource(STATES_SOURCE, text, {"NUM_AGENTS": 1}, signatures, threads=(128,) * len(signatures)))


@pytest.mark.heavy
@pytest.mark.long
def test_halves(check: Callable[[KernelSource], None]) -> None:
    """With CUDA's own header where the compiler has it, and else with ours."""
    path = Path(__file__).with_name("halves.cu")
    text = path.read_text()
    constants = {"NUM_AGENTS": 1, "NUMBERS": 8}
    check(KernelSource(path, text, constants, tuple(read_signatures(path, text).values()), threads=(1, 1)))


def declare(config: RunConfig) -> None:
    """Let the algorithms of a config add their kernels to a world."""
    world = build_world(config)
    policies = build_policies(config, world.environment, torch.Generator())
    collector = Collector(world, config.trainer.num_steps)
    for algorithm in build_algorithms(config, policies).values():
        algorithm.declare(collector)


# policies that act in one kernel: an environment, and what their networks are
ACTING: dict[str, tuple[Callable[[], Environment], dict[str, Any]]] = {
    "choices, masks and boxes": (Kinds, {"hidden": (128, 128), "activation": "relu", "normalises": True}),
    "no hidden layer": (Kinds, {"hidden": ()}),
    "a Box": (lambda: get_environment("pendulum")(), {"hidden": (64, 64)}),
    "groups that share an env's lanes": (Kinds, {"hidden": (36, 64)}),
    "the packaged config's": (lambda: get_environment("tag_gridworld")(), {"hidden": (32, 32)}),
    "100 agents": (
        lambda: get_environment("tag_continuous")(num_runners=95, use_full_observation=False),
        {"hidden": (48, 80)},
    ),
}


# those that remember: an environment, and what their networks are
REMEMBERING_ACTORS: dict[str, tuple[Callable[[], Environment], dict[str, Any]]] = {
    "a minimal GRU": (
        lambda: get_environment("recall")(),
        {"cells": ["mingru"], "recurrent_size": 32, "hidden_sizes": [32]},
    ),
    "a GRU": (lambda: get_environment("recall")(), {"cells": ["gru"], "recurrent_size": 10, "hidden_sizes": [64]}),
    "an LSTM": (lambda: get_environment("recall")(), {"cells": ["lstm"], "recurrent_size": 8, "hidden_sizes": []}),
    "wide layers of all cells": (
        Kinds,
        {"cells": ["mingru", "gru", "lstm"], "recurrent_size": 128, "recurrent_layers": 2, "hidden_sizes": [128, 128]},
    ),
    "two agents of three": (
        lambda: Lives(dying=0.1, cutting=0.1),
        {"cells": ["mingru"], "recurrent_size": 32, "recurrent_layers": 3, "hidden_sizes": [64, 64]},
    ),
    "groups of small cells": (
        lambda: Lives(dying=0.1, cutting=0.1),
        {"cells": ["mingru", "gru"], "recurrent_size": 10, "recurrent_layers": 2, "normalise_observations": True},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("shares_warps", often([False], [False, True]))
@pytest.mark.parametrize("way", [*ACTING, *REMEMBERING_ACTORS])
def test_policies_that_act_in_a_kernel(
    way: str,
    shares_warps: bool,
    sources: list[KernelSource],
    check: Callable[[KernelSource], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CpuBackend, "side_by_side", True)  # as many threads as on a GPU
    monkeypatch.setattr(acting_kernel, "LEAST_BYTES_SHARED", 0 if shares_warps else 1 << 60)
    if way in ACTING:
        made, kinds = ACTING[way]
        declared(World(made(), num_envs=2, device="cpu"), fuse=True, **kinds)
    else:
        made, kinds = REMEMBERING_ACTORS[way]
        monkeypatch.setattr(acting_kernel, "MOST_BYTES_READ", 1 << 60)
        many = 70_000 if shares_warps else 2  # so many have few registers each
        acting_memories.declared(World(made(), num_envs=many, device="cpu"), fuse=True, **kinds)
    source = sources[-1]
    assert source.path.name == "perceptrons.cu" and source.envs_per_warp == 0
    if source.constants["LANE_PER_AGENT"]:  # these share warps on a GPU
        source = dataclasses.replace(source, envs_per_warp=32 // int(source.constants["NUM_AGENTS"]))
    check(source)


# policies whose gradient is a kernel: what is read, choices of each head, hidden layers, activation
LEARNT: dict[str, tuple[int, tuple[int, ...], tuple[int, ...], Literal["tanh", "relu"]]] = {
    "the packaged config's": (21, (5,), (32, 32), "tanh"),
    "wider blocks": (4, (2,), (64, 64), "tanh"),
    "all of a block's memory": (46, (2, 3), (64, 64), "relu"),
    "one layer": (10, (3, 5, 4), (128,), "tanh"),
    "no hidden layer": (5, (2, 2), (), "tanh"),
    "many choices": (40, (60,), (60, 32), "relu"),
}


def declare_gradients(names: Sequence[str], optimizer: str = "adam") -> None:
    """Ask for the kernel of policies that learn in one launch."""
    world = warpworld.make("cartpole", num_envs=2, device="cpu")
    launches = PassLaunches(world)
    for name in names:
        features, heads, hidden, activation = LEARNT[name]
        model = MLP(box(features), sum(heads), hidden_sizes=hidden, activation=activation)
        policy = Policy(model, Categorical(heads), ObservationNormaliser(features))
        assert perceptron_kernels(policy, FlatParameters(policy, 1e-3, OPTIMIZERS[optimizer]), launches) is not None
    launches.build()


SEVERAL = ("the packaged config's", "no hidden layer", "many choices")
# Single networks of other sizes compile the code of these with other numbers; both optimisers and one and several
# networks in a launch are among them, and the most memory that a block has.
LEARNT_OFTEN = [
    (("the packaged config's",), "adam"),
    (("all of a block's memory",), "adam"),
    (("wider blocks",), "muon"),
    (SEVERAL, "adam"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("networks", "optimizer"),
    [
        pytest.param(*case, marks=() if case in LEARNT_OFTEN else seldom)
        for case in [
            *(((network,), "adam") for network in LEARNT),
            (("wider blocks",), "muon"),
            (SEVERAL, "adam"),
            (SEVERAL, "muon"),
            (("wider blocks", "one layer"), "adam"),
        ]
    ],
    ids=lambda case: case if isinstance(case, str) else " and ".join(case),
)
def test_gradients_of_perceptrons(
    networks: Sequence[str], optimizer: str, sources: list[KernelSource], check: Callable[[KernelSource], None]
) -> None:
    declare_gradients(networks, optimizer)
    assert sources[-1].constants["NUM_SHAPES"] == len(networks)
    check(sources[-1])


@pytest.mark.slow
def test_the_package_s_core_kernels(sources: list[KernelSource], check: Callable[[KernelSource], None]) -> None:
    world = warpworld.make("tag_continuous", num_envs=2, device="cpu")
    Recorded(world, dict.fromkeys(world.groups), num_steps=2)
    EpisodeStatistics(world, num_steps=2)
    EpisodeMetrics(world, num_steps=2)
    scalars = dict.fromkeys(("job", "parts", "num_parts", "layout"), 0)
    states = world.kernels(STATES_SOURCE, {"NUM_AGENTS": 1}, scalars, writable={"random_key", "random_stream"})
    states.build([Kernel(name, threads_per_env=32) for name in states.signatures])
    captured = Collector(warpworld.make("cartpole", num_envs=2, device="cpu"), 2)
    DeviceInputs(captured, "agent", rows=33, numbers=[])
    KernelEstimates(Collector(World(Relay(), 2, device="cpu"), 2), "left", A2CSettings())
    warpworld.make("cartpole", num_envs=2, device="cpu", randomize={"gravity": (8.0, 12.0)})
    steered = [Group("agent", 3, observation=box(2), action=Box(-1.0, 1.0, (2,)))]
    still = environment(None, groups=steered, phases=[lambda arrays, active: None], resets=[])
    Recorded(World(still, num_envs=2, device="cpu"), {"agent": None}, num_steps=2)
    for name in LEARNING:
        declare(load_config(name))
    for team in (TEAM, REMEMBERING_TEAM):
        declare(config_from_dict(team))
    taught = config_from_dict(TAUGHT)
    assert taught.curriculum is not None
    learning = Collector(build_world(taught), 2)
    Teacher(taught.curriculum, learning.world, 2)
    Recorded(World(MaskedHybrid(), 2, device="cpu"), {"arm": None}, num_steps=2)
    remembering = build_policies(config_from_dict(REMEMBERING), get_environment("cartpole")(), torch.Generator())
    assert remembering["agent"] is not None
    give_kernels(remembering["agent"], warpworld.make("cartpole", num_envs=2, device="cpu"))
    assert choice_loss(remembering["agent"], warpworld.make("cartpole", num_envs=2, device="cpu")) is not None
    BoxLoss(warpworld.make("cartpole", num_envs=2, device="cpu"), Gaussian(16))
    declare_gradients(["the packaged config's"])
    layer_backward.LayerKernels(warpworld.make("cartpole", num_envs=2, device="cpu"), 128, 64, True)
    learnt = FlatParameters(remembering["agent"], 1e-3, OPTIMIZERS["muon"])
    launches = PassLaunches(warpworld.make("cartpole", num_envs=2, device="cpu"))
    assert sequence_kernels(remembering["agent"], learnt, launches)
    launches.build()
    Summaries(launches.world)
    moved = FlatParameters(torch.nn.Linear(4, 4), 1e-3, OPTIMIZERS["muon"])
    give_steps(moved, warpworld.make("cartpole", num_envs=2, device="cpu"))
    core = {source.path: source for source in sources if is_own_kernel(source.path)}
    assert sorted(core) == sorted(
        path for folder in OWN_FOLDERS for path in folder.rglob("*.cu") if path not in (ACTING_SOURCE, RESIDENTS_SOURCE)
    )
    for source in core.values():
        check(source)


class Blocks(BlockEnvironment):
    """Of blocks that the cases below name."""

    def groups(self) -> list[Group]:
        return [Group("agent", 2, self.observation(), self.action())]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    "blocks",
    [
        (MomentumMovement(), RGB(), Depth(), AgentPixels(), IMU(), RandomSpawns(), RandomLifespans()),
        (SimpleMovement(), RGB()),
    ],
    ids=["all", "rgb"],
)
def test_blocks(
    blocks: tuple[Block, ...],
    dtype: str,
    sources: list[KernelSource],
    check: Callable[[KernelSource], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CpuBackend, "side_by_side", True)
    monkeypatch.setattr(Blocks, "blocks", blocks)
    World(Blocks(plans="box", cameras=(0.0, 180.0), subsample=4, dtype=dtype), num_envs=2, device="cpu")
    check(sources[-1])


class Crates(BodyEnvironment):
    """Two agents and a crate."""

    bodies = (Body((1, 1), radius=0.2), Body((1, 3), radius=0.2), Body((3, 3), half=(0.4, 0.3)))
    walls = ((5.0, 3.0, 0.1, 1.0),)

    def groups(self) -> list[Group]:
        return [Group("agent", 2, self.observation(), self.action())]


@pytest.mark.slow
def test_the_kernels_of_bodies(
    sources: list[KernelSource], check: Callable[[KernelSource], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CpuBackend, "side_by_side", True)
    World(Crates(lidar_rays=4), num_envs=2, device="cpu")
    check(sources[-1])


@pytest.mark.slow
def test_the_kernel_that_lights_plans(sources: list[KernelSource], check: Callable[[KernelSource], None]) -> None:
    floats = {"plan_walls": (9, 4), "plan_lights": (9, 4), "wall_pattern": (9,), "palette": (10, 4)}
    inputs = {name: np.zeros(shape, np.float32) for name, shape in floats.items()}
    firsts = {name: np.zeros(3, np.int32) for name in ("plan_first_wall", "wall_first_texel", "plan_first_light")}
    World(Bake(inputs | firsts | {"plan_floor": np.array([[0, 3, 3, 4]], np.int32)}), num_envs=2, device="cpu")
    (source,) = sources
    check(source)


@pytest.mark.slow
def test_the_kernels_that_find_sights(sources: list[KernelSource], check: Callable[[KernelSource], None]) -> None:
    inputs = {"plan_walls": np.zeros((9, 4), np.float32), "plan_cells": np.zeros((9, 2), np.float32)}
    firsts = ("plan_first_wall", "wall_first_texel", "plan_first_room", "room_first_cell")
    World(FindSights(inputs | {name: np.array([0, 9], np.int32) for name in firsts}), num_envs=1, device="cpu")
    (source,) = sources
    check(source)


@pytest.mark.slow
def test_the_kernels_that_find_ways(sources: list[KernelSource], check: Callable[[KernelSource], None]) -> None:
    inputs = {"plan_walls": np.zeros((9, 4), np.float32), "plan_first_wall": np.zeros(2, np.int32)}
    inputs |= {"plan_ways": np.array([[0, 3, 3, 9]], np.int32), "way_places": np.zeros((4, 2), np.float32)}
    World(FindWays(inputs, num_places=4), num_envs=1, device="cpu")
    (source,) = sources
    check(source)
