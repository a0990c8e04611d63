"""How many envs share the warps and the blocks of a launch. What such launches do is tested with --stand-in."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.narrow_device import NarrowBackend
from tests.toys import IDLE, agents, environment
from warpworld import Kernel, World
from warpworld.managers.cuda.backend import CudaBackend
from warpworld.managers.cuda.launches import launches_of
from warpworld.managers.program import RunKernel

pytestmark = pytest.mark.cpu_backend


class AsCuda(NarrowBackend):
    """Packs envs as the cuda backend does; its kernels are built for the host, and not run."""

    warp_size = CudaBackend.warp_size
    warps_per_block = CudaBackend.warps_per_block
    packs_envs = CudaBackend.packs_envs


def world_of(folder: Path, num_agents: int, num_envs: int, envs_per_warp: int | None) -> World:
    """A world whose kernels take a thread for each agent."""
    (folder / "idle.cu").write_text(IDLE)
    idle = environment(folder / "idle.cu", groups=[agents(num_agents)])
    return World(idle, num_envs, envs_per_warp=envs_per_warp, backend=AsCuda(1))


@pytest.mark.parametrize(
    ("num_agents", "num_envs", "envs_per_warp", "threads", "envs_per_block", "blocks"),
    [
        (5, 50, None, 128, 24, 3),  # 6 envs to a warp of 32 lanes, 4 warps to a block
        (5, 48, None, 128, 24, 2),
        (5, 49, 2, 128, 8, 7),
        (16, 9, None, 128, 8, 2),
        (16, 9, 0, 16, 1, 9),  # asked for one env a block
        (17, 9, None, 17, 1, 9),  # only one env fits a warp
    ],
)
def test_blocks_of_a_launch(
    tmp_path: Path,
    num_agents: int,
    num_envs: int,
    envs_per_warp: int | None,
    threads: int,
    envs_per_block: int,
    blocks: int,
) -> None:
    world = world_of(tmp_path, num_agents, num_envs, envs_per_warp)
    world.seal()
    step = world._kernels.step(Kernel("step"), 0, active_only=False)
    assert (step.threads, step.envs_per_block) == (threads, envs_per_block)
    (launch,) = launches_of([of_cuda(step)], world.data, world.constants, idle=lambda: step)
    assert (launch.grid, launch.block) == ((blocks, 1), (threads, 1, 1))


LOOK = 'extern "C" __global__ void look() {}\n'


@pytest.mark.parametrize(
    ("more", "asked", "of_step"),
    [
        ("", None, (128, 24)),  # 6 envs to a warp, 4 warps to a block
        ("", 0, (5, 1)),
        # which two modules would each have for themselves
        ("__device__ int looks;\n", None, (5, 1)),
        ("#define COUNTER(name) __device__ int name\nCOUNTER(looks);\n", None, (5, 1)),
        ("__device__ int counted() { static int looks; return ++looks; }\n", None, (5, 1)),
        ("static __device__ int place() { static const int places[] = {1}; return places[0]; }\n", None, (128, 24)),
        ("__device__ int place() { return (int)threadIdx.x; }\n", None, (5, 1)),
    ],
)
def test_blocks_beside_a_kernel_of_more_threads(
    tmp_path: Path, more: str, asked: int | None, of_step: tuple[int, int]
) -> None:
    (tmp_path / "mixed.cu").write_text(IDLE + more + LOOK)
    phases = ["step", Kernel("look", threads_per_env=64)]
    world = World(
        environment(tmp_path / "mixed.cu", groups=[agents(5)], phases=phases),
        50,
        envs_per_warp=asked,
        backend=AsCuda(1),
    )
    world.seal()
    step, look = (world._kernels.step(Kernel(name), 0, active_only=False) for name in ("step", "look"))
    assert (step.threads, step.envs_per_block) == of_step
    assert (look.threads, look.envs_per_block) == (64, 1)
    assert world.envs_per_warp == 0
    assert (step.module is look.module) == (of_step[1] == 1)


def of_cuda(step: RunKernel) -> RunKernel:
    """The step, as of a module of the cuda backend."""
    return dataclasses.replace(step, module=SimpleNamespace(functions={step.name: None}))
