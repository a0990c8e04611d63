"""A world of pictures is learnt: in which quarter of it a spot lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor

from warpworld import Array, Environment, Group
from warpworld.config import config_from_dict
from warpworld.trainers.trainer import Trainer

SIDE = 8


class Spot(Environment):
    """In PyTorch alone: one step an episode; the reward is 1 for the quarter that the spot lies in, else 0."""

    def groups(self) -> Sequence[Group]:
        return [Group("eye", 1, Box(0, 255, (1, SIDE, SIDE), np.uint8), Discrete(4))]

    def arrays(self) -> Sequence[Array]:
        return [Array("spot", "int32", per="env", initial=0, on_reset="keep")]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def _step(self, arrays: Any, active: Tensor) -> None:
        guessed = arrays["actions"][:, 0, 0]
        arrays["rewards"] = (guessed == quarter_of(arrays["spot"]))[:, None].float()
        arrays["terminated"] = torch.ones_like(arrays["terminated"])

    def _reset(self, arrays: Any, active: Tensor) -> None:
        clock = arrays["clock"].view(torch.int64)
        envs = torch.arange(len(clock), device=clock.device)
        spot = (envs * 37 + clock * 11) % SIDE**2
        arrays["spot"] = spot.int()
        arrays["observations"] = pictures(spot)[:, None]


def quarter_of(spot: Tensor) -> Tensor:
    return 2 * (spot // SIDE >= SIDE // 2) + (spot % SIDE >= SIDE // 2)


def pictures(spot: Tensor) -> Tensor:
    """(n, 1, SIDE, SIDE) uint8, white where the spot is."""
    cells = torch.arange(SIDE**2, device=spot.device)
    return (255 * (cells == spot[:, None])).to(torch.uint8).view(-1, 1, SIDE, SIDE)


@pytest.mark.long
@pytest.mark.parametrize(
    "model",
    [
        {"hidden_sizes": [32]},
        {"type": "multi_input", "channels": [8], "kernel_sizes": [3], "strides": [1]},
        {"type": "impala", "channels": [8], "branch_size": 32, "shared": True},
    ],
    ids=["mlp", "multi_input", "impala"],
)
def test_the_quarter_of_a_spot_is_learnt(model: dict[str, Any]) -> None:
    learner = {"model": model, "learning_rate": 0.01, "num_minibatches": 2, "update_epochs": 4}
    settings = {"num_envs": 64, "num_steps": 8, "total_env_steps": 64 * 8 * 24}
    config = {"name": f"{__name__}:Spot", "trainer": settings, "policy": {"eye": learner}}
    trainer = Trainer(config_from_dict(config))
    trainer.train(None)
    spots = torch.arange(SIDE**2, device=trainer.world.device)
    chosen = trainer.policies["eye"].outputs(pictures(spots).flatten(1)).argmax(-1)
    assert (chosen == quarter_of(spots)).float().mean() > 0.95
    assert trainer.world["rollout_observations_eye"].dtype == torch.uint8
