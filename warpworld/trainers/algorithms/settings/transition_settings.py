"""Settings of algorithms that learn from transitions one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from warpworld.config import Count, Fault, Sizes
from warpworld.environment import Group
from warpworld.policies import is_picture, no_picture
from warpworld.trainers.algorithms.settings.off_policy_settings import OffPolicySettings


class TransitionSettings(OffPolicySettings):
    """Settings that these algorithms share.

    Attributes:
        remembering: an algorithm that learns with a memory instead.
    """

    remembering: ClassVar[str]

    frame_stack: Count = Field(default=1, le=64, description="observations that make what the policy reads")

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Transitions begin without a memory of what came before."""
        yield from super().faults(sizes)
        if self.model.remembers:
            key, instead = (
                ("recurrent", "null") if self.model.recurrent is not None else ("type", "a model without one")
            )
            text = f"{self.model.memory}, but {self.algorithm} learns from transitions, expected {instead}"
            yield Fault((f"model.{key}",), f"{text}; algorithm: {self.remembering} learns with a memory")
        if self.frame_stack > 1 and self.model.normalise_observations:
            text = f"model.normalise_observations is true, but frame_stack is {self.frame_stack}"
            yield Fault(("model.normalise_observations", "frame_stack"), f"{text}, expected one of them only")

    def misfits(self, group: Group) -> Iterator[Fault]:
        """Faults of the settings for a group: stacked observations need channels."""
        yield from super().misfits(group)
        if self.frame_stack > 1 and not is_picture(group.observation):
            yield Fault(("frame_stack",), f"frame_stack is {self.frame_stack}, but {no_picture(group)}")

    def least_rows(self, sizes: Sizes) -> int:
        """Rows that the ring needs; frames before a transition's first count, too."""
        return super().least_rows(sizes) + self.frame_stack - 1
