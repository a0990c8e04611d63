"""One world, seen in every kind of space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space
from torch import Tensor

from warpworld import Array, Environment, Group
from warpworld.config import config_from_dict
from warpworld.managers.devices import open_backend
from warpworld.trainers.trainer import Trainer

SPACES: dict[str, Space] = {
    "bytes": Box(0, 255, (2,), np.uint8),
    "scaled": Box(0.0, 1.0, (2,)),
    "choices": MultiDiscrete([8, 8], start=[-2, -2]),
    "flags": MultiBinary((2, 8)),
    "one_hot": Box(0.0, 1.0, (16,)),
    "mixed": Dict(eye=Box(0, 255, (2,), np.uint8), own=Discrete(8), place=Box(0.0, 70.0, (1,))),
    "widened": Dict(eye=Box(0.0, 1.0, (2,)), own=Box(0.0, 1.0, (8,)), place=Box(0.0, 70.0, (1,))),
}


class SeenAs(Environment):
    """Two agents walk on 8 places, and see both: the same in each of ``SPACES``."""

    source = str(Path(__file__).parent / "seen_in_kinds.cu")

    @dataclass(frozen=True)
    class Params:
        kind: str = "bytes"
        rests: bool = False  # whether agents sit every third step out

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("walker", 2, SPACES[self.params.kind], Discrete(3))]

    def arrays(self) -> Sequence[Array]:
        mask = Array("agent_mask", "bool", initial=True, on_reset="keep")
        return [Array("x", "int32"), *([mask] if self.params.rests else [])]

    def phases(self) -> Sequence[Any]:
        return ["walk", *([self._rest] if self.params.rests else []), f"see_{self.params.kind}"]

    def resets(self) -> Sequence[Any]:
        return ["place", f"see_{self.params.kind}"]

    @staticmethod
    def _rest(arrays: Any, active: Tensor) -> None:
        timestep = arrays["timestep"]
        arrays["agent_mask"] = torch.stack([timestep % 3 != 0, timestep % 3 != 1], 1)


def trainer(
    kind: str,
    updates: int = 3,
    num_envs: int = 6,
    rests: bool = False,
    model: dict[str, Any] | None = None,
    **policy: Any,
) -> Trainer:
    """A trainer of a small policy for that kind of observations."""
    learner = {"model": {"hidden_sizes": [8], **(model or {})}, "update_epochs": 2, "num_minibatches": 2, **policy}
    return Trainer(
        config_from_dict(
            {
                "name": f"{__name__}:SeenAs",
                "env": {"kind": kind, "rests": rests},
                "trainer": {
                    "num_envs": num_envs,
                    "num_steps": 16,
                    "total_env_steps": num_envs * 16 * updates,
                    "graph_steps": 8,
                    # the kernel that acts on cuda takes floats alone, and rounds otherwise than torch
                    "fused": not open_backend("auto", None).captures,
                },
                "policy": {"walker": learner},
            }
        )
    )
