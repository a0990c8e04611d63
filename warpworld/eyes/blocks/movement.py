"""How actions move agents: seven of them, 0 nothing, 1 left, 2 right, 3 forward, 4 back, 5 turn left, 6 turn right."""

from __future__ import annotations

from gymnasium.spaces import Discrete

from warpworld.eyes.blocks.block import Block


class SimpleMovement(Block):
    """Agents move at ``speed`` (m/s) or turn at ``ang_speed`` (degrees/s) while they act, and stand still otherwise.

    They slide along walls and stop at each other. Megastep's block of this name is given 10 m/s and 180 degrees/s,
    and moves at a tenth of either. The default ``speed`` equals that tenth. The default ``ang_speed`` is between 18, at
    which looking behind takes ten seconds, and 180, which turns by 18 degrees in a step of a tenth of a second.
    """

    header = "blocks/simple_movement.cuh"
    steps = ("move_simply",)
    action = Discrete(7)


class MomentumMovement(Block):
    """Agents of some inertia: actions push by ``accel`` (m/s^2) or ``ang_accel`` (degrees/s^2).

    An agent loses the share ``decay`` of its speed in each step, so its speed is at most accel / (fps decay). Agents
    slide along walls and stop at each other.
    """

    header = "blocks/momentum_movement.cuh"
    steps = ("move_with_momentum",)
    action = Discrete(7)
