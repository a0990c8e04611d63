"""Plain kernels on the cpu backend: barriers, shared memory, early returns and warp operations against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cuda.kernel_worlds import HERE, kernel_world, run
from tests.toys import HEADER, environment
from warpworld import Array, Kernel, World

SIZES = [1, 5, 32, 256, 1024]
WORKERS = [1, 3]
X = [Array("x", "float32"), Array("whole", "int32")]


def numbers(num_envs: int, num_agents: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(num_agents)
    shape = (num_envs, num_agents)
    return {
        "x": random.random(shape, dtype=np.float32),
        "whole": random.integers(-1000, 1000, shape, dtype=np.int32),
    }


# ---- headers ---------------------------------------------------------------------------------------------------------
@pytest.mark.cpu_backend
@pytest.mark.parametrize(
    "before", ['extern "C" __global__ inline', "inline __global__", "static __inline__ __global__"]
)
def test_a_kernel_may_be_inline(before: str, tmp_path: Path) -> None:
    """The headers make it so if its author does not."""
    path = tmp_path / "inline.cu"
    kernels = f"{before} void step(float* x) {{ x[agent_index()] = 7.0f; }}\n{before} void reset() {{}}\n"
    path.write_text(HEADER + kernels)
    world = World(environment(path, [Array("x", "float32", initial=0)]), 2, device="cpu")
    world.reset()
    world.step()
    assert world["x"].eq(7.0).all()


# ---- shared memory and barriers -------------------------------------------------------------------------------------
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kernel", ["reverse", "reverse_env"])
def test_shared_memory_is_reversed(kernel: str, size: int, workers: int) -> None:
    values = numbers(70, size)
    world = kernel_world("shared.cu", kernel, [*X, Array("y", "float32")], size, 70, workers, values)
    for _ in range(3):
        (y,) = run(world, "y")
        assert np.array_equal(y, values["x"][:, ::-1])


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("size", SIZES)
def test_barriers_in_loops_and_functions(size: int, workers: int) -> None:
    values = numbers(70, size)
    arrays = [*X, Array("sums", "int32"), Array("largest", "int32")]
    world = kernel_world("shared.cu", "collect", arrays, size, 70, workers, values)
    sums, largest = run(world, "sums", "largest")
    assert np.array_equal(sums, values["whole"].cumsum(axis=1))
    assert np.array_equal(largest, np.repeat(values["x"].argmax(axis=1)[:, None], size, axis=1))


@pytest.mark.parametrize("size", SIZES)
def test_every_agent_knows_its_place(size: int) -> None:
    world = kernel_world("shared.cu", "places", [Array("place", "int32", (8,))], size, 9, 3)
    (place,) = run(world, "place")
    env, agent = np.indices((9, size))
    envs, agents = np.full_like(env, 9), np.full_like(env, size)
    assert np.array_equal(place, np.stack([env, agent, envs, agents, env, agent, agent, agents], axis=-1))


@pytest.mark.parametrize("size", [1, 5, 256])
def test_what_agents_hold_survives_barriers(size: int) -> None:
    values = numbers(70, size)
    world = kernel_world("shared.cu", "hold", [*X, Array("held", "float64")], size, 70, 3, values)
    (held,) = run(world, "held")
    bits = np.uint64(0x0123456789ABCDEF) * np.arange(1, 70 * size + 1, dtype=np.uint64).reshape(70, size)
    for _ in range(4):
        bits = bits << np.uint64(7) | bits >> np.uint64(57)
    squares = values["x"].astype(np.float64) ** 2
    np.testing.assert_allclose(held, 4 * squares + 6 + (bits >> np.uint64(40)), rtol=1e-15)


@pytest.mark.cpu_backend
@pytest.mark.parametrize("size", [5, 256])
def test_stacks_are_aligned(size: int) -> None:
    world = kernel_world("stacks.cu", "frames", [Array("off", "int32", (2,))], size, 70, 3)
    assert not run(world, "off")[0].any()


@pytest.mark.parametrize("workers", WORKERS)
def test_one_thread_beside_kernels_with_many(workers: int) -> None:
    collected = [*X, Array("sums", "int32"), Array("largest", "int32")]
    many = kernel_world("shared.cu", "collect", collected, 5, 200, workers)
    alone = Kernel("alone", threads_per_env=1)
    world = kernel_world("shared.cu", alone, [Array("calls", "int32", per="env", initial=0)], 5, 200, workers)
    for _ in range(5):
        many.step()  # leaves a ring behind
        world.step()
    assert (world["calls"] == 5).all()


# ---- early returns --------------------------------------------------------------------------------------------------
def mixed(x: np.ndarray) -> np.ndarray:
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x7FEB352D)
    x = (x ^ x >> np.uint32(15)) * np.uint32(0x846CA68B)
    return x ^ x >> np.uint32(16)


def mingled(last_rounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What mingle.cu writes, all agents in step."""
    words = mixed(np.arange(last_rounds.size, dtype=np.uint32).reshape(last_rounds.shape))
    sums = np.zeros(last_rounds.shape, np.float32)
    for round_ in range(6):
        stays = last_rounds > round_
        others = np.roll(words, -(round_ + 1), axis=1)
        words = np.where(stays, mixed(words ^ others), words)
        sums = np.where(stays, sums + (words >> np.uint32(8)).astype(np.float32) * np.float32(0.1), sums)
    return words, sums


