"""A policy as a function of named tensors, from raw observations to greedy actions."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from warpworld.policies import ObservationRows, Observed, Policy
from warpworld.policies.exporting.interface import (
    ACTION_MASK,
    NEXT_STATE,
    OUTPUTS,
    STATE,
    as_outputs,
    observation_inputs,
)


class PortablePolicy(nn.Module):
    """Copy of a policy on the CPU as a file holds it, with preprocessing in front of it.

    A policy in training reads rows, in which parts of several dtypes lie as bytes. No graph can take bytes apart, so
    this one makes features of the parts themselves, and its policy reads features.

    Args:
        policy: it knows its spaces, and is left as it is.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy = copy.deepcopy(policy).cpu().requires_grad_(False).eval()
        self.normaliser, self.preprocessing = self.policy.normaliser, self.policy.preprocessing
        self.policy.normaliser = self.policy.preprocessing = None
        assert policy.spaces is not None
        self.spaces, self._rows = policy.spaces, ObservationRows(policy.spaces.observation)
        self._names = list(observation_inputs(self.spaces.observation))

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """The outputs of an ``Interface`` by name, (batch, ...) each, from its inputs by name."""
        features = self._features([inputs[name] for name in self._names])
        observed = Observed(features, (features.shape[0],), in_numpy=False, device=features.device)
        outputs, after = self.policy.outputs_and_state(observed, inputs.get(STATE))
        chosen = self.policy.distribution.choose(outputs, greedy=True, allowed=inputs.get(ACTION_MASK))
        found = {**as_outputs(self.spaces.actions(chosen), self.spaces.action), OUTPUTS: outputs}
        return found if after is None else {**found, NEXT_STATE: after}

    def _features(self, seen: list[Tensor]) -> Tensor:
        """(batch, *shape) of each part, as its space has it, -> (batch, features) float32."""
        parts = [
            values.reshape(values.shape[0], part.numbers).to(getattr(torch, part.dtype))
            for values, part in zip(seen, self._rows.parts, strict=True)
        ]
        if self.preprocessing is not None:
            return self.preprocessing.of_parts(parts, self.normaliser)
        rows = self._rows.join(parts)
        return rows if self.normaliser is None else self.normaliser(rows)
