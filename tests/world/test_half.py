"""Numbers of 16 bits: as NumPy's, and as observations that policies learn from in float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from toys import HEADER, agents, environment

from warpworld import Array, Environment, Group, World
from warpworld.checking import check
from warpworld.config import config_from_dict
from warpworld.errors import BindError
from warpworld.trainers.rollout import Rollout
from warpworld.trainers.trainer import Trainer

FOLDER = Path(__file__).parent
NUMBERS = 2**16


def converted(floats: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a kernel makes of floats and of halves, ``NUMBERS`` of each an env."""
    envs = max(len(floats), len(halves)) // NUMBERS
    shape = (envs, NUMBERS)
    arrays = [
        Array("floats", "float32", (NUMBERS,), per="env", initial=np.resize(floats, shape), on_reset="keep"),
        Array("halves", "float16", (NUMBERS,), per="env"),
        Array("given", "float16", (NUMBERS,), per="env", initial=np.resize(halves, shape), on_reset="keep"),
        Array("back", "float32", (NUMBERS,), per="env"),
    ]
    declared = environment(
        FOLDER / "halves.cu", arrays, [agents(1)], {"numbers": NUMBERS}, ["convert"], (), compile_time=("numbers",)
    )
    world = World(declared, envs)
    world.reset()
    world.step()
    return world["halves"].cpu().numpy().reshape(-1), world["back"].cpu().numpy().reshape(-1)


def same(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Equal to the bit, and NaN where there is NaN."""
    numbers = ~np.isnan(expected)
    bits = f"u{found.itemsize}"
    return np.where(numbers, found.view(bits) == expected.view(bits), np.isnan(found))


def test_halves_become_floats_exactly() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    _, back = converted(np.zeros(NUMBERS, np.float32), halves)
    assert same(back, halves.astype(np.float32)).all()


def test_floats_become_the_nearest_halves() -> None:
    """Any bits; and between each half and the next one the middle, and the floats beside that."""
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(over="ignore", invalid="ignore"):
        middles = np.float32(0.5) * (halves.astype(np.float32) + np.nextafter(halves, np.float16(np.inf)))
    ties = middles[np.isfinite(middles)]
    chosen = np.concatenate([ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)]).astype(np.float32)
    chosen = np.concatenate([chosen, np.float32([65519.996, 65520, 65536, 1e9, np.inf, -np.inf, np.nan, 2**-25, -0.0])])
    anything = np.random.default_rng(0).integers(0, 2**32, 6 * NUMBERS, dtype=np.uint32).view(np.float32)
    floats = np.resize(np.concatenate([chosen, anything]), 10 * NUMBERS)
    found, _ = converted(floats, halves)
    with np.errstate(over="ignore", invalid="ignore"):
        assert same(found, floats.astype(np.float16)).all()


class SeenIn(Environment):
    """Two agents who walk on multiples of 1/8, and see both places in ``dtype``: the same numbers in either."""

    source = str(FOLDER / "seen_in_half.cu")

    @dataclass(frozen=True)
    class Params:
        dtype: str = "float32"
        named: bool = False  # whether the observation is a Dict

    params: Params

    def groups(self) -> Sequence[Group]:
        seen: Any = Box(-100.0, 100.0, (2,), self.params.dtype)
        return [Group("walker", 2, Dict(places=seen) if self.params.named else seen, Discrete(3))]

    def arrays(self) -> Sequence[Array]:
        return [Array("x", "float32")]

    def phases(self) -> Sequence[Any]:
        return ["step_in_half" if self.params.dtype == "float16" else "step_in_float"]

    def resets(self) -> Sequence[Any]:
        return ["reset_in_half" if self.params.dtype == "float16" else "reset_in_float"]


def trainer(**env: Any) -> Trainer:
    return Trainer(
        config_from_dict(
            {
                "name": "test_half:SeenIn",
                "env": env,
                "trainer": {"num_envs": 6, "num_steps": 16, "total_env_steps": 6 * 16 * 3, "graph_steps": 0},
                "policy": {"walker": {"model": {"hidden_sizes": [8]}, "update_epochs": 2, "num_minibatches": 2}},
            }
        )
    )


def test_learning_is_the_same_as_from_float32() -> None:
    """Rows, the values of episodes that were cut off, and weights, to the bit."""
    trained = [trainer(dtype=dtype) for dtype in ("float32", "float16")]
    for each in trained:
        each.train(None)
    wide, narrow = trained
    assert narrow.world["observations"].dtype == narrow.world["kept_observations"].dtype == torch.float16
    assert narrow.world["rollout_observations_walker"].dtype == torch.float32
    assert wide.world["kept_observations_count"].sum() > 0
    for name in ("rollout_observations_walker", "rollout_rewards"):
        assert torch.equal(wide.world[name], narrow.world[name])
    for ours, theirs in zip(wide.policies["walker"].parameters(), narrow.policies["walker"].parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_final_observations_are_kept_as_they_are() -> None:
    world = World(SeenIn(dtype="float16"), 4, seed=1)
    world.request("final_observations")
    world.reset()
    for _ in range(7):
        before = world["x"].clone()
        world["actions"].fill_(2)
        world.step()
        ended = world["truncated"]
        last = (before + 0.125)[ended]
        assert world["final_observations"].dtype == torch.float16
        assert torch.equal(world["final_observations"][ended].float(), last[:, None].expand(-1, 2, -1))


def test_sums_beyond_halves_are_no_fault() -> None:
    """A rollout looks for numbers that are not finite by adding up all: 65504 is the largest half."""
    world = World(SeenIn(dtype="float16"), 64)
    rollout = Rollout(world, dict.fromkeys(world.groups), num_steps=2, graph_steps=0)
    world.reset()
    rollout.freeze()
    world["x"].fill_(1000.0)
    rollout.collect()
    rollout.check_finite()
    assert world["observations"].float().sum() > 2 * 65504


def test_the_check_knows_halves(tmp_path: Path) -> None:
    assert not check(SeenIn(dtype="float16")).findings
    assert not check(SeenIn(dtype="float16")).findings
    unwritten = tmp_path / "unwritten.cu"
    text = (FOLDER / "seen_in_half.cu").read_text()
    unwritten.write_text(text.replace("agent < NUM_AGENTS; ++agent) seen", "agent < 1; ++agent) seen"))

    class Unwritten(SeenIn):
        source = str(unwritten)

    (finding,) = check(Unwritten(dtype="float16")).findings
    assert finding.array == "observations"


def test_a_kernel_that_takes_floats_for_halves_is_told() -> None:
    class Mistaken(SeenIn):
        def phases(self) -> Sequence[Any]:
            return ["step_in_float"]

    with pytest.raises(BindError, match=r"observations.*float16"):
        World(Mistaken(dtype="float16"), 1).reset()


def test_cuda_s_own_words(tmp_path: Path) -> None:
    """``half``, and going to and fro without a word."""
    source = tmp_path / "words.cu"
    source.write_text(
        f"{HEADER}#include <half.cuh>\n"
        'extern "C" __global__ void step(half* h, float* x) {\n'
        "  if (!is_active()) return;\n"
        "  h[agent_index()] = 0.1f;\n"
        "  x[agent_index()] = (float)h[agent_index()] * 2.0f;\n"
        "}\n"
    )
    world = World(environment(source, [Array("h", "float16"), Array("x", "float32")], resets=()), 1)
    world.reset()
    world.step()
    assert world["x"].cpu().numpy() == pytest.approx(2.0 * np.float32(np.float16(0.1)), abs=0)
