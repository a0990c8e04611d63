"""A member of a population: a policy with settings of its own, and what learns it."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.trainers.algorithms import Algorithm
from warpworld.trainers.population.exploration import Values
from warpworld.trainers.state import check_weights


@dataclass(eq=False)
class Member:
    """One of the policies that learn in another's place.

    Attributes:
        policy: that acts in the member's envs.
        algorithm: learns it.
        values: the settings that differ from member to member.
        parent: number of the member that it copied at the latest ranking; its own if it copied none.
        origin: number of the member of the beginning from whose weights its own come.
        copies: how often it copied another.
    """

    policy: Policy
    algorithm: Algorithm
    values: Values
    parent: int
    origin: int
    copies: int = 0

    @property
    def is_lost(self) -> bool:
        """Whether a weight is not a finite number, so that the member learns no more."""
        return not all(bool(weight.isfinite().all()) for weight in self.policy.parameters())

    def take_values(self, values: Values) -> None:
        """Learn with other values of settings from the next update on."""
        self.values = values
        self.algorithm.settings = self.algorithm.settings.with_values(values)

    def copy_weights(self, other: Member) -> None:
        """Take another member's weights, and all that its algorithm keeps, such as the optimiser's moments."""
        self.policy.load_state_dict(other.policy.state_dict())
        self.algorithm.load_state_dict(other.algorithm.state_dict())

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """State, as references to the live tensors."""
        return {
            "weights": self.policy.state_dict(),
            "learner": self.algorithm.state_dict(),
            "values": dict(self.values),
            **{name: getattr(self, name) for name in _NUMBERS},
        }

    def check_state(self, number: int, saved: Any) -> None:
        """Check what ``state_dict`` returned; ``number`` is that of the member.

        Raises:
            RunError: something is missing or does not fit.
        """
        own = self.state_dict()
        name = f"member {number}"
        if not isinstance(saved, Mapping) or any(not isinstance(saved.get(key), type(own[key])) for key in own):
            raise RunError(f"the saved {name} lacks one of {', '.join(own)}, or has another kind of it")
        if saved["values"].keys() != self.values.keys():
            kept = ", ".join(saved["values"]) or "none"
            raise RunError(f"the saved {name} has settings {kept}, expected {', '.join(self.values)}")
        check_weights({name: self.policy}, {name: saved["weights"]})
        self.algorithm.check_state(saved["learner"])

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue from what ``state_dict`` returned."""
        self.policy.load_state_dict(saved["weights"])
        self.algorithm.load_state_dict(saved["learner"])
        self.take_values(dict(saved["values"]))
        for name in _NUMBERS:
            setattr(self, name, saved[name])


_NUMBERS = ("parent", "origin", "copies")


def check_population(members: Sequence[Member], saved: Mapping[str, Any]) -> None:
    """Check the saved state of a population.

    Raises:
        RunError: a member is missing or does not fit, or a number is none.
    """
    states, count = saved.get("members"), len(members)
    if not isinstance(states, list) or len(states) != count:
        has = f"{len(states)} members" if isinstance(states, list) else "no list of members"
        raise RunError(f"the saved learner has {has}, expected {count} members")
    best, iterations, returns = (saved.get(name) for name in ("best", "iterations", "returns"))
    is_one = type(best) is int and 0 <= best < count
    is_number = type(iterations) is int and iterations >= 0
    if not (is_one and is_number and isinstance(returns, list) and len(returns) == count):
        shown = reprlib.repr({"best": best, "iterations": iterations, "returns": returns})
        raise RunError(f"the saved population has {shown}, expected one of {count} members, and a return of each")
    for number, (member, state) in enumerate(zip(members, states, strict=True)):
        member.check_state(number, state)


def mean_of(found: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Means of the members' diagnostics by name, () each, without numbers that are not finite; NaN if none is."""
    of_members = {name: torch.stack([each[name] for each in found]) for name in found[0]}
    return {name: values.where(values.isfinite(), torch.nan).nanmean() for name, values in of_members.items()}
