"""How actions move agents: seven of them, 0 nothing, 1 left, 2 right, 3 forward, 4 back, 5 turn left, 6 turn right."""

from __future__ import annotations

from gymnasium.spaces import Discrete

from warpworld.eyes.blocks.block import Block


class SimpleMovement(Block):
    """Agents move at ``speed`` (m/s) or turn at ``ang_speed`` (degrees/s) while they act, and stand still else.

    They slide along walls and stop at each other. Megastep's block of this name is told 10 m/s and 180 degrees/s, and
    moves at a tenth of either. ``speed`` is by default what that comes to; ``ang_speed`` is neither 18, which takes ten
    seconds to look behind, nor 180, which turns by 18 degrees in a step of a tenth of a second.
    """

    header = "blocks/simple_movement.cuh"
    steps = ("move_simply",)
    action = Discrete(7)


class MomentumMovement(Block):
    """Agents of some inertia: actions push by ``accel`` (m/s^2) or ``ang_accel`` (degrees/s^2).

    Of its speed an agent loses the share ``decay`` in each step: it moves at accel / (fps decay) at most. Agents slide
    along walls and stop at each other.
    """

    header = "blocks/momentum_movement.cuh"
    steps = ("move_with_momentum",)
    action = Discrete(7)
