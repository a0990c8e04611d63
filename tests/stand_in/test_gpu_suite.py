"""Every kernel that `make gpu` builds is built here first: by the stand-in's nvcc, and by a real one where it is here.

The suite's part "contract" is covered by `make test-cuda CASES=--exhaustive`, which runs the same tests. Worlds that
the suite compares are compared by test_perturbed_envs.py too, in fewer steps: a push builds a few of them here.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch

import warpworld
from benchmarks.gpu import acting, child, contract, few_steps
from benchmarks.gpu.compare import ComparedWorld
from benchmarks.gpu.part import PASSED, SKIPPED, Context, Part
from benchmarks.gpu.parts import PARTS
from benchmarks.gpu.pycuda_launch import bare_launch
from tests.cases import seldom
from tests.stand_in.driver import StandIn
from warpworld.policies import packed

pytestmark = pytest.mark.stand_in

# What runs kernels elsewhere than in its own process, or none of ours.
ELSEWHERE = {
    "machine": "builds nothing",
    "rates": "runs torch's own copies and products",
    "builds": "runs few_steps",
    "memcheck": "runs few_steps",
    "sweep": "trains trials in processes of their own, of kernels that other parts run here",
    "contract": "runs tests",
    "gymnax": "runs JAX's kernels",
    "warpdrive_gridworld": "runs WarpDrive's kernels",
    "warpdrive_continuous": "runs WarpDrive's kernels",
}


def test_what_runs_elsewhere_is_of_the_suite() -> None:
    assert set(ELSEWHERE) < {part.name for part in PARTS}


# What test_perturbed_envs.py runs of the same worlds.
COMPARED = ("compare", "compare_exact")
# Worlds that no part builds and that differ for the framework, and one by brute force.
BUILT_OFTEN = ("connect_four", "waypoint", "companions, of blocks", "deathmatch by brute force")


def of_part(part: Part) -> Any:
    """A case."""
    return pytest.param(part, id=part.name, marks=seldom if part.name in COMPARED else ())


def of_world(number: int, compared: ComparedWorld) -> Any:
    """A case."""
    return pytest.param(number, id=compared.name, marks=() if compared.name in BUILT_OFTEN else seldom)


@pytest.mark.parametrize("part", [of_part(part) for part in PARTS if part.name not in ELSEWHERE])
def test_the_kernels_of_a_part(part: Part, stand_in: StandIn, tmp_path: Path) -> None:
    context = Context("cpu", quick=True, limit=600.0, path=tmp_path / "figures.json")
    ended = child.run(part.function, context)
    assert ended["status"] == PASSED or (part.name, ended["status"]) == ("profile", SKIPPED), ended["reason"]
    assert stand_in.calls("cuLaunchKernel") > 0


@pytest.mark.long
def test_the_part_acting_finds_weights_in_another_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "CASES", (acting.TAG_GRIDWORLD,))
    monkeypatch.setattr(packed, "_transposed", lambda shape: torch.arange(shape.size))
    context = Context("cpu", quick=True, limit=60.0, path=tmp_path / "figures.json")
    acting.compare(context)
    (said,) = context.findings
    assert re.fullmatch(r"tag_gridworld: log-probabilities are [\d.e-]+ from torch's, expected 1e-05", said)


@pytest.mark.parametrize("number", [of_world(*each) for each in enumerate(few_steps.short_worlds())])
def test_the_kernels_that_are_built_beforehand(number: int, stand_in: StandIn) -> None:
    few_steps.main(number, "cpu")
    assert stand_in.calls("cuLaunchKernel") > 0


def test_the_launch_that_ours_is_held_against(stand_in: StandIn) -> None:
    warpworld.make("cartpole", num_envs=1)
    before = stand_in.calls("cuLaunchKernel")
    bare_launch()()
    assert stand_in.calls("cuLaunchKernel") == before + 1


def files_of(names: Iterable[str]) -> set[Path]:
    """The test files among and below these, which are all there."""
    found = [contract.ROOT / name for name in names]
    assert all(path.exists() for path in found), found
    return {file for path in found for file in ([path] if path.is_file() else path.rglob("test_*.py"))}


def test_the_tests_that_it_runs_are_run_on_the_stand_in_too() -> None:
    asked = ["make", "--silent", "CASES=--exhaustive", "--eval", "listed: ; @echo $(CUDA_TESTS)", "listed"]
    listed = subprocess.run(asked, cwd=contract.ROOT, capture_output=True, text=True, check=True).stdout.split()
    left_out = files_of(contract.WITHOUT_GPU)
    assert files_of(contract.FOLDERS) - left_out <= files_of(listed)
