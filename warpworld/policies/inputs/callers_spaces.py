"""Between what a caller of ``Policy.act`` holds and what a policy reads and gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Space
from torch import Tensor

from warpworld.environment import (
    Part,
    action_start,
    built,
    choice_heads,
    is_nested,
    is_whole,
    leaves,
    mapped,
    stored_action,
    subspaces,
)
from warpworld.errors import StoreError
from warpworld.policies.inputs.observation_rows import ObservationRows
from warpworld.policies.samplers import scaling_to

_HALF_OF_64_BITS = 2.0**63


@dataclass(frozen=True)
class Observed:
    """Observations of a caller.

    Attributes:
        rows: (n, entries), as policies read them.
        lead: the caller's own axes, before those of the space; empty for one agent.
        in_numpy: whether the caller speaks NumPy rather than torch.
        device: where the caller's tensors lie.
    """

    rows: Tensor
    lead: tuple[int, ...]
    in_numpy: bool
    device: torch.device

    def handed_back(self, values: Any) -> Any:
        """Values (n, ...), nested or not, as the caller gets them: (*lead, ...), in NumPy where observations were."""
        return mapped(self._handed_back, values)

    def _handed_back(self, values: Tensor) -> Any:
        own = values.reshape((*self.lead, *values.shape[1:])).to(self.device)
        return own.numpy()[()] if self.in_numpy else own


@dataclass(frozen=True)
class CallersSpaces:
    """The spaces of the agents that a policy plays.

    Attributes:
        observation: of one agent.
        action: of one agent.
    """

    observation: Space
    action: Space

    @cached_property
    def _rows(self) -> ObservationRows:
        return ObservationRows(self.observation)

    def observed(self, observations: Any, device: torch.device) -> Observed:
        """Take observations of one agent, or of many in any leading axes.

        Args:
            observations: an array, tensor or nested list; for a Dict space a mapping of such.
            device: the policy's.

        Raises:
            StoreError: keys, a shape or a dtype are not those of the space.
        """
        # parts, by the space's keys
        spaces = subspaces(self.observation)
        given = self._by_key(observations, spaces)
        parts, leads = [], {}
        for (key, space), part in zip(spaces.items(), self._rows.parts, strict=True):
            name = f"observations['{key}']" if key else "observations"
            tensor, leads[name] = _part_of(given[key], tuple(space.shape or ()), part, name)
            parts.append(tensor.to(device))
        # the same agents in all parts
        lead = next(iter(leads.values()))
        for name, other in leads.items():
            if other != lead:
                raise StoreError(f"{name}: of {other} agents, but {next(iter(leads))} of {lead}")
        # rows, and the kind of the caller's tensors
        tensors = [value for value in given.values() if isinstance(value, Tensor)]
        rows = self._rows.join([part.flatten(1) if part.dim() > 1 else part.unsqueeze(1) for part in parts])
        return Observed(rows, lead, not tensors, tensors[0].device if tensors else torch.device("cpu"))

    def _by_key(self, observations: Any, spaces: Mapping[str, Space]) -> Mapping[str, Any]:
        """The observations of each part, by its key."""
        if not isinstance(self.observation, Dict):
            return {"": observations}
        if not isinstance(observations, Mapping):
            raise StoreError(f"observations: {type(observations).__name__}, expected a dict of {', '.join(spaces)}")
        if observations.keys() != spaces.keys():
            raise StoreError(f"observations: of {', '.join(map(str, observations))}, expected {', '.join(spaces)}")
        return observations

    def actions(self, chosen: Tensor) -> Any:
        """Choices of a distribution, (n, numbers), as actions of the space: (n, *shape) of its dtype.

        Those of a Dict or Tuple, whose rows have all choices before all numbers, are nested as it is.
        """
        if not is_nested(self.action):
            return space_tensor(self.action, chosen)
        first, found = {True: 0, False: len(choice_heads(self.action))}, {}
        for path, leaf in leaves(self.action):
            heads = choice_heads(leaf)
            begin, count = first[bool(heads)], len(heads) or math.prod(leaf.shape or ())
            found[path], first[bool(heads)] = space_tensor(leaf, chosen[:, begin : begin + count]), begin + count
        return built(self.action, found)

    def choices(self, actions: np.ndarray) -> Tensor:
        """Find the choices of a distribution, or the numbers as drawn, of actions: the inverse of ``actions``.

        Args:
            actions: (n, *shape) of a space without parts. Those that a bound cut off are taken as they are.

        Returns:
            (n, heads) int64, or (n, dimensions) float32.
        """
        assert not is_nested(self.action)
        if not isinstance(self.action, Box):
            return torch.from_numpy(actions.astype(np.int64) - action_start(self.action)).reshape(len(actions), -1)
        stored = stored_action(self.action)
        assert isinstance(stored, Box)
        centre, scale, *_ = torch.from_numpy(scaling_to(stored))
        return (torch.from_numpy(actions.astype(np.float32)).reshape(len(actions), -1) - centre) / scale


def space_tensor(space: Space, chosen: Tensor) -> Tensor:
    """Choices, or numbers as drawn, (n, numbers), as actions of a space without parts: (n, *shape) of its dtype."""
    if isinstance(space, Box):
        stored = stored_action(space)
        assert isinstance(stored, Box)
        centre, scale, low, high = torch.from_numpy(scaling_to(stored)).to(chosen.device)
        scaled = centre + scale * chosen
        above = torch.where(scaled > low, scaled, low)  # NaN too becomes the bound, as by fmaxf in sample_box.cu
        values = torch.where(above < high, above, high).reshape((chosen.shape[0], *space.shape))
        return values if space.dtype == np.float32 else library_tensor(space, values)
    start = torch.from_numpy(np.array(action_start(space), np.int64)).to(chosen.device)
    counted = chosen.reshape((chosen.shape[0], *(space.shape or ()))).long() + start
    return counted.to(getattr(torch, str(space.dtype)))


def library_tensor(space: Box, values: Tensor) -> Tensor:
    """Actions of a Box that is not of float32, as ``library_actions`` makes them, from float32 of the same shape."""
    dtype = getattr(torch, str(space.dtype))
    low, high = (torch.from_numpy(bound.astype(np.float64)).to(values.device) for bound in (space.low, space.high))
    exact = values.double()
    if not is_whole(space):
        return torch.minimum(torch.maximum(exact, low), high).to(dtype)
    nearest = exact.round()  # halves to the even number
    is_low, is_high = nearest <= low, nearest >= high
    inner = nearest.masked_fill(is_low | is_high, 0.0)
    counted = torch.where(inner < _HALF_OF_64_BITS, inner, inner - 2 * _HALF_OF_64_BITS).long()
    for is_end, bound in ((is_low, space.low), (is_high, space.high)):
        end = torch.from_numpy(bound.astype(np.int64, casting="unsafe")).to(values.device)
        counted = torch.where(is_end, end, counted)
    return counted.to(dtype)  # from 64 bits, of which uint64 may need the sign's


def _part_of(given: Any, shape: tuple[int, ...], part: Part, name: str) -> tuple[Tensor, tuple[int, ...]]:
    """One part as (n, *shape) in the dtype that the store has for it, and the caller's leading axes."""
    # a tensor of a dtype that the space holds
    if isinstance(given, Mapping):
        raise StoreError(f"{name}: dict, expected one array")
    try:
        tensor = given.detach() if isinstance(given, Tensor) else torch.from_numpy(np.array(given))
    except (TypeError, ValueError) as error:
        raise StoreError(f"{name}: {type(given).__name__}, expected numbers of {part.dtype}") from error
    if not _holds(part, tensor.dtype):
        raise StoreError(f"{name}: {str(tensor.dtype).removeprefix('torch.')}, expected {part.dtype}")
    # its shape, channels first
    if _has_channels_last(tuple(tensor.shape[-3:]), shape):
        tensor = tensor.movedim(-1, -3)
    axes = tensor.dim() - len(shape)
    if axes < 0 or tuple(tensor.shape[axes:]) != shape:
        many = f"(..., {', '.join(map(str, shape))})"
        raise StoreError(f"{name}: shape {tuple(tensor.shape)}, expected {shape} for one agent, or {many} for several")
    # one axis of agents
    lead = tuple(tensor.shape[:axes])
    return tensor.reshape((math.prod(lead), *shape)).to(getattr(torch, part.dtype)), lead


def _has_channels_last(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a picture of the shape (channels, height, width) is given as (height, width, channels)."""
    return len(shape) == 3 and given != shape and given == (*shape[1:], shape[0])


def _holds(part: Part, dtype: torch.dtype) -> bool:
    """Whether numbers of this dtype can be what the part holds."""
    if part.dtype == "uint8":
        return dtype == torch.uint8
    if dtype.is_complex:
        return False
    return part.is_float or not dtype.is_floating_point
