"""Units that an on-policy learner's values are learnt in: those of reward, or those of a scale that follows returns."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from warpworld.errors import ConfigError
from warpworld.policies import Policy, ValueScale, moments
from warpworld.trainers.algorithms.experience import Experience
from warpworld.trainers.processes import ProcessGroup

POPART = "popart"


def give_units(policy: Policy, kind: str | None, model: str) -> None:
    """Give a fresh policy a scale of values.

    Args:
        policy: with a critic of states.
        kind: the setting ``normalise_returns``; None leaves values in units of reward.
        model: name of its model.

    Raises:
        ConfigError: the kind needs the critic's last layer, and the model names none.
    """
    if kind is None:
        return
    policy.value_scale = ValueScale()
    if kind == POPART and not isinstance(_last_layer(policy), nn.Linear):
        raise ConfigError(
            f"normalise_returns is popart, but model '{model}' has no value_layer, expected its critic's last "
            "torch.nn.Linear; add it, or set normalise_returns=running"
        )


class ValueUnits:
    """Takes what is learnt from into the units of a policy's critic.

    Args:
        policy: with or without a scale of values.
        kind: the setting ``normalise_returns``.
    """

    def __init__(self, policy: Policy, kind: str | None) -> None:
        self._scale = policy.value_scale
        self._layer = _last_layer(policy) if kind == POPART else None
        self._said: tuple[Tensor, Tensor] | None = None  # units of the critic's outputs before it learns

    def follow(self, experience: Experience) -> None:
        """Let the scale follow the returns of the rows that count; nothing is read to the host."""
        if self._scale is None:
            return
        rows, scale = experience.rows, self._scale
        count, mean, variance = moments(rows.returns.double().unsqueeze(1), rows.mask)
        if isinstance(count, Tensor):  # without a row the scale stays where it is
            mean = torch.where(count > 0, mean, scale.mean)
            variance = torch.where(count > 0, variance, scale.deviation**2)
        if len(rows):
            self._said = scale.follow(mean[0], variance[0], self._layer)

    def follow_together(self, experience: Experience, processes: ProcessGroup) -> None:
        """Let the scale follow the returns of the rows that count, of all processes."""
        if self._scale is None:
            return
        returns = experience.counted_rows().returns.double().unsqueeze(1)
        total = int(processes.sum(torch.tensor(float(len(returns)), dtype=torch.float64)))
        if total:
            mean, variance = processes.moments(returns, total)
            self._said = self._scale.follow(mean[0], variance[0], self._layer)

    def of_experience(self, experience: Experience) -> Experience:
        """A copy with returns in the scale's units, and values as the critic says them now, before it learns.

        Values that are clipped may move so far from what the critic said: where its last layer has not followed the
        scale, that is still in the old units.
        """
        if self._scale is None or self._said is None:
            return experience
        rows, (mean, deviation) = experience.rows, self._said
        values = ((rows.values - mean) / deviation).to(rows.values.dtype)
        return experience.with_columns(returns=self._scale.scaled(rows.returns), values=values)

    def of_values(self, values: Tensor) -> Tensor:
        """Values of such an experience in the units of its returns."""
        if self._scale is None or self._said is None:
            return values
        mean, deviation = self._said
        return self._scale.scaled((values * deviation + mean).to(values.dtype))

    def of_returns(self, returns: Tensor) -> Tensor:
        """Targets in the critic's units."""
        return returns if self._scale is None else self._scale.scaled(returns)


def _last_layer(policy: Policy) -> Any:
    """Last layer of the critic; None if the model does not name it."""
    return getattr(policy.model, "value_layer", None)
