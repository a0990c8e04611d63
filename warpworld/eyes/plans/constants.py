"""Numbers that plans, their files and the kernels agree on."""

from __future__ import annotations

MAX_WALLS = 1024  # of one plan, so that a kernel has room for them in the memory that an env's threads share
RESOLUTION = 0.2  # metres, side of a cell of the map of rooms
FLOOR_NODES = 4  # a metre, on which the light of floors is kept; kernels find the number in plan_floor
WALL, OUTSIDE = -1, 0  # in the map of rooms; rooms are 1 and up
RADIUS = 0.106066  # metres, of the disc that an agent is
CLEARANCE = 0.01  # metres between a disc that spawns and the nearest wall, at least
