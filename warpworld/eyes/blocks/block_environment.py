"""Environments that are put together from blocks and rules in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Space

from warpworld.drawing import Drawing
from warpworld.environment import Array, Kernel, Phase, Range, placed_groups
from warpworld.errors import DeclarationError
from warpworld.eyes.blocks.block import Block
from warpworld.eyes.blocks.lives import RandomLifespans
from warpworld.eyes.blocks.senses import Camera, looking_once
from warpworld.eyes.drawing import CAMERAS, draw_indoor
from warpworld.eyes.indoor import Indoor, IndoorParams

MOST_CAMERAS = 64  # of an agent


@dataclass(frozen=True)
class BlockParams(IndoorParams):
    """Parameters of warpworld's blocks; those below the line follow from the others."""

    speed: Annotated[float, Range(above=0)] = 1.0  # metres a second, of SimpleMovement
    ang_speed: Annotated[float, Range(above=0)] = 90.0  # degrees a second, of SimpleMovement
    cameras: tuple[float, ...] = (0.0,)  # degrees to the left of the heading, of each camera of an agent
    episode_length: Annotated[int, Range(2, 2**31 - 1)] = 500  # steps; RandomLifespans draws from half of them to all
    # ----
    num_cameras: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _are_angles(self.cameras):
            raise DeclarationError(
                f"cameras={self.cameras!r}: expected 1 to {MOST_CAMERAS} angles in degrees, such as (0.0, 180.0) for "
                "one ahead and one behind"
            )
        self._follow("cameras", tuple(float(angle) for angle in self.cameras))
        self._follow("num_cameras", len(self.cameras))


def _are_angles(given: Any) -> bool:
    is_list = isinstance(given, (tuple, list)) and 1 <= len(given) <= MOST_CAMERAS
    return is_list and all(
        isinstance(angle, (int, float)) and not isinstance(angle, bool) and abs(angle) <= 360.0 for angle in given
    )


class BlockEnvironment(Indoor):
    """An environment in floor plans, made of blocks and rules: you need not write CUDA.

    A subclass names its ``blocks``, gives its agents in ``groups()``, with ``observation()`` and ``action()`` as the
    blocks have them, and defines in ``rules()`` what is rewarded and what ends an episode. A step runs the blocks'
    steps, then the rules, then the senses; a new episode the blocks' starts, ``first_rules()``, and the senses. For
    kernels of its own it names a ``source``, and lists them among its rules.

    Attributes:
        blocks: in the order in which they run.
    """

    source = "blocks.cu"
    compile_time = (*Indoor.compile_time, "num_cameras")
    blocks: ClassVar[Sequence[Any]] = ()

    @dataclass(frozen=True)
    class Params(BlockParams):
        """Parameters of the blocks."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        for block in self.blocks:
            if not isinstance(block, Block):
                called = f"; write {block.__name__}()" if isinstance(block, type) and issubclass(block, Block) else ""
                raise DeclarationError(f"{self.name}: blocks has {block!r}, expected Block objects{called}")
        kinds = [type(block).__name__ for block in self.blocks]
        twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
        if twice is not None:
            raise DeclarationError(f"{self.name}: blocks has {twice} twice, expected one of a kind")
        self._check_episode_length()
        self._check_dtype()
        self._blocks: list[Block] = looking_once(self.blocks)

    def _check_episode_length(self) -> None:
        """Refuse a length that nothing reads; a subclass whose rules read it declares it in its own ``Params``."""
        owners = (cls for cls in type(self.params).__mro__ if "episode_length" in vars(cls).get("__annotations__", {}))
        length, default = self.params.episode_length, BlockParams.episode_length
        has_lifespans = any(isinstance(block, RandomLifespans) for block in self.blocks)
        if next(owners) is BlockParams and length != default and not has_lifespans:
            raise DeclarationError(
                f"{self.name}: episode_length={length} has no effect: add RandomLifespans() to blocks, which draws "
                "time limits from it, or declare episode_length in Params for rules of your own that read it"
            )

    def _check_dtype(self) -> None:
        """Refuse a dtype of pixels where no camera shows any."""
        if self.params.dtype != "float32" and not any(isinstance(block, Camera) for block in self.blocks):
            raise DeclarationError(
                f"{self.name}: dtype={self.params.dtype!r} has no effect: none of the blocks is a camera, such as RGB()"
            )

    @property
    def includes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The header of pixels, and those of the blocks' kernels."""
        return (*super().includes, *(block.header for block in self._blocks if block.header is not None))

    # ---- what agents see and do --------------------------------------------------------------------------------------
    def senses(self) -> dict[str, Box]:
        """Spaces of an agent's observations through the blocks, by name."""
        found: dict[str, Box] = {}
        for block in self._blocks:
            found.update(block.observations(self.params))
        return found

    def action(self) -> Space:
        """The space of one agent's action, from the block that moves agents.

        Raises:
            DeclarationError: none of the blocks has actions, or several have.
        """
        spaces = [block.action for block in self._blocks if block.action is not None]
        if len(spaces) != 1 or spaces[0] is None:
            raise DeclarationError(
                f"{self.name}: {len(spaces)} of the blocks have actions, expected one, such as MomentumMovement()"
            )
        return spaces[0]

    def arrays(self) -> Sequence[Array]:
        """Arrays of every environment in floor plans, the angles of cameras, and the blocks' arrays."""
        angles = np.array(self.params.cameras, dtype=np.float32)
        doc = "degrees of each camera to the left of its agent's heading"
        cameras = Array("camera_angles", "float32", angles.shape, "world", initial=angles, read_only=True, doc=doc)
        of_blocks = (array for block in self._blocks for array in block.arrays(self.params))
        return [*super().arrays(), cameras, *of_blocks]

    # ---- what happens ------------------------------------------------------------------------------------------------
    def rules(self) -> Sequence[Phase | Kernel]:
        """Phases of a step once agents have moved: callables ``fn(arrays, active)``, or kernels."""
        return []

    def first_rules(self) -> Sequence[Phase | Kernel]:
        """Phases at the start of an episode, once agents have their places; ``active`` marks those envs."""
        return []

    def phases(self) -> Sequence[Phase | Kernel]:
        """The blocks' steps, the rules, the senses."""
        return [*self._all("steps"), *self.rules(), *self._all("senses")]

    def resets(self) -> Sequence[Phase | Kernel]:
        """The blocks' starts, the first rules, the senses."""
        return [*self._all("starts"), *self.first_rules(), *self._all("senses")]

    def _all(self, kind: str) -> list[Phase | Kernel]:
        return [entry for block in self._blocks for entry in getattr(block, kind)]

    def truncations(self, num_steps: int) -> int:
        """Most time limits of one env in ``num_steps`` steps; rules may set one in every step unless overridden."""
        limits = [num_steps if self.rules() else None]
        limits += [block.truncations(self.params, num_steps) for block in self._blocks]
        return max((number for number in limits if number is not None), default=num_steps)

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing | None:
        """The home, the agents and what their cameras see."""
        groups = placed_groups(self).values()
        colours = [name for _, name in sorted((agent, group.name) for group in groups for agent in group.numbers)]
        cameras = self.params.cameras if arrays.keys() & {*CAMERAS} else ()
        return draw_indoor(self.params.plan_set, arrays, colours, self.params.fov, cameras=cameras)
