"""Blocks that move agents, by seven actions: 0 none, 1 left, 2 right, 3 forward, 4 back, 5 turn left, 6 turn right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium.spaces import Discrete

from warpworld.environment import Array
from warpworld.eyes.blocks.block import Block

# Names of the seven actions, and keys for them.
WALKS = ("none", "left", "right", "forward", "back", "turn left", "turn right")
WALK_KEYS = ("", "a", "d", "w", "s", "left", "right")


class Movement(Block):
    """Base class of blocks that move agents: the seven actions, and the result of a step."""

    action = Discrete(7)

    def arrays(self, params: Any) -> Sequence[Array]:
        """Whether an agent has touched something in this step, and how far it came."""
        share = "of the way that its velocity would have taken it; 1 if it touched nothing"
        return [
            Array("collided", "bool", initial=False, on_reset="initial", doc="touched a wall or another agent"),
            Array("progress", "float32", initial=1.0, on_reset="initial", bounds=(0.0, 1.0), doc=f"the share {share}"),
        ]


class SimpleMovement(Movement):
    """Agents move at ``speed`` (m/s) or turn at ``ang_speed`` (degrees/s) while they act, and stand still otherwise.

    They slide along walls and stop at each other. Megastep's block of this name is given 10 m/s and 180 degrees/s,
    and moves at a tenth of either. The default ``speed`` equals that tenth. The default ``ang_speed`` is between 18, at
    which looking behind takes ten seconds, and 180, which turns by 18 degrees in a step of a tenth of a second.
    """

    header = "blocks/simple_movement.cuh"
    steps = ("move_simply",)


class MomentumMovement(Movement):
    """Agents of some inertia: actions push by ``accel`` (m/s^2) or ``ang_accel`` (degrees/s^2).

    An agent loses the share ``decay`` of its speed in each step, so its speed is at most accel / (fps decay). Agents
    slide along walls and stop at each other.
    """

    header = "blocks/momentum_movement.cuh"
    steps = ("move_with_momentum",)
