"""Hits of the rays of agents' cameras, for rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpworld.environment import Array
from warpworld.eyes.blocks.block import Block
from warpworld.eyes.indoor import camera_kernel


class Hits(Block):
    """Hit of each ray, as arrays (envs, agents, cameras x res) that rules read; agents do not observe them.

    - ``hit_object``: -1 nothing, 0 to agents - 1 the agent of that index, agents + w the wall w of the env's plan.
    - ``hit_texel``: the texel of wall, counted over all walls of the env's plan; -1 where the ray meets no wall.
    - ``hit_along``: where on the wall or on the facet of the body, 0 to 1 from its first end; 0 where it meets nothing.
    - ``hit_distance``: metres from the middle of the agent that looks; infinite where it meets nothing.

    Rays are cast before the rules, from where the blocks above this one have put agents. So list it after the blocks
    that move and spawn agents.
    """

    header = "blocks/hits.cuh"
    steps = (camera_kernel("find_hits"),)
    starts = (camera_kernel("find_hits"),)

    def arrays(self, params: Any) -> Sequence[Array]:
        """Arrays of hits: object, texel, place and distance for each ray."""
        rays = (params.num_cameras * params.res,)
        return [
            Array("hit_object", "int32", rays, doc="-1 nothing, then agents, then walls of the plan"),
            Array("hit_texel", "int32", rays, doc="of the plan's walls; -1 where a ray meets no wall"),
            Array("hit_along", "float32", rays, bounds=(0.0, 1.0), doc="place on the wall or facet"),
            Array("hit_distance", "float32", rays, doc="metres; infinite where a ray meets nothing"),
        ]