MINGLE = [Array("last_rounds", "int32"), Array("words", "uint32"), Array("sums", "float32")]


@pytest.fixture(scope="module")
def mingle_in_warps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same kernel for the general scheduler, which a word about warps asks for."""
    path = tmp_path_factory.mktemp("warps") / "mingle.cu"
    path.write_text((HERE / "mingle.cu").read_text() + "__device__ void unused() { __syncwarp(); }\n")
    return path


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("size", [2, 5, 110])
def test_random_early_returns(size: int, workers: int, mingle_in_warps: Path) -> None:
    random = np.random.default_rng(size)
    worlds = [kernel_world(source, "mingle", MINGLE, size, 80, workers) for source in ("mingle.cu", mingle_in_warps)]
    if size <= 32:
        worlds.append(kernel_world("mingle.cu", "mingle", MINGLE, size, 80, workers, envs_per_warp=32 // size))
    for _ in range(5):
        last_rounds = random.integers(0, 7, (80, size), dtype=np.int32)
        last_rounds[::9] = 0  # nobody meets
        last_rounds[1::9] = 6  # everybody meets to the end
        last_rounds[2::9, 0] = 0  # the first one never meets
        last_rounds[3::9, :-1] = 0  # only the last one does
        words, sums = mingled(last_rounds)
        for world in worlds:
            world["last_rounds"] = last_rounds
            got_words, got_sums = run(world, "words", "sums")
            assert np.array_equal(got_words, words)
            assert np.array_equal(got_sums, sums)


# ---- warps ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("size", [32, 256, 1024])
def test_reductions(size: int, workers: int) -> None:
    values = numbers(20, size)
    arrays = [*X, Array("down", "float32", per="env"), Array("across", "float32"), Array("halves", "uint32")]
    world = kernel_world("warps.cu", "reduce", arrays, size, 20, workers, values)
    down, across, halves = run(world, "down", "across", "halves")
    by_warp = values["x"].reshape(20, -1, 32)
    np.testing.assert_allclose(down, values["x"].sum(axis=1, dtype=np.float64), rtol=1e-5)
    sums = np.repeat(by_warp.sum(axis=2, dtype=np.float64), 32, axis=1)
    np.testing.assert_allclose(across, sums, rtol=1e-5)
    ballots = ((by_warp > 0.5) << np.arange(32, dtype=np.uint32)).sum(axis=2).astype(np.uint32)
    assert np.array_equal(halves, np.repeat(ballots, 32, axis=1))


@pytest.mark.parametrize("size", [32, 256])
def test_partial_masks(size: int) -> None:
    values = numbers(20, size)
    world = kernel_world("warps.cu", "halves", [*X, Array("out", "int32")], size, 20, 3, values)
    (out,) = run(world, "out")
    whole = values["whole"].reshape(20, -1, 32)
    first = whole[..., :16].cumsum(axis=2)
    second = np.repeat(whole[..., 31:] * 10, 16, axis=2)
    both = np.concatenate([first + second] * 2, axis=2)
    assert np.array_equal(out, both.reshape(20, size))


def test_sections_of_a_warp() -> None:
    values = numbers(20, 32)
    arrays = [*X, Array("up", "float32"), Array("to", "float64"), Array("down", "int64"), Array("x_or", "uint32")]
    world = kernel_world("warps.cu", "sections", arrays, 32, 20, 3, values)
    up, to, down, x_or = run(world, "up", "to", "down", "x_or")
    lane = np.arange(32)
    place, x, whole = lane % 8, values["x"], values["whole"]
    assert np.array_equal(up, x[:, np.where(place >= 3, lane - 3, lane)])
    assert np.array_equal(to, x[:, lane - place + 2].astype(np.float64) * 3.0)
    assert np.array_equal(down, whole[:, np.where(place + 2 < 8, lane + 2, lane)].astype(np.int64) << 33)
    # an earlier section may be read, a later one not
    source = np.where((lane ^ 9) < lane - place + 8, lane ^ 9, lane)
    assert np.array_equal(x_or, whole[:, source].view(np.uint32))


@pytest.mark.parametrize("size", [32, 37, 256])
def test_votes_without_those_that_returned(size: int) -> None:
    values = numbers(20, size)
    values["whole"] %= 4
    arrays = [*X, Array("ballots", "uint32", (2,), initial=0), Array("any", "bool"), Array("all", "bool")]
    world = kernel_world("warps.cu", "votes", arrays, size, 20, 3, values)
    ballots, any_, all_ = run(world, "ballots", "any", "all")
    for env in range(20):
        for first in range(0, size, 32):
            lanes = np.arange(min(32, size - first))
            voting = lanes % 8 != 5
            staying = voting & (lanes % 4 != 2)
            whole = values["whole"][env, first : first + 32]
            got = slice(first, first + 32)
            even = int(((whole % 2 == 0) & voting) @ (1 << lanes))
            stay = int(staying @ (1 << lanes))
            assert (ballots[env, got, 0] == np.where(voting, even, 0)).all()
            last = np.where(lanes % 4 == 1, stay, stay + 1)
            assert (ballots[env, got, 1] == np.where(staying, last & 0xFFFFFFFF, 0)).all()
            assert (any_[env, got][voting] == (whole[voting] == 3).any()).all()
            assert (all_[env, got][voting] == (whole[voting] != 3).all()).all()


@pytest.mark.parametrize("workers", WORKERS)
def test_warps_between_barriers_of_the_block(workers: int) -> None:
    values = numbers(20, 256)
    world = kernel_world("warps.cu", "mixed", [*X, Array("out", "int32")], 256, 20, workers, values)
    (out,) = run(world, "out")
    value = values["whole"].reshape(20, 8, 32).copy()
    for warp in range(8):
        for round_ in range(warp + 1):
            value[:, warp] += value[:, warp, np.arange(32) ^ (1 << round_ % 5)]
    total = value[:, :, 0].sum(axis=1)
    assert np.array_equal(out, (value + total[:, None, None]).reshape(20, 256))


@pytest.mark.parametrize("envs_per_warp", [0, 1, 4])
def test_lanes_are_side_by_side_in_the_packed_build_alone(envs_per_warp: int) -> None:
    world = kernel_world("shared.cu", "side_by_side", [Array("y", "bool")], envs_per_warp=envs_per_warp)
    (y,) = run(world, "y")
    assert (y == (envs_per_warp > 0 or world._backend.name == "cuda")).all()
