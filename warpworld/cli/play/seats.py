"""The agent that a person plays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpworld.environment import Group
from warpworld.errors import RunError, suggest


@dataclass(frozen=True)
class Seat:
    """An agent's place in its group.

    Attributes:
        group: of the agent.
        index: of the agent in it.
    """

    group: Group
    index: int

    @property
    def agent(self) -> int:
        """The agent's number in the env."""
        return self.group.numbers[self.index]

    @property
    def name(self) -> str:
        """The group's name, with the agent's index where there are several."""
        return self.group.name if self.group.size == 1 else f"{self.group.name} {self.index}"


def find_seat(groups: Mapping[str, Group], wanted: str | None) -> Seat:
    """The agent that words name.

    Args:
        groups: of the env.
        wanted: a group, whose first agent it is; ``group:index``; or an agent's number in the env. None takes the
            first agent.

    Raises:
        RunError: there is no such group or agent.
    """
    if wanted is None:
        return Seat(next(iter(groups.values())), 0)
    if wanted.isdecimal():
        return _numbered(groups, int(wanted))
    name, colon, index = wanted.partition(":")
    if name not in groups:
        raise RunError(f"--as {wanted}: there is no group '{name}'.{suggest(name, groups)} Groups: {', '.join(groups)}")
    size = groups[name].size
    if colon and not (index.isdecimal() and int(index) < size):
        raise RunError(f"--as {wanted}: expected an agent from {name}:0 to {name}:{size - 1}")
    return Seat(groups[name], int(index) if colon else 0)


def _numbered(groups: Mapping[str, Group], agent: int) -> Seat:
    for group in groups.values():
        if agent in group.numbers:
            return Seat(group, group.numbers.index(agent))
    last = sum(group.size for group in groups.values()) - 1
    raise RunError(f"--as {agent}: expected a group, or an agent from 0 to {last}")
