"""Comparison of a file's outputs with its policy's, on random observations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from warpworld.errors import ExportError
from warpworld.policies import Policy
from warpworld.policies.exporting.formats import Run
from warpworld.policies.exporting.interface import (
    ACTION_MASK,
    NEXT_STATE,
    OUTPUTS,
    STATE,
    Interface,
    as_observed,
    as_outputs,
)
from warpworld.policies.exporting.random_inputs import Values, random_inputs
from warpworld.policies.exporting.traced_graph import model_name

TOLERANCE = 1e-5  # where the largest number is above 1, of that
BATCHES = (64, 2, 1)
STEPS = 4  # of a policy that remembers


@dataclass(frozen=True)
class Comparison:
    """Result of the comparison.

    Attributes:
        difference: the largest.
        observations: how many were compared.
    """

    difference: float
    observations: int


def compare(policy: Policy, interface: Interface, run: Run) -> Comparison:
    """Run a file beside its policy.

    The actions of a file must be those that the policy's distribution chooses by the file's own outputs: where two
    choices are as good as each other, rounding may decide between them.

    Raises:
        ExportError: they differ by more than ``TOLERANCE``.
    """
    largest, observations = 0.0, 0
    for inputs, expected, found in _steps(policy, interface, run):
        for name, values in {**expected, **_greedy(policy, found[OUTPUTS], inputs)}.items():
            difference = _difference(found[name], values)
            if not difference <= TOLERANCE:
                raise ExportError(
                    f"what was exported differs from the policy by {difference:.3g} in '{name}' of {len(values)} "
                    f"observations, expected at most {TOLERANCE:g}; nothing is written: model {model_name(policy)} "
                    "must compute the same of all observations, without branches on what they hold"
                )
            largest = max(largest, difference)
        observations += len(found[OUTPUTS])
    return Comparison(largest, observations)


def _steps(policy: Policy, interface: Interface, run: Run) -> Iterator[tuple[Values, Values, Values]]:
    """Inputs of the file, what the policy makes of the same, and what the file does; each with a memory of its own."""
    draws = np.random.default_rng(0)
    for count in BATCHES:
        own_state: Tensor | None = None
        state = np.zeros((count, policy.state_size), np.float32)
        for _ in range(STEPS if policy.state_size else 1):
            inputs = random_inputs(policy, interface, count, draws)
            if policy.state_size:
                inputs[STATE] = state
            found = run(inputs)
            expected, own_state = _expected(policy, inputs, own_state)
            yield inputs, expected, found
            state = found.get(NEXT_STATE, state)


def _expected(policy: Policy, inputs: Values, state: Tensor | None) -> tuple[Values, Tensor | None]:
    """Outputs of the policy itself, and its memory after them."""
    assert policy.spaces is not None
    with torch.no_grad():
        device = next(policy.parameters()).device
        observed = policy.spaces.observed(as_observed(inputs, policy.spaces.observation), device)
        outputs, after = policy.outputs_and_state(observed, state)
    expected = {OUTPUTS: outputs.cpu().numpy()}
    return expected if after is None else {**expected, NEXT_STATE: after.cpu().numpy()}, after


def _greedy(policy: Policy, outputs: np.ndarray, inputs: Values) -> Values:
    """Choices of the policy's distribution by a file's outputs, by their names."""
    assert policy.spaces is not None
    allowed = torch.from_numpy(inputs[ACTION_MASK]) if ACTION_MASK in inputs else None
    with torch.no_grad():
        chosen = policy.distribution.choose(torch.from_numpy(outputs), greedy=True, allowed=allowed)
        actions = as_outputs(policy.spaces.actions(chosen), policy.spaces.action)
    return {name: values.numpy() for name, values in actions.items()}


def _difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest; of floats in relation to the largest of them, if that is above 1; infinite of shapes that differ."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf")
    wide = expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.abs(found.astype(np.float64) - wide)
    same = (found == expected) | (np.isnan(wide) & np.isnan(found))
    largest = np.nan_to_num(np.where(same, 0.0, apart), nan=np.inf).max(initial=0.0)
    size = np.abs(wide[np.isfinite(wide)]).max(initial=1.0) if expected.dtype.kind == "f" else 1.0
    return float(largest / size)
