"""Blocks of what agents see with their cameras and feel of their own motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box

from warpworld.eyes.blocks.block import Block
from warpworld.eyes.indoor import camera_kernel


class Camera(Block):
    """Base class of blocks with cameras.

    An agent has a camera for each of ``cameras``, angles to the left of its heading in degrees. Each has ``res`` rays
    over ``fov`` degrees, ray 0 at the left, and ``subsample`` neighbours make a pixel. The cameras' pixels lie side
    by side, as numbers of the environment's ``dtype``: its kernels write ``Pixel``.

    Attributes:
        rows: how many numbers of a pixel are shown, by the name of the observation.
    """

    rows: ClassVar[Mapping[str, int]] = {}

    def observations(self, params: Any) -> Mapping[str, Box]:
        """Rows of pixels, 0 to 1."""
        pixels, dtype = params.num_cameras * params.pixels, np.dtype(params.dtype).type
        return {name: Box(0.0, 1.0, (rows, pixels), dtype) for name, rows in self.rows.items()}


class RGB(Camera):
    """``rgb`` (3, cameras x pixels): linear colours 0 to 1 of walls and agents, as lit."""

    header = "blocks/rgb.cuh"
    senses = (camera_kernel("see_rgb"),)
    rows: ClassVar[Mapping[str, int]] = {"rgb": 3}


class Depth(Camera):
    """``depth`` (1, cameras x pixels): 1 at the agent's skin, falling to 0 at 10 m and beyond."""

    header = "blocks/depth.cuh"
    senses = (camera_kernel("see_depth"),)
    rows: ClassVar[Mapping[str, int]] = {"depth": 1}


class RGBAndDepth(Camera):
    """Colours and depth of the same look: ``rgb`` and ``depth`` of the cameras."""

    header = "blocks/rgb_and_depth.cuh"
    senses = (camera_kernel("see_rgb_and_depth"),)
    rows: ClassVar[Mapping[str, int]] = {**RGB.rows, **Depth.rows}


class AgentPixels(Camera):
    """``agents`` (1, cameras x pixels): the share of each pixel that other agents cover."""

    header = "blocks/agent_pixels.cuh"
    senses = (camera_kernel("see_agents"),)
    rows: ClassVar[Mapping[str, int]] = {"agents": 1}


class IMU(Block):
    """``imu`` (3,): turn rate / 360 degrees a second, speed forward and to the left / 10 m/s, over this step."""

    header = "blocks/imu.cuh"
    senses = ("feel_motion",)

    def observations(self, params: Any) -> Mapping[str, Box]:
        """Motion of the body."""
        return {"imu": Box(-np.inf, np.inf, (3,))}


def looking_once(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, with ``RGBAndDepth`` instead of the first of RGB and Depth if there are both."""
    kinds = [type(block) for block in blocks]
    if RGB not in kinds or Depth not in kinds:
        return list(blocks)
    first = min(kinds.index(RGB), kinds.index(Depth))
    both: list[Block] = [RGBAndDepth() if i == first else block for i, block in enumerate(blocks)]
    return [block for block in both if type(block) not in (RGB, Depth)]
