"""A world of two groups that see each other: what each sees is as long as the other group is large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnasium.spaces import Discrete

from tests.toys import box
from warpworld import Array, Environment, Group


class Flock(Environment):
    """``shared`` has the kernels that take ``observations`` and ``actions``; the others take each group's own."""

    source = str(Path(__file__).parent / "flock.cu")

    @dataclass(frozen=True)
    class Params:
        wolves: int = 2
        sheep: int = 2
        shared: bool = False

    params: Params

    def groups(self) -> Sequence[Group]:
        p = self.params
        return [
            Group("wolf", p.wolves, box(p.sheep), Discrete(3), own_arrays=not p.shared),
            Group("sheep", p.sheep, box(p.wolves), Discrete(3)),
        ]

    def arrays(self) -> Sequence[Array]:
        return [Array("x", "int32")]

    def phases(self) -> Sequence[Any]:
        return ["step_shared" if self.params.shared else "step"]

    def resets(self) -> Sequence[Any]:
        return ["reset_shared" if self.params.shared else "reset"]
