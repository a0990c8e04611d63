"""Generalised advantage estimation in C++: one pass over what was recorded, in place of several operations a step."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from warpworld.policies.fused.calls import checked
from warpworld.policies.fused.library import found_library

_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64


class _Gae(ctypes.Structure):
    """Struct of gae.hpp."""

    _fields_ = [
        *((name, _INT64) for name in ("steps", "envs", "agents")),
        *((name, _POINTER) for name in ("rewards", "values", "next_values", "truncated_values")),
        *((name, _POINTER) for name in ("terminated", "truncated", "agent_terminated", "agent_truncated")),
        *((name, ctypes.c_float) for name in ("gamma", "decay")),
        *((name, _POINTER) for name in ("advantages", "returns")),
    ]


def fused_gae(
    rewards: Tensor,
    values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    agent_terminated: Tensor | None,
    next_value: Tensor,
    truncated_values: Tensor,
    *,
    agent_truncated: Tensor | None = None,
    gamma: float,
    gae_lambda: float,
) -> tuple[Tensor, Tensor] | None:
    """Compute ``gae`` of ``trainers.algorithms.targets`` in C++, from the same arguments; None if it does not compile.

    Raises:
        StoreError: a tensor has another shape, or is of another kind of numbers.
    """
    compiled = found_library()
    if compiled is None:
        return None
    # given tensors, by their shapes
    steps, envs, agents = rewards.shape
    numbers = {"rewards": rewards, "values": values, "truncated_values": truncated_values}
    flags: dict[str, tuple[Tensor, tuple[int, ...]]] = {
        "terminated": (terminated, (steps, envs)),
        "truncated": (truncated, (steps, envs)),
    }
    of_agents = {"agent_terminated": agent_terminated, "agent_truncated": agent_truncated}
    flags |= {name: (flag, (steps, envs, agents)) for name, flag in of_agents.items() if flag is not None}
    # tensors whose memory C reads
    given = {name: checked(name, tensor, torch.float32, (steps, envs, agents)) for name, tensor in numbers.items()}
    given["next_values"] = checked("next_value", next_value, torch.float32, (envs, agents))
    given |= {name: checked(name, tensor, torch.bool, shape) for name, (tensor, shape) in flags.items()}
    # results, and the call
    advantages, returns = (torch.empty_like(given["rewards"]) for _ in range(2))
    given |= {"advantages": advantages, "returns": returns}
    pointers = {name: tensor.data_ptr() for name, tensor in given.items()}
    call = _Gae(steps=steps, envs=envs, agents=agents, gamma=gamma, decay=gamma * gae_lambda, **pointers)
    compiled.function("fused_gae", _POINTER)(ctypes.addressof(call))
    return advantages, returns
