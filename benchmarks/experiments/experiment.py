"""What an experiment is: what is trained, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.policies import Policy

EPISODES = 1000  # of each pairing that is played at the end

Figures = dict[str, float | None]
Curve = list[tuple[float, int, dict[str, float | None]]]  # seconds, env steps, value by name


@dataclass(frozen=True)
class Trained:
    """What has come out of a training.

    Attributes:
        config: of the run.
        policies: by name; None for those that act at random.
        earlier: the same as they were after a quarter of the training.
        curve: see above.
        cpu_seconds: of all threads, of the training from nothing.
    """

    config: RunConfig
    policies: Mapping[str, Policy | None]
    earlier: Mapping[str, Policy | None]
    curve: Curve
    cpu_seconds: float

    @property
    def seconds(self) -> float:
        """Wall time of the training, from nothing."""
        return self.curve[-1][0]

    @property
    def times(self) -> Figures:
        """Both, as figures."""
        return {"seconds": self.seconds, "cpu_seconds": self.cpu_seconds}


@dataclass(frozen=True)
class Experiment:
    """What is trained, and what is asked of it.

    Attributes:
        name: of the experiment.
        claim: what it is to show.
        changes: sections of the packaged config of that name, merged over it.
        curves: what the picture shows: metric -> what its axis says.
        judge: from what was trained to the figures.
        holds: whether the figures show the claim.
    """

    name: str
    claim: str
    changes: dict[str, Any]
    curves: dict[str, str]
    judge: Callable[[Trained], Figures]
    holds: Callable[[Figures], bool]

    def config(self, seed: int) -> RunConfig:
        """The run for one seed."""
        data = load_config(self.name).to_dict()
        merge(data, self.changes)
        data["trainer"]["seed"] = seed
        return config_from_dict(data)


def merge(data: dict[str, Any], changes: dict[str, Any]) -> None:
    """Put ``changes`` over ``data``; an entry with another algorithm replaces the whole entry."""
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(data.get(key), dict) and "algorithm" not in value:
            merge(data[key], value)
        else:
            data[key] = value
