"""Every kernel of the package compiles for GPUs without a warning, with nvcc and with NVRTC, and spills no register."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

import warpworld
from benchmarks.brute_force import BruteDeathmatch, BruteExplorer, BrutePointGoal
from tests.cuda.warpdrive import warpdrive_worlds
from tests.toys import HEADER, agents, box, environment
from tests.trainers.acting import Kinds, declared
from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import Relay
from warpworld import Array, Environment, Group, Kernel, World
from warpworld.checking.symbols import _symbols
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.environment import get_environment, packaged_names
from warpworld.eyes.blocks import (
    IMU,
    RGB,
    AgentPixels,
    Block,
    BlockEnvironment,
    Depth,
    MomentumMovement,
    RandomLifespans,
    RandomSpawns,
    SimpleMovement,
)
from warpworld.eyes.plans.bake import Bake
from warpworld.managers.cpu.backend import CpuBackend
from warpworld.managers.cuda.backend import CudaBackend
from warpworld.managers.cuda.compiler import _load_nvrtc, _nvccs, _nvrtcs, _read
from warpworld.managers.kernel_source import INCLUDE_FOLDER, KernelSource, cuda_entry
from warpworld.managers.signature import read_signatures
from warpworld.templates.writing import MODULE, TEMPLATE
from warpworld.trainers.algorithms.a2c import A2CSettings
from warpworld.trainers.algorithms.held_estimates import HeldEstimates
from warpworld.trainers.algorithms.held_update import HeldUpdate
from warpworld.trainers.building import build_algorithms, build_policies, build_world
from warpworld.trainers.collecting.acting_kernel import SOURCE as ACTING_SOURCE
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.episodes import EpisodeStatistics
from warpworld.trainers.collecting.metrics import EpisodeMetrics

NVCC = shutil.which("nvcc")
NVRTC = next(iter(_nvrtcs("")), None)
OFTEN = (75, 90)  # the oldest that CUDA 13 compiles for, and an H100
SELDOM = (80, 120)  # by `make exhaustive`
NEWEST = 120
OF_PACKED = (90,)  # the packed build is the same code but for what finds its env

# packaged configs whose algorithms have kernels
LEARNING = ("cartpole_dqn", "pendulum_ddpg", "pendulum_sac", "recall_r2d2")

# a team whose environment declares a state
TEAM: dict[str, Any] = {
    "name": "particles_reference",
    "trainer": {"num_envs": 4, "num_steps": 2, "total_env_steps": 1000},
    "policy": {"agent": {"algorithm": "qmix"}},
}

needs_nvcc = pytest.mark.skipif(NVCC is None, reason="nvcc is not on PATH")
needs_nvrtc = pytest.mark.skipif(NVRTC is None, reason="NVRTC is not installed; make cuda-tools")
pytestmark = pytest.mark.cpu_backend  # which is asked for the sources

# name -> parameters of each size to compile
SIZES: dict[str, list[dict[str, Any]]] = {
    "acrobot": [{}],
    "battle": [
        {"army_size": 16, "map_size": 15},
        {"army_size": 512, "map_size": 110},
        {"army_size": 5000, "map_size": 354},
    ],
    "cartpole": [{}],
    "chain": [{}],
    "coins": [{}],
    "connect_four": [{}],
    "deathmatch": [{}, {"players": 2, "rivals": 2}],
    "delayed_reward": [{}, {"show_pending": True}],
    "explorer": [{}],
    "epidemic": [{}],
    "foraging": [{}, {"grid_observation": True}],
    "minatar_asterix": [{}],
    "minatar_breakout": [{}],
    "minatar_freeway": [{}],
    "minatar_seaquest": [{}],
    "minatar_space_invaders": [{}],
    "mountain_car": [{}],
    "mountain_car_continuous": [{}],
    "overcooked": [{}],
    "particles_adversary": [{}],
    "particles_pursuit": [{}],
    "particles_push": [{}],
    "particles_reference": [{}],
    "particles_speaker_listener": [{}],
    "particles_spread": [{}, {"agents": 48}],
    "pendulum": [{}],
    "point_goal": [{}],
    "recall": [{}],
    "skirmish": [{}, {"scenario": "27m_vs_30m"}, {"scenario": "512m"}],
    "signalling": [{}],
    "tic_tac_toe": [{}],
    "tag_gridworld": [{"num_taggers": 4}, {"num_taggers": 9999, "use_full_observation": False}],
    "tag_continuous": [
        {},
        {"num_taggers": 10, "num_runners": 100},
        {"num_taggers": 10, "num_runners": 100, "use_full_observation": False, "num_other_agents_observed": 10},
        {"num_taggers": 5, "num_runners": 20, "use_full_observation": False, "observe_own_state": True},
        {"num_taggers": 100, "num_runners": 900, "use_full_observation": False, "num_other_agents_observed": 10},
        {"num_taggers": 5000, "num_runners": 5000, "use_full_observation": False},
        {"num_taggers": 1, "num_runners": 1099},
    ],
    "warehouse": [{}],
    "waypoint": [{}],
}


@dataclasses.dataclass(frozen=True)
class Usage:
    """What ptxas says of a kernel on one architecture."""

    registers: int
    spilled: int  # bytes
    shared: int  # bytes of the block

    def __str__(self) -> str:
        spilled = f", {self.spilled} SPILLED" if self.spilled else ""
        return f"{self.registers} regs, {self.shared} B{spilled}"


def read_usage(log: str) -> dict[tuple[str, str], Usage]:
    """Usage by kernel and architecture, from the output of ``ptxas -v``."""
    found: dict[tuple[str, str], Usage] = {}
    for part in re.split(r"Compiling entry function ", log)[1:]:
        named = re.match(r"'(\w+)' for '(sm_\d+)'", part)
        registers, shared = re.search(r"Used (\d+) registers", part), re.search(r"(\d+) bytes smem", part)
        spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part)
        assert named and registers and spilled, part
        spills = int(spilled.group(1)) + int(spilled.group(2))
        found[named.group(1), named.group(2)] = Usage(
            int(registers.group(1)), spills, int(shared.group(1)) if shared else 0
        )
    return found


def cuda_text(source: KernelSource) -> str:
    """What the cuda backend compiles."""
    return source.cuda_text(CudaBackend.warp_size, CudaBackend.warps_per_block)


def compile_for(source: KernelSource, folder: Path, architectures: tuple[int, ...]) -> dict[tuple[str, str], Usage]:
    """Compile for some architectures with warnings as errors."""
    assert NVCC is not None
    text = folder / f"{source.path.stem}.cu"
    text.write_text(cuda_text(source))
    command = [NVCC, "-std=c++17", "-O3", "-Werror", "all-warnings", "-Xptxas", "-v", "-fatbin", str(text)]
    command += ["-I", str(INCLUDE_FOLDER), "-I", str(source.path.parent), "-o", str(folder / "out.fatbin")]
    for number in architectures:
        command += ["-gencode", f"arch=compute_{number},code=sm_{number}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return read_usage(result.stdout + result.stderr)


def compile_with_nvrtc(source: KernelSource) -> None:
    """Compile for the newest; a warning, which NVRTC has no flag to refuse, is found in the log."""
    assert NVRTC is not None
    kind, path, version = NVRTC
    library, program, text = _load_nvrtc(path), ctypes.c_void_p(), cuda_text(source)
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"source.cu", 0, None, None)
    folders = (f"-I{INCLUDE_FOLDER}", f"-I{source.path.parent}")
    words = [f"-arch=sm_{NEWEST}", *kind(path, version).all_flags(), *folders]
    options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    result = library.nvrtcCompileProgram(program, len(words), options)
    log = _read(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program).decode().strip("\0\n")
    assert (result, log) == (0, "")
    assert _read(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN, program).startswith(b"\x7fELF")
    library.nvrtcDestroyProgram(ctypes.byref(program))


@functools.cache
def known_to_nvcc() -> list[str]:
    assert NVCC is not None
    return subprocess.run([NVCC, "--list-gpu-code"], capture_output=True, text=True, check=True).stdout.split()


def known(architectures: tuple[int, ...]) -> tuple[int, ...]:
    """Those of them that this nvcc compiles for."""
    return tuple(number for number in architectures if f"sm_{number}" in known_to_nvcc())


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> list[KernelSource]:
    """What worlds ask their backend to build; nothing is built but what lights a declaration's floor plans."""
    asked: list[KernelSource] = []
    real = CpuBackend.build

    def build(self: CpuBackend, source: KernelSource) -> Any:
        asked.append(source)
        return real(self, source) if source.path.name == "bake.cu" else None

    monkeypatch.setattr(CpuBackend, "build", build)
    return asked


