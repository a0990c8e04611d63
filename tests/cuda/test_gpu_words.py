"""The GPU's words of the author's header, run lane by lane on the host: who is where, and who waits for whom."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.random_numbers import random_numbers
from warpworld.managers.cpu.host_compiler import find_compiler
from warpworld.managers.kernel_source import INCLUDE_FOLDER
from warpworld.world.random import Random

# Stands in for what nvcc knows by itself; a "lane" is one call after another.
PROGRAM = r"""
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct uint3 { unsigned x, y, z; };
static uint3 threadIdx, blockIdx, blockDim;
static unsigned warp_mask;
static int block_barriers;
static void __syncthreads() { block_barriers++; }
static void __syncwarp(unsigned mask) { warp_mask = mask; }
static unsigned __ballot_sync(unsigned mask, bool vote) { return vote ? mask : 0u; }  // of which no lane is asked here
#define __CUDACC__
#define __shared__ static
#define __device__
#define __forceinline__ inline
#include "warpworld.cuh"
static_assert(LANES_SIDE_BY_SIDE, "the lanes of a GPU run at the same time");

static long shared_slot() {
  ENV_SHARED(int, cells, 3);
  static int* first = cells;
  return (cells - first) / 3;
}

int main(int, char** arguments) {
  const int num_envs = atoi(arguments[1]), threads = atoi(arguments[2]);
  const int per_block = WW_SLOTS, blocks = (num_envs + per_block - 1) / per_block;
  bool* active = (bool*)calloc(num_envs, 1);
  uint64_t *clock = (uint64_t*)calloc(num_envs, 8), *key = (uint64_t*)calloc(num_envs, 8);
  uint32_t* stream = (uint32_t*)calloc(num_envs, 4);
  for (int env = 0; env < num_envs; env++)
    active[env] = env % 3 != 1, clock[env] = env + 5, key[env] = 0x123456789abcdefull, stream[env] = 40 + env;
  const ww_context context = {num_envs, 40,      WW_SAME_STEP, nullptr, clock,  key,
                              stream,   nullptr, nullptr,      active,  nullptr};
  const ww_launch launch = {context, 9, 1, WW_STAY, 0, {}};
  blockDim = {(unsigned)threads, 1, 1};
  printf("[");
  for (blockIdx.x = 0; blockIdx.x < (unsigned)blocks; blockIdx.x++) {
    for (threadIdx.x = 0; threadIdx.x < (unsigned)threads; threadIdx.x++) ww_enter(launch);
    for (threadIdx.x = 0; threadIdx.x < (unsigned)threads; threadIdx.x++) {
      warp_mask = 0, block_barriers = 0;
      sync_env();
      Random own = Random::agent(), shared = Random::env();
      printf(blockIdx.x || threadIdx.x ? ",\n[" : "[");
      printf("%u, %u, %d, %d, %d, %d, ", blockIdx.x, threadIdx.x, env_id(), agent_id(), agent_index(), is_active());
      printf("%d, %d, %u, %d, %ld, ", lane(), num_lanes(), warp_mask, block_barriers, shared_slot());
      printf("%u, %u]", own.bits(), shared.bits());
    }
  }
  printf("]");
}
"""
FIELDS = (
    *("block", "thread", "env", "agent", "index", "active", "lane", "num_lanes", "mask", "barriers", "slot"),
    *("own", "shared"),
)
NUM_ENVS = 29


def lanes_of(tmp_path: Path, num_agents: int, envs_per_warp: int, threads: int, **defines: int) -> list[dict[str, int]]:
    """Every lane of a launch over NUM_ENVS envs, of which every third sits it out."""
    compiler = find_compiler()
    (tmp_path / "words.cpp").write_text(PROGRAM)
    program = tmp_path / "words"
    macros = {"NUM_AGENTS": num_agents, "WW_ENVS_PER_WARP": envs_per_warp, **defines}
    command = [*compiler.command, "-std=c++17", "-w", *(f"-D{name}={value}" for name, value in macros.items())]
    command += ["-I", str(INCLUDE_FOLDER), str(tmp_path / "words.cpp"), "-o", str(program)]
    subprocess.run(command, check=True)
    result = subprocess.run([str(program), str(NUM_ENVS), str(threads)], capture_output=True, text=True, check=True)
    return [dict(zip(FIELDS, row, strict=True)) for row in json.loads(result.stdout)]


def numbers(num_agents: int) -> Random:
    clock = (torch.arange(NUM_ENVS) + 5).to(torch.uint64)
    return random_numbers(clock, num_agents, first_env=40, seed=0x123456789ABCDEF, index=9)


def check_everywhere(lanes: list[dict[str, int]], num_agents: int) -> None:
    """What holds for every lane, packed or not."""
    own, shared = numbers(num_agents).bits()[..., 0], numbers(num_agents).env_bits()[:, 0]
    for lane in lanes:
        assert 0 <= lane["env"] < NUM_ENVS and 0 <= lane["agent"] < num_agents  # also where nobody is
        assert lane["index"] == lane["env"] * num_agents + lane["agent"]
        assert lane["own"] == own[lane["env"], lane["agent"]]
        assert lane["shared"] == shared[lane["env"]]
    active = sorted((lane["env"], lane["agent"]) for lane in lanes if lane["active"])
    assert active == [(env, agent) for env in range(NUM_ENVS) if env % 3 != 1 for agent in range(num_agents)]


@pytest.mark.parametrize("num_agents", [1, 5, 40])
def test_one_env_a_block(tmp_path: Path, num_agents: int) -> None:
    lanes = lanes_of(tmp_path, num_agents, 0, threads=num_agents, WW_THREADS_PER_ENV=num_agents)
    check_everywhere(lanes, num_agents)
    assert len(lanes) == NUM_ENVS * num_agents
    for lane in lanes:
        assert (lane["env"], lane["agent"], lane["lane"]) == (lane["block"], lane["thread"], lane["thread"])
        assert (lane["num_lanes"], lane["barriers"], lane["mask"], lane["slot"]) == (num_agents, 1, 0, 0)


@pytest.mark.parametrize(
    ("num_agents", "envs_per_warp", "warps"), [(1, 32, 4), (5, 6, 4), (5, 2, 1), (16, 2, 4), (32, 1, 2), (7, 4, 3)]
)
def test_several_envs_a_warp(tmp_path: Path, num_agents: int, envs_per_warp: int, warps: int) -> None:
    lanes = lanes_of(tmp_path, num_agents, envs_per_warp, threads=32 * warps, WW_WARPS_PER_BLOCK=warps)
    check_everywhere(lanes, num_agents)
    places: dict[tuple[int, int], Any] = {}
    for lane in lanes:
        warp, place = lane["thread"] // 32, lane["thread"] % 32
        assert (lane["num_lanes"], lane["lane"], lane["barriers"]) == (num_agents, lane["agent"], 0)
        if place >= envs_per_warp * num_agents:  # no agent here
            assert (lane["active"], lane["mask"]) == (0, 0)
            continue
        slot = warp * envs_per_warp + place // num_agents
        assert lane["slot"] == slot
        assert lane["env"] == min(lane["block"] * envs_per_warp * warps + slot, NUM_ENVS - 1)
        mates = range(place // num_agents * num_agents, (place // num_agents + 1) * num_agents)
        assert lane["mask"] == sum(1 << mate for mate in mates)  # exactly the lanes of its own env
        assert places.setdefault((lane["block"], slot), lane["mask"]) == lane["mask"]


@pytest.mark.parametrize("threads", [3, 70])
def test_kernels_with_threads_of_their_own(tmp_path: Path, threads: int) -> None:
    """Each such kernel asks its launch, since a file may have kernels of several numbers."""
    lanes = lanes_of(tmp_path, 5, 0, threads=threads)
    for lane in lanes:
        assert (lane["env"], lane["lane"], lane["agent"]) == (lane["block"], lane["thread"], lane["thread"])
        assert (lane["num_lanes"], lane["barriers"]) == (threads, 1)
        assert lane["active"] == (lane["env"] % 3 != 1)  # lanes beyond the agents take part too
