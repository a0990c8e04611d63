"""Replicas: worlds that repeat the steps under other conditions, which must change nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from warpworld.checking.accesses import element_name
from warpworld.checking.checked_world import CheckedWorld
from warpworld.checking.findings import Finding
from warpworld.managers import RunKernel

ROUNDING = 1e-5  # relative: what sums of floats may differ by when added up in another order


@dataclass
class Trace:
    """Contents that each kernel of a move left in the arrays that it may write, in order; scratch is left out."""

    kernels: list[tuple[str, dict[str, np.ndarray]]]

    @classmethod
    def of(cls, checked: CheckedWorld) -> Trace:
        """A trace of a checked world; ``start`` it before each move."""
        trace = cls([])

        def after(step: RunKernel) -> None:
            data = checked.world.data
            names = [name for name in checked.writable(step) if not data.array(name).scratch]
            trace.kernels.append((step.name, {name: data.numpy(name).copy() for name in names}))

        checked.after_kernel.append(after)
        return trace

    def start(self) -> None:
        """Begin a new move."""
        self.kernels.clear()


class Replica:
    """A world under another condition, compared with the trace of the world under test until it differs.

    Attributes:
        finding: the first difference, or None.

    Args:
        checked: the replica's world.
        trace: that of the world under test.
        kind: of the finding.
        condition: in what the replica is different, in words.
        advice: what to do.
        rounds: whether floats may differ as sums do that are added up in another order; that is a note.
    """

    def __init__(
        self, checked: CheckedWorld, trace: Trace, kind: str, condition: str, advice: str, rounds: bool
    ) -> None:
        self.checked = checked
        self.finding: Finding | None = None
        self._trace, self._kind, self._condition, self._advice, self._rounds = trace, kind, condition, advice, rounds
        self._at = 0
        checked.after_kernel.append(self._compare)

    def move(self, act: Callable[[CheckedWorld], None], step: int) -> None:
        """Repeat the move of the world under test."""
        if self.finding is not None or self.checked.stopped is not None:
            return
        self._at = 0
        self.checked.backend.world_step = step
        self.checked.move(act)

    def _compare(self, step: RunKernel) -> None:
        at, self._at = self._at, self._at + 1
        if self.finding is not None or at >= len(self._trace.kernels):
            return
        for name, expected in self._trace.kernels[at][1].items():
            array = self.checked.world.data.array(name)
            own = self.checked.world.data.numpy(name)
            if array.per != "world":
                expected = expected[self.checked.envs]
            elif self.checked.envs.start:
                continue  # all envs share it, and here are fewer
            if own.tobytes() != expected.tobytes():
                self._tell(step, name, own, expected)
                return

    def _tell(self, step: RunKernel, name: str, own: np.ndarray, expected: np.ndarray) -> None:
        # the first element that differs by more than the bits of a NaN
        differs = (own != expected) & ~((own != own) & (expected != expected))
        if not differs.any():
            return  # NaN of other bits
        flat = int(np.flatnonzero(differs)[0])
        index = tuple(int(i) for i in np.unravel_index(flat, own.shape))
        # its place in the whole world
        per = self.checked.world.data.array(name).per
        there = (index[0] + self.checked.envs.start, *index[1:]) if per != "world" else index
        # differences that may be rounding
        rounding = self._rounds and own.dtype.kind == "f" and np.allclose(own, expected, ROUNDING, 1e-6)
        element = element_name(self.checked.world.data, name, there)
        self.finding = Finding(
            kind=self._kind,
            place=self.checked.accesses.kernel_line(step.name),
            message=f"kernel '{step.name}': {element} is {expected[index]:.9g}, but {own[index]:.9g} {self._condition}",
            advice=self._advice,
            note=bool(rounding),
            kernel=step.name,
            array=name,
            index=there,
            env=there[0] if per != "world" else None,
            agents=(index[1],) if per == "agent" else (),
            step=self.checked.backend.world_step,
        )
