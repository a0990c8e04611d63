"""An iteration of a config, part by part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from warpworld.cli.profile.parts import operations_of, timed_parts, waiting
from warpworld.cli.profile.peak import Peak, measure_peak
from warpworld.config import RunConfig, endless
from warpworld.trainers import Trainer
from warpworld.trainers.spans import (
    ACT_AND_STEP,
    DRAW,
    ENV_STEP,
    GRADIENT,
    LOSS,
    NORMALISER,
    ORDER,
    PASSES,
    POLICY,
    PRIORITIES,
    RETURNS,
    ROLLOUT,
    SAMPLING,
    STEP,
    UPDATE,
    VALUES,
    Span,
)

BY_CPP = (POLICY, VALUES, GRADIENT)  # of a policy with fused networks
CALLS = (ACT_AND_STEP, PASSES)  # of C++, each for several parts
# The part that a part is within where it has no row of its own, since one call or one CUDA graph does both.
WITHIN = {
    **dict.fromkeys((POLICY, SAMPLING, ENV_STEP), ACT_AND_STEP),
    ACT_AND_STEP: ROLLOUT,
    **dict.fromkeys((LOSS, STEP, DRAW, PRIORITIES), GRADIENT),
    GRADIENT: PASSES,
    **dict.fromkeys((PASSES, VALUES, RETURNS, ORDER, NORMALISER), UPDATE),
}


@dataclass(frozen=True)
class Row:
    """A part of an iteration.

    Attributes:
        part: which.
        seconds: in an iteration.
        operations: of products and convolutions, in an iteration, as torch does them.
        nbytes: that torch's operations read and write in an iteration.
        by_torch: whether torch does the part in this run; if C++ does it, it need not move these bytes.
    """

    part: Span
    seconds: float
    operations: float
    nbytes: float
    by_torch: bool


@dataclass(frozen=True)
class Profile:
    """An iteration.

    Attributes:
        rows: its parts, the longest first.
        env_steps: that it takes.
        peak: of the machine.
        fused: policies that C++ runs.
        device: cpu or cuda.
        threads: of torch.
        iterations: that were measured.
    """

    rows: list[Row]
    env_steps: int
    peak: Peak
    fused: list[str]
    device: str
    threads: int
    iterations: int

    @property
    def seconds(self) -> float:
        """Seconds of an iteration."""
        return sum(row.seconds for row in self.rows)

    def share(self, names: Sequence[str], policy: str | None = None) -> float:
        """Share of the time that the parts of these names take, of one policy or of all."""
        return sum(row.seconds for row in self._of(names, policy)) / self.seconds

    def of_peak(self, names: Sequence[str], policy: str | None = None) -> float:
        """Their operations per second, in parts of a plain product's."""
        rows = self._of(names, policy)
        seconds = sum(row.seconds for row in rows)
        return sum(row.operations for row in rows) / seconds / self.peak.operations if seconds else 0.0

    def _of(self, names: Sequence[str], policy: str | None) -> list[Row]:
        return [row for row in self.rows if row.part.name in names and policy in (None, row.part.policy)]


def profile(config: RunConfig, seconds: float) -> Profile:
    """Train for a moment and book the time of each part; nothing is written.

    The parts are those that Python starts one after the other, on cuda with a wait for the device around each; what one
    call of C++ or one CUDA graph does is one part. Then an iteration is done by torch alone, which counts operations.

    Args:
        config: of a run.
        seconds: that are measured, about; at least ``LEAST`` iterations.

    Raises:
        WarpworldError: the config cannot be trained.
    """
    # times of the program that trains, one part after the other
    config = config.model_copy(update={"trainer": config.trainer.model_copy(update={"overlap": False})})
    trainer = Trainer(endless(config))
    try:
        device, wait = trainer.world.device, waiting(trainer.world.device)
        timed, iterations = timed_parts(trainer, seconds, wait)
        peak = measure_peak(device, wait)
        fused = [name for name, policy in trainer.policies.items() if policy is not None and _is_fused(policy)]
    finally:
        trainer.world.close()
    # operations, counted by torch alone
    counted = _placed(operations_of(config), timed)
    rows = []
    for part, (spent,) in timed.items():
        by_torch = part.name not in CALLS and (part.policy not in fused or part.name not in BY_CPP)
        operations, nbytes = counted[part]
        rows.append(Row(part, spent / iterations, operations, nbytes, by_torch))
    rows.sort(key=lambda row: -row.seconds)
    sizes = config.trainer
    return Profile(
        rows, sizes.num_envs * sizes.num_steps, peak, fused, device.type, torch.get_num_threads(), iterations
    )


def _placed(counted: Mapping[Span, list[float]], timed: Collection[Span]) -> dict[Span, list[float]]:
    """Counts of each timed part: its own, and those of parts that this run does within its call."""
    found = {part: [0.0, 0.0] for part in timed}
    for part, numbers in counted.items():
        name: str | None = part.name
        while name is not None:
            place = next((each for each in (Span(name, part.policy), Span(name)) if each in found), None)
            if place is not None:
                found[place] = [one + other for one, other in zip(found[place], numbers, strict=True)]
                break
            name = WITHIN.get(name)
    return found


def _is_fused(policy: Any) -> bool:
    return getattr(policy.model, "fused", None) is not None
