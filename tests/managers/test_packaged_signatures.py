"""What every kernel of the package, its benchmarks and its templates keeps to."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpworld.managers.signature import Signature, read_signatures

ROOT = Path(__file__).parent.parent.parent
MOST = 14  # parameters that a reader keeps in mind
FILES = sorted(
    path
    for folder in ("warpworld", "benchmarks")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".cu", ".cuh")
)
KERNELS = [
    pytest.param(signature, id=f"{path.relative_to(ROOT)}:{signature.name}")
    for path in FILES
    for signature in read_signatures(path, path.read_text(encoding="utf-8")).values()
]


def test_all_are_here() -> None:
    names = {parameters.id for parameters in KERNELS}
    assert {
        "warpworld/policies/samplers/sample.cu:sample_masked",
        "warpworld/cuda/blocks/rgb.cuh:see_rgb",
        "warpworld/envs/deathmatch/deathmatch.cu:act_by_megastep",
        "warpworld/eyes/plans/bake.cu:bake",
        "benchmarks/brute_explorer.cu:see_by_force",
    } <= names


@pytest.mark.parametrize("signature", KERNELS)
def test_parameters_are_few(signature: Signature) -> None:
    assert len(signature.parameters) <= MOST


def test_the_arrays_of_plans_are_listed_once() -> None:
    """In the struct that kernels take; kernels that light plans, and find ways and sights, make what structs have."""
    listed = [path.name for path in FILES for line in path.read_text().splitlines() if "float4* plan_walls" in line]
    assert sorted(listed) == ["bake.cu", "bake.cu", "plan.cuh", "sights.cu", "ways.cu"]
