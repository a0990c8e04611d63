"""examples/explorer.py and examples/deathmatch.py: from the same state they are what the kernels of these names are."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import warpworld
from tests.packaged import packaged
from warpworld import World
from warpworld.trainers.evaluate import evaluate

pytestmark = pytest.mark.cpu_backend
EXAMPLES = Path(__file__).parents[2] / "examples"
MOTION = ("plan", "positions", "velocity", "angles", "angvelocity")
SENSES = ("observations_rgb", "observations_depth", "observations_imu")
ENVS = 20


def example(name: str) -> Any:
    """The environment of an example."""
    spec = importlib.util.spec_from_file_location(f"{name}_in_python", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name.capitalize())


def step_alike(worlds: list[World], names: tuple[str, ...], draws: np.random.Generator) -> None:
    """One step of all worlds from the state of the first, with the same actions."""
    actions = draws.integers(0, 7, worlds[0]["actions"].shape)
    for world in worlds[1:]:
        for name in names:
            world[name].copy_(worlds[0][name])
    for world in worlds:
        world["actions"][:] = torch.as_tensor(actions)
        world.step()


@pytest.mark.heavy
def test_explorer_is_the_kernels() -> None:
    params: dict[str, Any] = dict(res=32, subsample=4, num_plans=3, min_rooms=2, max_rooms=5, patience=12)
    limits = {"episode_length": 60}
    cuda = packaged("explorer", ENVS, device="cpu", seed=1, **params, **limits)
    python = World(example("explorer")(**params, **limits), ENVS, device="cpu", seed=2)
    for world in (cuda, python):
        world.reset()
    draws, paid, ends = np.random.default_rng(0), 0.0, 0
    for _ in range(100):
        bits = np.unpackbits(cuda.data.numpy("seen").view(np.uint8), axis=-1, bitorder="little")
        seen = python["seen"]
        seen[:, 1:] = torch.as_tensor(bits[:, : seen.shape[1] - 1].astype(bool))
        step_alike([cuda, python], (*MOTION, "potential"), draws)
        for name in ("rewards", "terminated", "truncated", "timestep"):
            assert torch.equal(python[name], cuda[name]), name
        goes_on = ~(cuda["terminated"] | cuda["truncated"])
        for name in (*SENSES, "potential"):
            assert torch.equal(python[name][goes_on], cuda[name][goes_on]), name
        paid += float(cuda["rewards"].sum())
        ends += int((~goes_on).sum())
    assert paid > 50 and ends > 10


@pytest.mark.heavy
def test_deathmatch_is_the_kernels() -> None:
    params: dict[str, Any] = dict(res=32, subsample=4, plans="column", episode_length=50)
    rules = {"megastep_rules": True, "megastep_mends": "bounds,spawns", "players": 2, "rivals": 2}
    cuda = packaged("deathmatch", ENVS, device="cpu", seed=1, **params, **rules)
    python = World(example("deathmatch")(**params), ENVS, device="cpu", seed=2)
    for world in (cuda, python):
        world.reset()
    draws, hits, deaths = np.random.default_rng(0), 0.0, 0
    for step in range(90):
        if step % 10 == 0:
            cuda["health"].copy_(torch.as_tensor(draws.uniform(0.0, 1.0, (ENVS, 4))))
        lives = cuda["health"] > 0.0
        step_alike([cuda, python], (*MOTION, "health"), draws)
        assert torch.equal(python["truncated"], cuda["truncated"])
        assert torch.equal(python["agent_terminated"], cuda["agent_terminated"])
        assert torch.equal(python["agent_terminated"], ~lives)
        alike = lives.all(1)  # where another one lives again elsewhere, it is in other places
        assert torch.equal(python["rewards"][alike], cuda["rewards"][alike])
        alike &= ~cuda["truncated"]
        for name in (*SENSES, "observations_health", "health"):
            torch.testing.assert_close(python[name][alike], cuda[name][alike], rtol=0.0, atol=1e-6)
        hits += float(cuda["rewards"][alike].sum())
        deaths += int((~lives).sum())
    assert hits > 50 and deaths > 10


@pytest.mark.heavy
def test_explorer_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = warpworld.train(str(EXAMPLES / "explorer.yaml"), ["trainer.total_env_steps=50_000"])
    found = evaluate(run, episodes=64)["explorer"]
    assert found["mean_return"] > 6.5  # at random 5.25
