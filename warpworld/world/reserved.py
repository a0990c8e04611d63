"""The arrays that every world has besides its environment's own, and those that it has on request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from warpworld.environment import Array, Environment, Group, action_arrays, action_heads, observation_arrays
from warpworld.errors import DeclarationError
from warpworld.managers import WorldConstants

ON_REQUEST = {
    "final_observations": "the last observation of an episode that ended in this step",
    "action_mask": "which actions an agent may take",
    "agent_terminated": "this agent's part of the episode ended in this step",
    "agent_truncated": "this agent's part of the episode was cut in this step",
    "agent_mask": "this agent took part in this step",
}

BOOKKEEPING = ("clock", "active", "resetting", "random_key", "random_stream")  # the world's own: nothing to look at


def reserved_arrays(groups: Mapping[str, Group], world: WorldConstants) -> list[Array]:
    """Arrays of every world of these groups."""
    stream = own_streams(world)
    next_step = [Array("resetting", "bool", per="env", initial=False, read_only=True, doc="is reset in this step")]
    return [
        *observation_arrays(groups),
        *action_arrays(groups),
        Array("rewards", "float32", doc="reward of this step"),
        Array("terminated", "bool", per="env", initial=False, doc="the episode ended by itself"),
        Array("truncated", "bool", per="env", initial=False, doc="the episode was cut by a limit"),
        Array("timestep", "int32", per="env", initial=0, doc="steps of this episode"),
        Array("clock", "uint64", per="env", initial=0, doc="steps and resets ever made"),
        Array("active", "bool", per="env", initial=False, doc="takes part in this launch"),
        *(next_step if world.autoreset == "next_step" else []),
        Array("random_key", "uint64", per="env", initial=world.seed, read_only=True, doc="seed of its random numbers"),
        Array("random_stream", "uint32", per="env", initial=stream, read_only=True, doc="its trajectory of that seed"),
    ]


def own_streams(world: WorldConstants) -> np.ndarray:
    """(num_envs,) uint32: the global index of each env."""
    return np.arange(world.first_env, world.first_env + world.num_envs, dtype=np.uint32)


def own_arrays(environment: Environment, reserved: Iterable[Array]) -> list[Array]:
    """Arrays that the environment declares besides.

    Raises:
        DeclarationError: it declares an array that every world has.
    """
    taken = {array.name: array for array in reserved}
    own = list(environment.arrays())
    for array in own:
        if array.name in taken:
            raise DeclarationError(
                f"{environment.name}: arrays() declares '{array.name}', which every world has already "
                f"({taken[array.name].doc}). Kernels get it by that name, so remove it from arrays(); if you mean "
                "something else, give it another name"
            )
    return own


def requested_array(name: str, groups: Mapping[str, Group]) -> Array:
    """Declare an array on request, except ``final_observations``, which stands for several arrays."""
    if name == "action_mask":
        choices = max(sum(action_heads(group.action)) for group in groups.values())
        return Array(name, "bool", (choices,), initial=True, doc=ON_REQUEST[name])
    return Array(name, "bool", initial=name == "agent_mask", doc=ON_REQUEST[name])
