"""Random inputs of an exported policy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from warpworld.environment import Part
from warpworld.policies import ObservationNormaliser, ObservationRows, Policy
from warpworld.policies.exporting.interface import ACTION_MASK, Interface

NARROW = 1e3  # a float whose bounds are nearer than this is drawn from all between them
ALLOWED = 0.7  # of all choices

Values = dict[str, np.ndarray]


def random_inputs(policy: Policy, interface: Interface, count: int, draws: np.random.Generator) -> Values:
    """Observations, and a mask where there is one; floats are such as the policy's normaliser has seen."""
    assert policy.spaces is not None
    ports = {port.name: port for port in interface.inputs}
    parts = ObservationRows(policy.spaces.observation).parts
    moments = _moments(parts, policy.normaliser)
    drawn = {}
    for (name, port), part, own in zip(ports.items(), parts, moments, strict=False):
        drawn[name] = _draw(part, own, count, draws).reshape(count, *port.shape).astype(port.dtype)
    if ACTION_MASK in ports:
        drawn[ACTION_MASK] = draws.random((count, *ports[ACTION_MASK].shape)) < ALLOWED
    return drawn


def _moments(parts: list[Part], normaliser: ObservationNormaliser | None) -> Iterator[np.ndarray]:
    """Mean and deviation of each part's floats, (2, numbers); of other parts nothing."""
    seen = None
    if normaliser is not None:
        seen = torch.stack([normaliser.mean, normaliser.variance.sqrt()]).cpu().numpy()
    for part in parts:
        if not part.is_float:
            yield np.empty((2, 0))
        elif seen is None:
            yield _within(part)
        else:
            own, seen = np.split(seen, [part.numbers], axis=1)
            yield own


def _within(part: Part) -> np.ndarray:
    """Middle and half width of bounds; of wide ones what is nearest to 0, and 1."""
    low, high = (bound.ravel().astype(np.float64) for bound in (part.low, part.high))
    narrow = high - low < NARROW
    with np.errstate(invalid="ignore"):
        return np.stack(
            [np.where(narrow, (low + high) / 2, np.clip(0.0, low, high)), np.where(narrow, (high - low) / 2, 1.0)]
        )


def _draw(part: Part, moments: np.ndarray, count: int, draws: np.random.Generator) -> np.ndarray:
    """(count, numbers)."""
    low, high = part.low.ravel(), part.high.ravel()
    if not part.is_float:
        return draws.integers(low.astype(np.int64), high.astype(np.int64) + 1, (count, part.numbers))
    mean, deviation = moments
    return np.clip(mean + deviation * draws.standard_normal((count, part.numbers)), low, high)
