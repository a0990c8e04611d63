"""Observations of 16 bits: rows hold them as they are, and policies read them as float32."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete

from tests.toys import environment
from tests.trainers.recorded import Recorded
from warpworld import Array, Environment, Group, World
from warpworld.checking import check
from warpworld.config import config_from_dict
from warpworld.errors import BindError, TrainingError
from warpworld.managers.devices import open_backend
from warpworld.trainers.trainer import Trainer

FOLDER = Path(__file__).parent


class SeenIn(Environment):
    """Two agents who walk on multiples of 1/8, and see both places in ``dtype``: the same numbers in either."""

    source = str(FOLDER / "seen_in_half.cu")

    @dataclass(frozen=True)
    class Params:
        dtype: str = "float32"

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("walker", 2, Box(-100.0, 100.0, (2,), self.params.dtype), Discrete(3))]  # type: ignore[arg-type]

    def arrays(self) -> Sequence[Array]:
        return [Array("x", "float32")]

    def phases(self) -> Sequence[Any]:
        return ["step_in_half" if self.params.dtype == "float16" else "step_in_float"]

    def resets(self) -> Sequence[Any]:
        return ["reset_in_half" if self.params.dtype == "float16" else "reset_in_float"]


PASSES = {"model": {"hidden_sizes": [8]}, "update_epochs": 2, "num_minibatches": 2}
FEW = {"replay_size": 600, "learning_starts": 90, "batch_size": 16, "target_every": 3, "n_step": 2}
REPLAYS: dict[str, dict[str, Any]] = {
    "dqn": {**FEW, "model": {"hidden_sizes": [8]}, "final_observations": True},
    "r2d2": {**FEW, "burn_in": 2, "train_length": 5, "model": {"recurrent": "gru", "recurrent_size": 4}},
}


def trainer(policy: dict[str, Any] = PASSES, **env: Any) -> Trainer:
    # the kernels of cuda that act and learn take float32 alone, and round otherwise than torch
    fused = not open_backend("auto", None).captures
    sizes = {"num_envs": 6, "num_steps": 16, "total_env_steps": 6 * 16 * 3}
    return Trainer(
        config_from_dict(
            {
                "name": f"{__name__}:SeenIn",
                "env": env,
                "trainer": {**sizes, "graph_steps": 0, "fused": fused},
                "policy": {"walker": policy},
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
    assert wide.world["kept_observations"].any()
    rows = narrow.world["rollout_observations_walker"]
    assert rows.dtype == torch.uint8
    assert 2 * rows.nbytes == wide.world["rollout_observations_walker"].nbytes
    assert torch.equal(rows.view(torch.float16).float(), wide.world["rollout_observations_walker"])
    assert torch.equal(wide.world["rollout_rewards"], narrow.world["rollout_rewards"])
    for ours, theirs in zip(wide.policies["walker"].parameters(), narrow.policies["walker"].parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", REPLAYS)
def test_replays_hold_halves_and_learning_is_the_same(algorithm: str) -> None:
    policy = {"algorithm": algorithm, **REPLAYS[algorithm]}
    wide, narrow = (trainer(policy, dtype=dtype) for dtype in ("float32", "float16"))
    for each in (wide, narrow):
        each.train(None)
        assert each.algorithms["walker"].num_updates > 1  # type: ignore[attr-defined]
    for what in ("ring_observations", "batch_observations"):
        ours, theirs = (each.world[f"replay_{what}_walker"] for each in (narrow, wide))
        assert (ours.dtype, 2 * ours.nbytes) == (torch.uint8, theirs.nbytes)
        assert torch.equal(ours.view(torch.float16).float(), theirs) and theirs.any()
    pairs = zip(wide.policies["walker"].parameters(), narrow.policies["walker"].parameters(), strict=True)
    assert all(torch.equal(ours, theirs) for ours, theirs in pairs)


def test_parts_of_both_kinds_are_seen_behind_each_other() -> None:
    wide, narrow = Box(-9.0, 9.0, (2,), np.float32), Box(-9.0, 9.0, (3,), np.float16)
    group = Group("seer", 2, Dict(narrow=narrow, wide=wide), Discrete(2))
    world = World(environment(None, groups=[group], phases=[lambda arrays, active: None], resets=()), 3)
    rollout = Recorded(world, {"seer": None}, num_steps=1, graph_steps=0)
    world.reset()
    world["observations_narrow"].copy_(torch.arange(18).view(3, 2, 3) / 3)
    world["observations_wide"].copy_(torch.arange(12).view(3, 2, 2) / 3)
    actor = rollout.actors["seer"]
    assert actor.rows.size == 3 * 2 + 2 * 4
    found = actor.rows.split(actor.observations())
    assert torch.equal(found[0], world["observations_narrow"]) and torch.equal(found[1], world["observations_wide"])


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
    rollout = Recorded(world, dict.fromkeys(world.groups), num_steps=2, graph_steps=0)
    world.reset()
    world["x"].fill_(1000.0)
    rollout.collect()
    rollout.check_finite()
    assert world["observations"].float().sum() > 2 * 65504


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_is_beyond_halves_is_told(dtype: str) -> None:
    world = World(SeenIn(dtype=dtype), 4)
    rollout = Recorded(world, dict.fromkeys(world.groups), num_steps=2, graph_steps=0)
    world.reset()
    world["x"].fill_(70000.0)
    rollout.collect()
    if dtype == "float32":
        rollout.check_finite()
        world["rollout_observations_walker"][1, 2, 0, 1] = float("inf")
        world["not_finite"].fill_(True)
    end = "before it is written" + (", or for a number beyond 65504, where float16 ends" if dtype == "float16" else "")
    with pytest.raises(TrainingError, match=rf"observations of env \d, agent 0.*is inf,.*{end}$"):
        rollout.check_finite()


@pytest.mark.heavy
def test_the_check_knows_halves(tmp_path: Path) -> None:
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

    said = "the array is float16: write `__half* observations`, and `#include <half.cuh>` above"
    with pytest.raises(BindError, match=rf"{re.escape(said)}$"):
        World(Mistaken(dtype="float16"), 1).reset()