@pytest.fixture(
    params=[
        pytest.param(OFTEN, id="nvcc", marks=needs_nvcc),
        pytest.param(SELDOM, id="nvcc, other architectures", marks=[needs_nvcc, pytest.mark.exhaustive]),
        pytest.param(None, id="NVRTC", marks=needs_nvrtc),
    ]
)
def check(
    request: pytest.FixtureRequest, tmp_path: Path, record_property: Callable[[str, object], None]
) -> Callable[[KernelSource], None]:
    """Compiles a source for some architectures; with nvcc, adds it to the summary's table and refuses spills."""
    if request.param is None:
        return compile_with_nvrtc

    def check(source: KernelSource) -> None:
        numbers = known(OF_PACKED if source.envs_per_warp and request.param == OFTEN else request.param)
        usage = compile_for(source, tmp_path, numbers)
        packing = f"{source.envs_per_warp}/warp" if source.envs_per_warp else "1/block"
        agents = source.constants["NUM_AGENTS"]
        for signature in source.signatures:
            of_kernel = {number: usage[cuda_entry(signature.name), f"sm_{number}"] for number in sorted(numbers)}
            row = (f"{source.path.name}: {signature.name}", f"{agents} agents, {packing}")
            record_property("kernel_usage", [*row, *(f"sm_{number}: {used}" for number, used in of_kernel.items())])
        assert not [f"{kernel} on {sm}: {used}" for (kernel, sm), used in usage.items() if used.spilled]

    return check


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True], ids=["one per block", "packed"])
@pytest.mark.parametrize(("name", "params"), [(name, params) for name in SIZES for params in SIZES[name]])
def test_environments(
    name: str,
    params: dict[str, Any],
    packed: bool,
    sources: list[KernelSource],
    check: Callable[[KernelSource], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CpuBackend, "side_by_side", True)  # as many threads as on a GPU
    world = warpworld.make(name, num_envs=2, device="cpu", **params)
    source = sources[-1]
    if packed and check is compile_with_nvrtc:
        pytest.skip("its warnings are those of the unpacked build")
    if packed and (32 // world.num_agents < 2 or set(source.threads) != {world.num_agents}):
        pytest.skip("no two envs fit a warp")
    check(dataclasses.replace(source, envs_per_warp=32 // world.num_agents) if packed else source)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [BruteExplorer, BrutePointGoal, BruteDeathmatch])
@needs_nvcc
def test_what_worlds_with_eyes_are_measured_beside(
    kind: type[Environment], sources: list[KernelSource], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the cards that the figures are of: a register that brute force spills would flatter what is beside it."""
    monkeypatch.setattr(CpuBackend, "side_by_side", True)
    World(kind(plans="box"), num_envs=2, device="cpu")
    usage = compile_for(sources[-1], tmp_path, (90,))
    assert (cuda_entry("see_by_force"), "sm_90") in usage
    assert not [f"{kernel}: {used}" for (kernel, _), used in usage.items() if used.spilled]


@pytest.mark.slow
@pytest.mark.parametrize(
    "ported",
    [
        warpdrive_worlds.Gridworld(),
        warpdrive_worlds.Gridworld(use_full_observation=False),
        warpdrive_worlds.Continuous(),
        warpdrive_worlds.Votes(),
    ],
    ids=lambda ported: ported.name,
)
@needs_nvcc
def test_kernels_in_warpdrive_s_words(ported: Environment, sources: list[KernelSource], tmp_path: Path) -> None:
    World(ported, num_envs=2, device="cpu")
    (source,) = sources
    assert source.envs_per_warp == 0 and not source.uses_header_words_only()
    usage = compile_for(source, tmp_path, known(OFTEN))  # registers are the author's affair
    assert {kernel for kernel, _ in usage} == {cuda_entry(signature.name) for signature in source.signatures}
    if NVRTC is not None:
        compile_with_nvrtc(source)


@pytest.mark.long
@pytest.mark.parametrize("found", [*_nvccs(os.environ["PATH"], ""), *_nvrtcs("")], ids=lambda found: found[0].name)
def test_variables_that_the_host_fills_are_in_what_compilers_make(
    found: Any, sources: list[KernelSource], tmp_path: Path
) -> None:
    World(warpdrive_worlds.Gridworld(), num_envs=2, device="cpu")
    kind, path, version = found
    cubin = tmp_path / "gridworld.cubin"
    log = kind(path, version).build_cubin(cuda_text(sources[0]), "sm_90", [INCLUDE_FOLDER], tmp_path, cubin)
    assert not log
    symbols = {name: nbytes for name, _, _, nbytes in _symbols(cubin.read_bytes())}
    assert symbols["kIndexToActionArr"] == 40


def test_every_environment_is_compiled() -> None:
    assert set(SIZES) == set(packaged_names())


@pytest.mark.slow
def test_what_warpworld_new_writes(
    sources: list[KernelSource], check: Callable[[KernelSource], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpworld.environment.registry._registry", {})
    world = warpworld.make(str(TEMPLATE / f"{MODULE}.py"), num_envs=2, device="cpu")
    check(dataclasses.replace(sources[0], envs_per_warp=32 // world.num_agents))


@pytest.mark.slow
def test_the_world_s_own_kernel(check: Callable[[KernelSource], None]) -> None:
    path = INCLUDE_FOLDER / "gpu" / "world.cu"
    text = path.read_text()
    check(KernelSource(path, text, {"NUM_AGENTS": 32}, tuple(read_signatures(path, text).values()), threads=(32,)))


@pytest.mark.heavy
@pytest.mark.long
def test_agents_that_take_turns(check: Callable[[KernelSource], None]) -> None:
    path = INCLUDE_FOLDER / "episodes.cu"
    text = path.read_text()
    signatures = tuple(read_signatures(path, text).values())
    check(KernelSource(path, text, {"NUM_AGENTS": 3000}, signatures, threads=(3000,) * len(signatures)))


@pytest.mark.heavy
@pytest.mark.long
def test_halves(check: Callable[[KernelSource], None]) -> None:
    """With CUDA's own header where the compiler has it, and else with ours."""
    path = Path(__file__).with_name("halves.cu")
    text = path.read_text()
    constants = {"NUM_AGENTS": 1, "NUMBERS": 8}
    check(KernelSource(path, text, constants, tuple(read_signatures(path, text).values()), threads=(1, 1)))


@needs_nvrtc
def test_nvrtc_s_warnings_are_seen(tmp_path: Path) -> None:
    path, text = tmp_path / "warned.cu", 'extern "C" __global__ void step(float* x) { int unused; }\n'
    source = KernelSource(path, text, {"NUM_AGENTS": 1}, tuple(read_signatures(path, text).values()), threads=(1,))
    with pytest.raises(AssertionError, match='variable "unused" was declared but never referenced'):
        compile_with_nvrtc(source)


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
    "a Box": (lambda: get_environment("pendulum")(), {"hidden": (64,)}),
    "the packaged config's": (lambda: get_environment("tag_gridworld")(), {"hidden": (32, 32)}),
    "100 agents": (
        lambda: get_environment("tag_continuous")(num_runners=95, use_full_observation=False),
        {"hidden": (48, 80)},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", ACTING)
def test_policies_that_act_in_a_kernel(
    way: str, sources: list[KernelSource], check: Callable[[KernelSource], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CpuBackend, "side_by_side", True)  # as many threads as on a GPU
    made, kinds = ACTING[way]
    declared(World(made(), num_envs=2, device="cpu"), fuse=True, **kinds)
    assert sources[-1].path.name == "perceptrons.cu" and sources[-1].envs_per_warp == 0
    check(sources[-1])


@pytest.mark.slow
def test_the_package_s_core_kernels(sources: list[KernelSource], check: Callable[[KernelSource], None]) -> None:
    world = warpworld.make("tag_continuous", num_envs=2, device="cpu")
    Recorded(world, dict.fromkeys(world.groups), num_steps=2)
    EpisodeStatistics(world, num_steps=2)
    EpisodeMetrics(world, num_steps=2)
    captured = Collector(warpworld.make("cartpole", num_envs=2, device="cpu"), 2)
    HeldUpdate(captured, "agent", rows=33, numbers=[])
    HeldEstimates(Collector(World(Relay(), 2, device="cpu"), 2), "left", A2CSettings())
    warpworld.make("cartpole", num_envs=2, device="cpu", randomize={"gravity": (8.0, 12.0)})
    steered = [Group("agent", 3, observation=box(2), action=Box(-1.0, 1.0, (2,)))]
    still = environment(None, groups=steered, phases=[lambda arrays, active: None], resets=[])
    Recorded(World(still, num_envs=2, device="cpu"), {"agent": None}, num_steps=2)
    for name in LEARNING:
        declare(load_config(name))
    declare(config_from_dict(TEAM))
    core = {source.path: source for source in sources if source.path.parent == INCLUDE_FOLDER}
    assert sorted(core) == sorted(path for path in INCLUDE_FOLDER.glob("*.cu") if path != ACTING_SOURCE)
    for source in core.values():
        check(source)


class Blocks(BlockEnvironment):
    """Of blocks that the cases below name."""

    def groups(self) -> list[Group]:
        return [Group("agent", 2, self.observation(), self.action())]


@pytest.mark.slow
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
    sources: list[KernelSource],
    check: Callable[[KernelSource], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CpuBackend, "side_by_side", True)
    monkeypatch.setattr(Blocks, "blocks", blocks)
    World(Blocks(plans="box", cameras=(0.0, 180.0), subsample=4), num_envs=2, device="cpu")
    check(sources[-1])


@pytest.mark.slow
def test_the_kernel_that_lights_plans(sources: list[KernelSource], check: Callable[[KernelSource], None]) -> None:
    floats = {"plan_walls": (9, 4), "plan_lights": (9, 4), "wall_pattern": (9,), "palette": (10, 4)}
    inputs = {name: np.zeros(shape, np.float32) for name, shape in floats.items()}
    firsts = {name: np.zeros(3, np.int32) for name in ("plan_first_wall", "wall_first_texel", "plan_first_light")}
    World(Bake(inputs | firsts | {"plan_floor": np.array([[0, 3, 3, 4]], np.int32)}), num_envs=2, device="cpu")
    (source,) = sources
    check(source)


WORDS = """
__device__ float help(Random& random) { return random.normal() + random.uniform(1.0f, 2.0f); }

extern "C" __global__ void __launch_bounds__(1024) step(float* x, const int* actions, const uint64_t* clock,
                                                        float side) {
  if (!is_active()) return;
  ENV_SHARED(float, places, NUM_AGENTS);
  ENV_SHARED(float2, pairs, 3);
  Random own = Random::agent(), shared = Random::env();
  places[agent_id()] = x[agent_index()] + help(own) * (float)shared.below(6u) + SIDE;
  if (lane() < 3) pairs[lane()] = make_float2(1.0f, 2.0f);
  sync_env();
  x[group_index(AGENT_FIRST, AGENT_COUNT)] = places[(agent_id() + 1) % NUM_AGENTS] + pairs[0].x + (float)actions[0] +
                                              (float)(clock[env_id()] % 7u) + side + (float)num_lanes();
}
// Called like an array, and takes one called like a kernel.
extern "C" __global__ void reset(float* step, const float* __restrict__ x) {
  for (int i = lane(); i < 100; i += num_lanes()) step[env_id() * 100 + i] = x[0];
}
"""


@needs_nvcc
@pytest.mark.parametrize(
    ("num_agents", "envs_per_warp", "threads"),
    [(32, 0, 64), (32, 1, None), (16, 2, None), (1, 32, None), (1024, 0, None)],
)
@pytest.mark.long
def test_the_header_s_words(
    num_agents: int, envs_per_warp: int, threads: int | None, sources: list[KernelSource], tmp_path: Path
) -> None:
    path = tmp_path / "words.cu"
    path.write_text(HEADER + WORDS)
    arrays = [Array("x", "float32"), Array("step", "float32", (100,), per="env")]
    resets = [Kernel("reset", threads_per_env=threads)]
    toy = environment(path, arrays, [agents(num_agents)], {"side": -1.5}, resets=resets, compile_time=("side",))
    World(toy, num_envs=2, device="cpu", envs_per_warp=envs_per_warp)
    if NVRTC is not None:
        compile_with_nvrtc(sources[0])
    usage = compile_for(sources[0], tmp_path, (90,))
    assert {kernel for kernel, _ in usage} == {"ww_entry_step", "ww_entry_reset"}


@needs_nvcc
def test_a_wrong_signature_is_refused_by_nvcc_too(sources: list[KernelSource], tmp_path: Path) -> None:
    path = tmp_path / "wrong.cu"
    path.write_text(HEADER + '#define float double\nextern "C" __global__ void step(float* x) {}\n#undef float\n')
    World(environment(path, [Array("x", "float32", initial=0)]), num_envs=2, device="cpu")
    with pytest.raises(
        AssertionError, match=r"warpworld-signatures.*error.*static assertion failed .*signature of step"
    ):
        compile_for(sources[0], tmp_path, (90,))
