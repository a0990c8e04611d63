"""Worlds whose kernels take structs walk the same trajectory as with plain parameters, on each backend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.toys import HEADER, agents, environment
from warpworld import Array, Kernel, World

FIELDS = (
    "float2* places; float* paces; const float4* walls; bool bounces; double scale; int num_walls; signed char sign;"
)
HEADS = {
    "structs": (
        "bool grows, Scene scene, float* rewards",
        "Scene scene",
        "scene.",
        f"struct Scene {{ {FIELDS} }};",
    ),
    "nested": (
        "bool grows, const Scene scene, float* rewards",
        "const Scene scene",
        "scene.",
        "struct Walls { const float4* walls; bool bounces; double scale; };\n"
        "struct Scene { float2* places; float* paces; Walls of; int num_walls; signed char sign; };",
    ),
    "plain": (
        "bool grows, float2* places, float* paces, const float4* walls, bool bounces, double scale, int num_walls, "
        "signed char sign, float* rewards",
        "float2* places, float* paces, const float4* walls, bool bounces, double scale, int num_walls, "
        "signed char sign",
        "",
        "",
    ),
}
KERNELS = """
extern "C" __global__ void step(%(step)s) {
  if (!is_active()) return;
  ENV_SHARED(float, sums, NUM_AGENTS);
  const int i = agent_index();
  sums[agent_id()] = %(own)spaces[i] * (float)%(own)ssign;
  sync_env();
  for (int wall = 0; wall < %(own)snum_walls; ++wall) %(own)splaces[i].x += %(of)swalls[wall].z * (float)%(of)sscale;
  %(own)splaces[i].y += sums[(agent_id() + 1) %% NUM_AGENTS] * (%(of)sbounces ? -1.0f : 1.0f);
  rewards[i] = grows ? %(own)splaces[i].x : %(own)splaces[i].y;
}
extern "C" __global__ void reset(%(reset)s) {
  if (!is_active()) return;
  Random random = Random::agent();
  %(own)splaces[agent_index()] = make_float2(random.uniform(), 0.5f);
  %(own)spaces[agent_index()] = random.uniform();
}
"""
WALLS = np.arange(12, dtype=np.float32).reshape(3, 4)
ARRAYS = [
    Array("places", "float32", (2,)),
    Array("paces", "float32"),
    Array("walls", "float32", (3, 4), per="world", initial=WALLS, read_only=True),
]
PARAMS = dict(grows=True, bounces=True, scale=0.1, num_walls=3, sign=-2)


def world(
    folder: Path, spelling: str, num_agents: int = 3, phases: Sequence[str | Kernel] = ("step",), **settings: Any
) -> World:
    step, reset, own, structs = HEADS[spelling]
    of = f"{own}of." if spelling == "nested" else own
    path = folder / f"{spelling}.cu"
    path.write_text(f"{HEADER}{structs}{KERNELS % dict(step=step, reset=reset, own=own, of=of)}")
    return World(environment(path, ARRAYS, [agents(num_agents)], PARAMS, phases), num_envs=5, seed=3, **settings)


def trajectory(made: World) -> torch.Tensor:
    made.reset()
    for _ in range(4):
        made.step()
    return torch.cat([made[name].flatten() for name in ("places", "paces", "rewards")]).cpu()


@pytest.mark.parametrize("num_agents", [1, 3])
@pytest.mark.parametrize("spelling", ["structs", "nested"])
def test_same_bits_as_with_plain_parameters(tmp_path: Path, spelling: str, num_agents: int) -> None:
    found = trajectory(world(tmp_path, spelling, num_agents))
    assert torch.equal(found, trajectory(world(tmp_path, "plain", num_agents)))
    assert found.unique().numel() > 10 * num_agents


def test_packed_envs(tmp_path: Path) -> None:
    assert torch.equal(
        trajectory(world(tmp_path, "structs", envs_per_warp=4)), trajectory(world(tmp_path, "plain", envs_per_warp=0))
    )


def test_arguments_in_the_order_of_a_list(tmp_path: Path) -> None:
    """An entry for each field, instead of its struct."""
    step = Kernel("step", arguments=(False, "places", "paces", "walls", 0, 0.1, "num_walls", -2, "rewards"))
    by_name = trajectory(world(tmp_path, "structs"))
    listed = [trajectory(world(tmp_path, spelling, phases=[step])) for spelling in ("structs", "plain")]
    assert torch.equal(*listed)
    assert not torch.equal(by_name, listed[0])


def test_an_array_on_request_is_made_for_a_field_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "masked.cu"
    path.write_text(
        f"{HEADER}struct Ends {{ bool* agent_terminated; }};\n"
        'extern "C" __global__ void step(Ends ends) {\n'
        "  if (is_active()) ends.agent_terminated[agent_index()] = agent_id() == 0;\n}\n"
    )
    made = World(environment(path, resets=[]), num_envs=2)
    made.reset()
    made.step()
    assert made["agent_terminated"].tolist() == [[True, False]] * 2
