"""Worlds with eyes: floor plans, cameras and bodies, and blocks to build environments of."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.eyes.blocks.movement import WALK_KEYS as WALK_KEYS
    from warpworld.eyes.blocks.movement import WALKS as WALKS
    from warpworld.eyes.drawing import draw_indoor as draw_indoor
    from warpworld.eyes.drawing import texel_stretches as texel_stretches
    from warpworld.eyes.indoor import Indoor as Indoor
    from warpworld.eyes.indoor import IndoorParams as IndoorParams
    from warpworld.eyes.indoor import camera_kernel as camera_kernel
    from warpworld.eyes.plans import seen_words as seen_words
else:
    __getattr__, __dir__ = lazy_names(__name__)
