"""Base class of building blocks: arrays, a part of what agents see or do, and kernels of a header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gymnasium.spaces import Box, Space

from warpworld.environment import Array, Kernel, Phase


class Block:
    """A part of an environment. Subclass it for your own block; every member has a default.

    Attributes:
        header: the file that holds its kernels: beside the environment's ``source``, or one of warpworld's.
        steps: what runs first in a step, in the order of the blocks.
        starts: what runs first for envs that start a new episode, likewise.
        senses: what runs last in both.
        action: space of one agent's action, for a block that moves agents.
    """

    header: ClassVar[str | None] = None
    steps: ClassVar[Sequence[Phase | Kernel]] = ()
    starts: ClassVar[Sequence[Phase | Kernel]] = ()
    senses: ClassVar[Sequence[Phase | Kernel]] = ()
    action: ClassVar[Space | None] = None

    def arrays(self, params: Any) -> Sequence[Array]:
        """The arrays that the block needs; ``params`` are the environment's."""
        return ()

    def observations(self, params: Any) -> Mapping[str, Box]:
        """Parts of one agent's observation that it adds, by their names."""
        return {}

    def truncations(self, params: Any, num_steps: int) -> int | None:
        """Most time limits that it sets to one env in ``num_steps`` steps; None if it sets none."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
