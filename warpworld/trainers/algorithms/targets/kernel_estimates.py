"""GAE and V-trace in one launch each, where CUDA graphs are captured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from warpworld.environment import Array
from warpworld.trainers.algorithms.targets.estimates import Estimates, TargetSettings
from warpworld.trainers.collecting import Collector

SOURCE = Path(__file__).resolve().parent / "advantages.cu"


class KernelEstimates(Estimates):
    """Estimates by a kernel that reads the recorded rewards and ends; of ``ends`` only the values are used.

    Values of final observations that are at ``place`` already are not copied.

    Where the next rollout is recorded meanwhile, it reads copies of those of ``ends``.

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
        shapes["final_values"] = (steps + 1, *per_step[1:])  # the last row is of places not in use
        self._names = {name: f"estimate_{name}_{group}" for name in shapes}
        for name, shape in shapes.items():
            world.add(Array(self._names[name], "float32", shape, "world", initial=0.0), kept="derived")
        # rewards and ends, and where the group's agents lie in them
        optional, placing = collector.outcomes.optional, {"AGENTS": world.num_agents}
        placing |= {"FIRST": placed.first, "STRIDE": placed.stride}
        self._copied = dict[str, str]()
        if collector.overlaps:
            optional = [name for name in optional if name != "agent_mask"]  # rewards that do not count are 0
            placing = {"AGENTS": placed.size, "FIRST": 0, "STRIDE": 1}
            self._copied = self._add_copies(group, per_step, optional)
        # flags that are not recorded: a placeholder takes their place
        flags = {"LEAVING": "agent_terminated", "CUTTING": "agent_truncated", "MASKED": "agent_mask"}
        recorded = {flag: name in optional for flag, name in flags.items()}
        unread = {f"rollout_{name}": "rollout_terminated" for flag, name in flags.items() if not recorded[flag]}
        read = {f"rollout_{name}": array for name, array in self._copied.items()}
        # the kernels, bound once the store is sealed
        self._kernels = world.kernels(
            SOURCE,
            {
                **{"NUM_AGENTS": placed.size, **placing, **recorded},
                **{"REWARD_SCALE": float(settings.reward_scale), "REWARD_CLIP": float(settings.reward_clip or 0.0)},
            },
            scalars={
                **{"num_steps": steps, "gamma": settings.gamma, "decay": settings.gamma * settings.gae_lambda},
                **{"rho_bar": settings.rho_bar, "c_bar": settings.c_bar},
            },
            aliases={**self._names, **unread, **read},
        )
        self._kernels.build([])
        world.when_sealed(self._bind)

    def _add_copies(self, group: str, per_step: tuple[int, ...], optional: Sequence[str]) -> dict[str, str]:
        """Arrays for the group's part of rewards and ends, by the names of those in ``ends_of``."""
        shapes = {"rewards": per_step, "terminated": per_step[:2], "truncated": per_step[:2]}
        shapes |= dict.fromkeys(optional, per_step)
        copied = {name: f"estimate_{name}_{group}" for name in shapes}
        for name, shape in shapes.items():
            dtype = "float32" if name == "rewards" else "bool"
            self._world.add(Array(copied[name], dtype, shape, "world", initial=0), kept="derived")
        return copied

    def _bind(self) -> None:
        world = self._world
        self._gae, self._vtrace = (
            world.program([self._kernels.step(name, index=0)]) for name in ("estimate_gae", "estimate_vtrace")
        )
        self._arrays = {name: world[array] for name, array in (self._names | self._copied).items()}
        self.place = self._arrays["final_values"]

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
        """Copy what networks gave into the store, and rewards and ends that the next rollout writes over."""
        given |= {"next_values": ends["next_value"]}
        given |= {name: ends[name] for name in self._copied}
        arrays, finals = self._arrays, ends["truncated_values"]
        if finals.data_ptr() != arrays["final_values"].data_ptr():
            arrays["final_values"][:-1].copy_(finals)
        for name, tensor in given.items():
            arrays[name].copy_(tensor)
