"""A game of two agents that take part in turn, and trainers of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.spaces import Discrete
from torch import Tensor

from tests.trainers.small_worlds import space
from warpworld.config import config_from_dict
from warpworld.environment import Array, Environment, Group
from warpworld.trainers.trainer import Trainer

OPPONENTS = {"groups": ["rival"], "opponents": ["random"], "pool_size": 0, "share": 0.5, "slots": 1}  # in 4 of 8 envs


class InTurn(Environment):
    """In PyTorch alone: player and rival take part in every other step each, and choice 1 is worth 1.

    Where an agent takes no part it sees, and is paid, ``junk``.
    """

    @dataclass(frozen=True)
    class Params:
        junk: float = 0.0

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group(name, 1, space(1), Discrete(2)) for name in ("player", "rival")]

    def arrays(self) -> Sequence[Array]:
        return [Array("agent_mask", "bool", initial=True, on_reset="keep")]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._show]

    def truncations(self, num_steps: int) -> int:
        return num_steps

    def _takes_part(self, timestep: Tensor) -> Tensor:
        """(num_envs, 2) bool."""
        return (timestep[:, None] + torch.arange(2, device=timestep.device)) % 2 == 0

    def _step(self, arrays: Any, active: Tensor) -> None:
        takes_part = self._takes_part(arrays["timestep"])
        arrays["agent_mask"] = takes_part
        arrays["rewards"] = torch.where(takes_part, arrays["actions"][..., 0].float(), self.params.junk)
        arrays["terminated"] = arrays["timestep"] >= 4
        self._show(arrays, torch.ones_like(active))

    def _show(self, arrays: Any, active: Tensor) -> None:
        timestep = arrays["timestep"]
        seen = torch.where(self._takes_part(timestep + 1), timestep[:, None].float(), self.params.junk)[..., None]
        arrays["observations"] = torch.where(active[:, None, None], seen, arrays["observations"])


def trained(
    env: Mapping[str, Any] | None = None,
    iterations: int = 1,
    on_iteration: Callable[[Mapping[str, Any]], None] | None = None,
    environment: type[InTurn] = InTurn,
    **policy: Any,
) -> Trainer:
    """A trainer after some iterations of 8 envs and 8 steps."""
    config = config_from_dict(
        {
            "name": f"{environment.__module__}:{environment.__name__}",
            "env": env or {},
            "trainer": {"num_envs": 8, "num_steps": 8, "total_env_steps": 64 * iterations, "seed": 3},
            "policy": {"both": {"groups": ["player", "rival"], "gamma": 0.0, "num_minibatches": 1, **policy}},
        }
    )
    trainer = Trainer(config)
    trainer.train(None, on_iteration)
    return trainer


def weights(trainer: Trainer) -> Tensor:
    """All of the policy's, on the CPU."""
    policy = trainer.policies["both"]
    assert policy is not None
    return torch.cat([parameter.detach().flatten() for parameter in policy.parameters()]).cpu()
