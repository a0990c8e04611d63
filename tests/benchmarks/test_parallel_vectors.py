"""PettingZoo's words for many envs: every system steps, and SuperSuit's envs follow the course of ours."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import warpworld
from benchmarks import parallel_vectors
from benchmarks.adapters import System, measured

pytestmark = pytest.mark.cpu_backend


@pytest.mark.parametrize("system", parallel_vectors.SYSTEMS, ids=lambda system: system.name)
def test_every_system_steps(system: System) -> None:
    for package in ("pettingzoo", system.package):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    row = measured(parallel_vectors.WORLD, system, 2, seconds=0.001)
    assert (row.system, row.num_envs) == (system.name, 2) and row.cpu_seconds_per_call >= 0.0


def test_supersuit_s_envs_follow_the_same_course() -> None:
    pytest.importorskip("pettingzoo")
    pytest.importorskip("supersuit")
    theirs = parallel_vectors.concatenated(3)
    params = {"api": "parallel_vector", "autoreset": "same_step", "device": "cpu", **parallel_vectors.PARAMS}
    ours = warpworld.make(parallel_vectors.WORLD, 3, **params)  # type: ignore[call-overload]
    rows, seen = theirs.reset(seed=7)[0], ours.reset(seed=[7, 8, 9])[0]
    ends, random = 0, np.random.default_rng(0)
    for _ in range(250):
        assert np.array_equal(rows.reshape(3, 5, -1), np.stack(list(seen.values()), axis=1))
        actions = random.integers(0, 5, (3, 5))
        rows, rewards, terminated, truncated, _ = theirs.step(actions.ravel())
        seen, *own, _ = ours.step(dict(zip(ours.possible_agents, actions.T, strict=True)))
        for values, of_rows in zip(own, (rewards, terminated, truncated), strict=True):
            assert np.array_equal(np.stack(list(values.values()), axis=1).ravel(), of_rows)
        ends += int((terminated | truncated).sum())
    assert ends > 10
