"""GAE and V-trace in one launch each, where CUDA graphs are captured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from warpworld.environment import Array
from warpworld.trainers.algorithms.targets.estimates import Estimates, TargetSettings
from warpworld.trainers.collecting import Collector

SOURCE = Path(__file__).resolve().parent / "advantages.cu"


class KernelEstimates(Estimates):
    """Estimates by a kernel that reads the recorded rewards and ends; of ``ends`` only the values are used.

    Args:
        collector: of an unsealed world.
        group: name of the group.
        settings: discount, limits and what is learnt of rewards.
    """

    def __init__(self, collector: Collector, group: str, settings: TargetSettings) -> None:
        self._world = world = collector.world
        placed, steps = world.groups[group], collector.num_steps
        per_step = (steps, world.num_envs, placed.size)
        # arrays of the estimate
        names = ("values", "log_ratios", "final_values", "advantages", "returns")
        shapes: dict[str, tuple[int, ...]] = {**dict.fromkeys(names, per_step), "next_values": per_step[1:]}
        self._names = {name: f"estimate_{name}_{group}" for name in shapes}
        for name, shape in shapes.items():
            world.add(Array(self._names[name], "float32", shape, "world", initial=0.0), kept="derived")
        # flags that are not recorded: a placeholder takes their place
        flags = {"LEAVING": "agent_terminated", "CUTTING": "agent_truncated", "MASKED": "agent_mask"}
        recorded = {flag: name in collector.outcomes.optional for flag, name in flags.items()}
        unread = {f"rollout_{name}": "rollout_terminated" for flag, name in flags.items() if not recorded[flag]}
        # the kernels, bound once the store is sealed
        self._kernels = world.kernels(
            SOURCE,
            {
                **{"NUM_AGENTS": placed.size, "AGENTS": world.num_agents, "FIRST": placed.first},
                **{"STRIDE": placed.stride, **recorded},
                **{"REWARD_SCALE": float(settings.reward_scale), "REWARD_CLIP": float(settings.reward_clip or 0.0)},
            },
            scalars={
                **{"num_steps": steps, "gamma": settings.gamma, "decay": settings.gamma * settings.gae_lambda},
                **{"rho_bar": settings.rho_bar, "c_bar": settings.c_bar},
            },
            aliases={**self._names, **unread},
        )
        self._kernels.build([])
        world.when_sealed(self._bind)

    def _bind(self) -> None:
        world = self._world
        self._gae, self._vtrace = (
            world.program([self._kernels.step(name, index=0)]) for name in ("estimate_gae", "estimate_vtrace")
        )
        self._arrays = {name: world[array] for name, array in self._names.items()}

    def gae(self, values: Tensor, ends: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        """Implement ``Estimates``."""
        self._take(ends, values=values)
        self._gae()
        return self._arrays["advantages"], self._arrays["returns"]

    def vtrace(self, values: Tensor, log_ratios: Tensor, ends: Mapping[str, Any]) -> Tensor:
        """Implement ``Estimates``."""
        self._take(ends, values=values, log_ratios=log_ratios)
        self._vtrace()
        return self._arrays["returns"]

    def _take(self, ends: Mapping[str, Any], **given: Tensor) -> None:
        """Copy what networks gave into the store."""
        given |= {"next_values": ends["next_value"], "final_values": ends["truncated_values"]}
        for name, tensor in given.items():
            self._arrays[name].copy_(tensor)
