"""Settings of algorithms that may draw whole segments of a rollout by their priority."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import Field
from torch import Tensor

from warpworld.config import Count, Fault, Fraction, FractionSchedule, Positive, Sizes
from warpworld.trainers.algorithms.settings.on_policy_settings import OnPolicySettings


@dataclass(frozen=True)
class SegmentDraws:
    """Rule by which segments are drawn for minibatches.

    Attributes:
        alpha: how much priorities count, in [0, 1].
        beta: how far weights make up for that, in [0, 1]; a () float32 tensor where updates are captured.
        per_pass: minibatches of a pass.
        groups: number of the policy's groups, whose rows lie one behind the other.
    """

    alpha: float
    beta: float | Tensor
    per_pass: int
    groups: int


class SegmentSettings(OnPolicySettings):
    """Settings of the passes over a rollout: rows shuffled, or segments drawn.

    A segment is the steps of one agent through a rollout.
    """

    update_epochs: Count = Field(default=4, description="passes over a rollout")
    priority_alpha: Fraction | None = Field(
        default=None,
        description="draw minibatches of whole segments, by the size of their advantages to this power; 0 draws "
        "uniformly, null shuffles rows",
    )
    priority_beta: FractionSchedule = Field(
        default=0.4, description="how far weights make up for priorities; 1 does so fully"
    )
    replay_ratio: Positive | None = Field(
        default=None,
        description="rows that an update learns from for each row of the rollout, where segments are drawn; null for "
        "update_epochs",
    )

    @property
    def passes(self) -> int:
        """Passes over a rollout, at most."""
        return self.update_epochs if self.replay_ratio is None else math.ceil(self.replay_ratio)

    @property
    def per_pass(self) -> int:
        """Minibatches of a pass."""
        return self.num_minibatches if self.replay_ratio is None else round(self._share)

    @property
    def _share(self) -> float:
        """Minibatches of a pass; a whole number unless ``faults`` finds one."""
        return (self.replay_ratio or self.passes) * self.num_minibatches / self.passes

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Segments divide into minibatches, of which each pass has a whole number."""
        yield from super().faults(sizes)
        if self.priority_alpha is None:
            yield from self._without_draws()
            return
        what, parts = f"priority_alpha is {self.priority_alpha:g}", self.num_minibatches
        if parts == 1:
            text = f"num_minibatches is 1, but {what}: a minibatch would have all segments; expected 2 or more"
            yield Fault(("num_minibatches", "priority_alpha"), text)
        segments = sizes.num_envs * sizes.agents
        if segments % parts and self.model.recurrent is None:  # of sequences, that is said above
            agents = f"{sizes.agents} agent{'s' * (sizes.agents != 1)}"
            text = f"num_minibatches is {parts}, expected a divisor of the {segments} segments of a rollout: num_envs "
            yield Fault(("num_minibatches",), f"{text}{sizes.num_envs} x {agents}; {what}", of_sizes=True)
        if not math.isclose(self._share, max(1, round(self._share))):
            text = f"replay_ratio is {self.replay_ratio:g} with num_minibatches {parts}, which makes "
            nearest = max(1, round(self._share)) * self.passes / parts
            passes = f"{self.passes} pass{'es' * (self.passes != 1)} of {self._share:g} minibatches"
            yield Fault(("replay_ratio",), f"{text}{passes}, expected a whole number; {nearest:g} gives one")

    def _without_draws(self) -> Iterator[Fault]:
        """Keys that say something of draws, where rows are shuffled."""
        fields = type(self).model_fields
        for key in ("replay_ratio", "priority_beta"):
            if (given := getattr(self, key)) != fields[key].default:
                said = f"{given:g}" if isinstance(given, float) else "a schedule"
                text = f"{key} is {said}, but priority_alpha is null, so that rows are shuffled; set priority_alpha"
                also = ", or update_epochs in place of it" if key == "replay_ratio" else ""
                yield Fault((key, "priority_alpha"), f"{text}{also}")
