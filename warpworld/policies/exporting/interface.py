"""The tensors that an exported policy takes and gives: their names, shapes and spaces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space

from warpworld.environment import Path, at_path, leaves, subspaces
from warpworld.errors import ExportError
from warpworld.policies import Policy

OBSERVATIONS, STATE, ACTION_MASK = "observations", "state", "action_mask"
ACTION, OUTPUTS, NEXT_STATE = "action", "outputs", "next_state"


@dataclass(frozen=True, eq=False)
class Port:
    """A tensor of an exported policy.

    Attributes:
        name: of the tensor.
        dtype: such as "float32".
        shape: of one agent's; the tensor has the axis "batch" before these.
        space: of one agent's numbers, or None.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    space: Space | None = None

    def described(self) -> dict[str, Any]:
        """Entries for JSON."""
        own = {"name": self.name, "dtype": self.dtype, "shape": ["batch", *self.shape]}
        return own if self.space is None else {**own, "space": described_space(self.space)}


@dataclass(frozen=True)
class Interface:
    """Tensors of an exported policy: its inputs and outputs.

    Attributes:
        inputs: ``observations``, or for a Dict space ``observations_<key>`` of each key; ``state`` of a policy that
            remembers; ``action_mask`` of one that learnt with such.
        outputs: ``action``, the greedy one, or for a Dict or Tuple space ``action_<key>`` of each part; ``outputs``,
            what it was chosen by; ``next_state``.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @classmethod
    def of(cls, policy: Policy) -> Interface:
        """The tensors that a policy calls for.

        Raises:
            ExportError: the policy knows no spaces.
        """
        if policy.spaces is None:
            raise ExportError("this policy knows no spaces; export one that load_policy or a Trainer made")
        # tensors of every policy
        names = observation_inputs(policy.spaces.observation)
        inputs = [Port(name, str(space.dtype), tuple(space.shape or ()), space) for name, space in names.items()]
        actions = {name: space for name, (_, space) in action_outputs(policy.spaces.action).items()}
        outputs = [Port(name, str(space.dtype), tuple(space.shape or ()), space) for name, space in actions.items()]
        outputs.append(Port(OUTPUTS, "float32", (policy.distribution.num_outputs,)))
        # tensors of memory and masks
        if policy.state_size:
            inputs.append(Port(STATE, "float32", (policy.state_size,)))
            outputs.append(Port(NEXT_STATE, "float32", (policy.state_size,)))
        if policy.reads_mask:
            inputs.append(Port(ACTION_MASK, "bool", (policy.num_choices,)))
        return cls(tuple(inputs), tuple(outputs))


def observation_inputs(observation: Space) -> dict[str, Space]:
    """The inputs that hold what an agent sees, by name: one, or one for each key of a Dict."""
    return {f"{OBSERVATIONS}_{key}" if key else OBSERVATIONS: space for key, space in subspaces(observation).items()}


def action_outputs(action: Space) -> dict[str, tuple[Path, Space]]:
    """The outputs that hold an action, by name: one, or one for each part of a Dict or Tuple, with its path."""
    return {"_".join(map(str, (ACTION, *path))): (path, space) for path, space in leaves(action)}


def as_outputs(actions: Any, action: Space) -> dict[str, Any]:
    """Actions of a space, which may be nested, by the names of outputs."""
    return {name: at_path(actions, path) for name, (path, _) in action_outputs(action).items()}


def as_observed(inputs: Mapping[str, Any], observation: Space) -> Any:
    """The observations among inputs, in the form that ``Policy.act`` takes."""
    if not isinstance(observation, Dict):
        return inputs[OBSERVATIONS]
    return {key: inputs[f"{OBSERVATIONS}_{key}"] for key in observation.spaces}


def described_space(space: Space) -> dict[str, Any]:
    """A space for JSON; bounds that are all alike become one number, infinite ones null."""
    kind = "Box" if isinstance(space, Box) else type(space).__name__  # an EntityBox is a Box to others
    own: dict[str, Any] = {"type": kind}
    if isinstance(space, Box):
        return {**own, "low": _numbers(space.low), "high": _numbers(space.high)}
    if isinstance(space, Discrete):
        return {**own, "n": int(space.n), "start": int(space.start)}
    if isinstance(space, MultiDiscrete):
        return {**own, "nvec": space.nvec.tolist(), "start": np.asarray(space.start).tolist()}
    assert isinstance(space, MultiBinary)
    return {**own, "n": int(np.prod(space.shape))}


def _numbers(bounds: np.ndarray) -> Any:
    return _finite(bounds.flat[0].item() if (bounds == bounds.flat[0]).all() else bounds.tolist())


def _finite(bounds: Any) -> Any:
    """Numbers in lists, null for those that are infinite, which JSON has no word for."""
    if isinstance(bounds, list):
        return [_finite(bound) for bound in bounds]
    return bounds if math.isfinite(bounds) else None
