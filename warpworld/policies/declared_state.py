"""The state of a model of one's own: tensors of declared shapes, packed into one row of numbers for each agent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from warpworld.errors import ConfigError
from warpworld.policies.layers import widened

EXPECTED = "expected float32 zeros of one agent: a tensor, or a tuple, list or dict of tensors"


class DeclaredState:
    """The tensors that a model declares as the state of one agent.

    Attributes:
        size: numbers of all tensors together.
        keys: of a dict, in its order; None for a tensor, a tuple or a list.
        kind: the type of what holds the tensors: Tensor, tuple, list or dict.
        shapes: of the tensors, in their order.

    Args:
        initial: what the model's ``initial_state()`` returned.
        model: the model's name, for messages.

    Raises:
        ConfigError: it is no state of zeros in float32.
    """

    def __init__(self, initial: Any, model: str) -> None:
        self._model = model
        tensors = _tensors(initial)
        if tensors is None or any(not isinstance(part, Tensor) or part.dtype != torch.float32 for part in tensors):
            raise ConfigError(f"model '{model}': initial_state() gave {_described(initial)}, {EXPECTED}")
        if any(part.requires_grad for part in tensors):
            raise ConfigError(f"model '{model}': initial_state() gave a tensor that requires a gradient, {EXPECTED}")
        if any(part.count_nonzero() for part in tensors):
            raise ConfigError(
                f"model '{model}': initial_state() gave numbers other than 0, {EXPECTED}; a state is zeroed where an "
                "episode begins, so let forward add what it begins with"
            )
        self.kind: type = Tensor if isinstance(initial, Tensor) else type(initial)
        self.keys = list(initial) if isinstance(initial, dict) else None
        self.shapes = [tuple(part.shape) for part in tensors]
        self._numbers = [math.prod(shape) for shape in self.shapes]
        self.size = sum(self._numbers)
        if self.size == 0:
            raise ConfigError(f"model '{model}': initial_state() gave no number, {EXPECTED}")

    def unpacked(self, rows: Tensor) -> Any:
        """The state that a model's ``forward`` takes, with an axis of agents in front, from (rows, size).

        Its tensors are copies, so that a model may write into them.
        """
        parts = zip(rows.split(self._numbers, -1), self.shapes, strict=True)
        return self._held([part.reshape(-1, *shape).clone() for part, shape in parts])

    def packed(self, state: Any, like: Tensor) -> Tensor:
        """Rows of numbers, (rows, size), from the state that ``forward`` returned.

        Args:
            state: see above.
            like: (rows, size), the numbers that it was called with.

        Raises:
            ConfigError: its tensors are not those that were declared.
        """
        tensors = _tensors(state)
        keys = list(state) if isinstance(state, dict) else None
        if tensors is None or len(tensors) != len(self.shapes) or keys != self.keys:
            raise self._changed(state, like)
        parts = [widened(part) if isinstance(part, Tensor) else part for part in tensors]
        for part, shape in zip(parts, self.shapes, strict=True):
            if not isinstance(part, Tensor) or part.shape != (len(like), *shape) or part.dtype != like.dtype:
                raise self._changed(state, like)
        return torch.cat([part.reshape(len(like), -1) for part in parts], -1)

    def _held(self, parts: list[Tensor]) -> Any:
        """Tensors in the form that was declared."""
        if self.kind is Tensor:
            return parts[0]
        if self.keys is not None:
            return dict(zip(self.keys, parts, strict=True))
        return parts if self.kind is list else tuple(parts)

    def _changed(self, given: Any, like: Tensor) -> ConfigError:
        expected = self._held([like.new_empty((len(like), *shape)) for shape in self.shapes])
        return ConfigError(
            f"model '{self._model}': forward returned the state {_described(given)}, expected {_described(expected)}, "
            f"as initial_state() declares it, for {len(like)} agents"
        )


def _tensors(state: Any) -> Sequence[Any] | None:
    """Tensors that a state is made of; None if it has none of the forms that a state may have."""
    if isinstance(state, Tensor):
        return [state]
    if isinstance(state, dict):
        return list(state.values())
    return state if isinstance(state, tuple | list) else None


def _described(state: Any) -> str:
    """A state's form, shapes and dtypes, for messages."""
    if isinstance(state, Tensor):
        return f"{tuple(state.shape)} {str(state.dtype).removeprefix('torch.')}"
    if isinstance(state, dict):
        return "{" + ", ".join(f"{key!r}: {_described(part)}" for key, part in state.items()) + "}"
    if isinstance(state, tuple | list):
        inner = ", ".join(map(_described, state))
        return f"[{inner}]" if isinstance(state, list) else f"({inner})"
    return "None" if state is None else type(state).__name__
