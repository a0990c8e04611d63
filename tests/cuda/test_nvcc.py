"""Kernels of environments compile for GPUs without a warning, with nvcc and with NVRTC; packaged ones spill nothing."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import warpworld
from benchmarks.brute_force import BruteDeathmatch, BruteExplorer, BrutePointGoal
from tests.cases import often, seldom
from tests.cuda.gpu_compilers import (
    NVRTC,
    OFTEN,
    OLDEST,
    compile_for,
    compile_with_nvrtc,
    cuda_text,
    known,
    needs_nvcc,
    needs_nvrtc,
)
from tests.cuda.warpdrive import warpdrive_worlds
from tests.toys import HEADER, agents, environment
from warpworld import Array, Environment, Kernel, World
from warpworld.checking.elf import Elf
from warpworld.cli.new.template import MODULE, TEMPLATE
from warpworld.environment import packaged_names
from warpworld.managers.cpu.backend import CpuBackend
from warpworld.managers.cuda.compiler import _nvccs, _nvrtcs
from warpworld.managers.kernel_source import INCLUDE_FOLDER, KernelSource, cuda_entry
from warpworld.managers.signature import read_signatures

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
    "coin_game": [{}],
    "coins": [{}],
    "connect_four": [{}],
    "deathmatch": [{}, {"players": 2, "rivals": 2}, {"players": 2, "dtype": "float16"}],
    "delayed_reward": [{}, {"show_pending": True}],
    "explorer": [{}, {"dtype": "float16"}],
    "epidemic": [{}],
    "foraging": [{}, {"grid_observation": True}],
    "hanabi": [{}, {"players": 5}, {"other_play": True}],
    "hide_and_seek": [
        {},
        {"hiders": 3, "seekers": 3, "boxes": 3, "doors": 2, "lidar_rays": 30},
        {"hiders": 5, "seekers": 5, "boxes": 3, "long_boxes": 2, "ramps": 2, "rooms": 4, "lidar_rays": 30},
        {"hiders": 3, "seekers": 3, "boxes": 2, "long_boxes": 3, "rooms": 0},
    ],
    "kuhn_poker": [{}],
    "leduc_poker": [{}],
    "minatar_asterix": [{}],
    "minatar_breakout": [{}],
    "minatar_freeway": [{}],
    "minatar_seaquest": [{}],
    "minatar_space_invaders": [{}],
    "mountain_car": [{}],
    "mountain_car_continuous": [{}],
    "overcooked": [{}],
    "particles_adversary": [{}],
    "particles_crypto": [{}],
    "particles_pursuit": [{}],
    "particles_push": [{}],
    "particles_reference": [{}],
    "particles_simple": [{}],
    "particles_speaker_listener": [{}],
    "particles_spread": [{}, {"agents": 48}],
    "particles_world_comm": [{}],
    "pendulum": [{}],
    "phantom_tic_tac_toe": [{}],
    "point_goal": [{}, {"goal_distance": (1.0, 4.0)}],
    "recall": [{}],
    "skirmish": [{}, {"scenario": "27m_vs_30m"}, {"scenario": "512m"}, {"scenario": "smacv2_5_units"}],
    "signalling": [{}],
    "switch_riddle": [{}, {"prisoners": 48}],
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
    "waypoint": [{}, {"dtype": "float16"}],
}


# The packed build is the same code but for what finds its env, so worlds of which a warp holds other numbers do.
PACKED = {
    "cartpole": "32 envs a warp, of one agent",
    "connect_four": "16, of agents that take turns",
    "tag_gridworld": "6, with two lanes left over, that share memory",
    "skirmish": "3, of two groups that read each other",
    "epidemic": "2, with ten lanes left over",
    "minatar_seaquest": "32, with loops over a grid of their own",
}
# Of these a warp holds one env at most: they have many agents, kernels that see with more threads than agents, or
# a kernel of a single lane. The other kernels of the latter two are packed.
NEVER_PACKED = ("battle", "tag_continuous", "deathmatch", "explorer", "hide_and_seek", "point_goal", "waypoint")
LARGE = ("agents", "scenario", "use_full_observation")  # parameters that make a size of more than 16 agents
# Sizes whose kernels are those of another size with other numbers.
LIKE_ANOTHER: list[dict[str, Any]] = [
    {"dtype": "float16"},
    {"army_size": 512, "map_size": 110},
    {"scenario": "27m_vs_30m"},
    {"agents": 48},
    {"num_taggers": 10, "num_runners": 100},
    {"num_taggers": 5, "num_runners": 20, "use_full_observation": False, "observe_own_state": True},
    {"num_taggers": 100, "num_runners": 900, "use_full_observation": False, "num_other_agents_observed": 10},
    {"num_taggers": 1, "num_runners": 1099},
]
EACH_SIZE = [
    pytest.param(name, params, marks=seldom if params in LIKE_ANOTHER else ())
    for name in SIZES
    for params in SIZES[name]
]
EACH_PACKED = [
    pytest.param(name, params, marks=() if name in PACKED else seldom)
    for name, params in ((name, params) for name in SIZES for params in SIZES[name])
    if name not in NEVER_PACKED and not params.keys() & set(LARGE)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "params"), EACH_SIZE)
def test_environments(
    name: str,
    params: dict[str, Any],
    sources: list[KernelSource],
    check: Callable[[KernelSource], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CpuBackend, "side_by_side", True)  # as many threads as on a GPU
    warpworld.make(name, num_envs=2, device="cpu", **params)
    check(sources[-1])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "params"), EACH_PACKED)
def test_packed_environments(
    name: str,
    params: dict[str, Any],
    sources: list[KernelSource],
    check_with_nvcc: Callable[[KernelSource], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With nvcc alone: the warnings of NVRTC are those of the build that is not packed."""
    monkeypatch.setattr(CpuBackend, "side_by_side", True)
    num_agents = warpworld.make(name, num_envs=2, device="cpu", **params).num_agents
    assert num_agents <= 16 and set(sources[-1].threads) == {num_agents}, f"add {name} to NEVER_PACKED"
    check_with_nvcc(dataclasses.replace(sources[-1], envs_per_warp=32 // num_agents))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "params"),
    [
        *((name, {"plans": "box"}) for name in ("deathmatch", "explorer", "waypoint")),
        *(("hide_and_seek", params) for params in SIZES["hide_and_seek"]),
    ],
)
def test_packed_kernels_beside_those_with_other_threads(
    name: str,
    params: dict[str, Any],
    sources: list[KernelSource],
    check_with_nvcc: Callable[[KernelSource], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CpuBackend, "side_by_side", True)
    world = warpworld.make(name, num_envs=2, device="cpu", **params)
    launched = [*world.environment.phases(), *world.environment.resets()]
    kernels = [Kernel(phase) if isinstance(phase, str) else phase for phase in launched if not callable(phase)]
    packed = {kernel.name for kernel in kernels if kernel.threads(world.num_agents, True) == world.num_agents}
    assert packed and len(packed) < len({kernel.name for kernel in kernels})
    check_with_nvcc(sources[-1].with_kernels(sorted(packed), 32 // world.num_agents))


@pytest.mark.slow
@pytest.mark.parametrize("kind", often([BruteExplorer], [BruteExplorer, BrutePointGoal, BruteDeathmatch]))
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
    symbols = {symbol.name: symbol.nbytes for symbol in Elf(cubin).symbols}
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


@needs_nvrtc
def test_nvrtc_s_warnings_are_seen(tmp_path: Path) -> None:
    path, text = tmp_path / "warned.cu", 'extern "C" __global__ void step(float* x) { int unused; }\n'
    source = KernelSource(path, text, {"NUM_AGENTS": 1}, tuple(read_signatures(path, text).values()), threads=(1,))
    with pytest.raises(AssertionError, match='variable "unused" was declared but never referenced'):
        compile_with_nvrtc(source)


LIMITS = """
#include <stdint.h>

template <typename T> __device__ constexpr bool reach(long long least, unsigned long long most) {
  return T(least) == least && T(most) == most && T(T(most) + T(1)) == T(least);
}
static_assert(reach<int8_t>(INT8_MIN, INT8_MAX) && reach<uint8_t>(0, UINT8_MAX), "8 bits");
static_assert(reach<int16_t>(INT16_MIN, INT16_MAX) && reach<uint16_t>(0, UINT16_MAX), "16 bits");
static_assert(INT32_MIN + INT32_MAX == -1 && reach<uint32_t>(0, UINT32_MAX), "32 bits");
static_assert(INT64_MIN + INT64_MAX == -1 && reach<uint64_t>(0, UINT64_MAX), "64 bits");
static_assert(sizeof(INT32_MAX) == 4 && sizeof(INT64_MAX) == 8 && INT32_MAX >> 30 == 1 && INT64_MAX >> 62 == 1, "bits");
extern "C" __global__ void step(float* x) { x[0] = 1.0f; }
"""


@needs_nvrtc
def test_limits_of_integers_that_nvrtc_has_from_the_package(tmp_path: Path) -> None:
    path = tmp_path / "limits.cu"
    signatures = tuple(read_signatures(path, LIMITS).values())
    compile_with_nvrtc(KernelSource(path, LIMITS, {"NUM_AGENTS": 1}, signatures, threads=(1,)))


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
    usage = compile_for(sources[0], tmp_path, known((OLDEST, *OFTEN)))
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
