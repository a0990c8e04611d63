"""Places in a library's envs, for messages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Place:
    """The origin of a result; its text begins a message, such as "external: gymnasium 'X-v0': env 1: step()".

    Attributes:
        where: library and environment.
        env: index of the env; None if it is unknown, or if the result is a batch.
        agent: the agent whom it concerns.
        call: the call that returned it, with parentheses.
        envs: of a batch, the env of each row.
    """

    where: str
    env: int | None = None
    agent: Any = None
    call: str = ""
    envs: np.ndarray | None = None

    def __str__(self) -> str:
        owner = "" if self.env is None else f"env {self.env}"
        if self.agent is not None:
            owner += f"{', ' if owner else ''}agent {self.agent!r}"
        return ": ".join(part for part in (self.where, owner, self.call) if part)

    @property
    def rows(self) -> tuple[int, ...]:
        """Axes of a batch before those of one result."""
        return () if self.envs is None else self.envs.shape

    def of_row(self, row: int) -> Place:
        """The place of one row of a batch; of what is no batch, this place."""
        return self if self.envs is None else replace(self, env=int(self.envs[row]), envs=None)
