"""Kernels as environments have them: correct ones are clean, and each fault is found where it is."""

from __future__ import annotations

import re

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from tests.checking.planted_worlds import ARRAYS, NUM_AGENTS, PLANTED, line_of
from tests.toys import environment
from warpworld import Array, Group, Kernel
from warpworld.checking import Report, check

pytestmark = pytest.mark.cpu_backend

MORE_ARRAYS = [
    Array("grid", "float32", (10,), per="env", initial=0, on_reset="keep"),
    Array("rows", "float32", (4,), initial=1, on_reset="keep"),
    Array("triples", "float32", (3,), initial=1, on_reset="keep"),
    Array("bytes", "uint8", (3,), initial=1, on_reset="keep"),
]
SPECIAL = {
    "cells": Kernel("cells", threads_per_env=8),
    "migrate": Kernel("migrate", own_env_only=False),
}
KERNELS = re.findall(r"__global__ void (\w+)\(", (PLANTED / "typical.cu").read_text())
FAULTS = [
    ("tree", [("race", "part")]),
    ("counter", [("race", "hits")]),
    ("row_end", [("other-env", "grid"), ("out-of-bounds", "grid")]),
    ("partly", [("unwritten", "bodies")]),
    ("remembers", [("race", "calls")]),
    ("wide", [("out-of-bounds", "bytes"), ("race", "bytes"), ("undefined", "bytes")]),
    ("clear", [("out-of-bounds", "rows"), ("race", "rows")]),
    ("window", [("undefined", "rows")]),
    ("flag", [("race", "x")]),
    ("migrate", [("race", "x")]),
]


def checked(source: str, kernel: str) -> Report:
    group = Group("agent", NUM_AGENTS, Box(-np.inf, np.inf, (1,), np.float32), Discrete(3))
    phases = [SPECIAL.get(kernel, kernel)]
    declared = environment(PLANTED / source, [*ARRAYS, *MORE_ARRAYS], [group], phases=phases, resets=())
    return check(declared, num_envs=3, steps=8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_correct_kernel_is_clean(kernel: str) -> None:
    report = checked("typical.cu", kernel)
    assert not report.findings and not report.stopped, str(report)


@pytest.mark.parametrize(("kernel", "expected"), FAULTS, ids=[kernel for kernel, _ in FAULTS])
def test_a_fault_is_found_where_it_is(kernel: str, expected: list[tuple[str, str]]) -> None:
    report = checked("typical_faults.cu", kernel)
    assert [(finding.kind, finding.array) for finding in report.findings] == expected, str(report)
    assert {finding.place.line for finding in report.findings} == {line_of("typical_faults.cu", kernel)}
    assert not report.clean
