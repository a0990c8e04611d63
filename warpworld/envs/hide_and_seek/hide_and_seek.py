"""Hide and seek: hiders shut themselves in with boxes that seekers cannot move.

Source: Baker et al.: "Emergent Tool Use From Multi-Agent Autocurricula" (2020), whose teams, rewards, preparation and
rules of holding and locking these are. Unlike there, the arena is a plane, and boxes do not turn. Ramps lead from one
level to another one, see ``cuda/bodies.cuh``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles, Segments
from warpworld.environment import (
    Array,
    EntityBox,
    EntityList,
    Environment,
    Group,
    Kernel,
    Phase,
    Range,
    Script,
    register,
)
from warpworld.errors import DeclarationError

OWN, ABOUT_AGENT, ABOUT_BOX, ABOUT_RAY = 8, 5, 8, 4  # numbers in an observation
ABOUT_LEVEL, ABOUT_KIND = 1, 4  # with ramps, of each agent; with ramps or long boxes, of each box and ramp
HALF_WALL, MARGIN, OFF_MIDDLE, GRID = 0.05, 0.01, 0.15, 6  # as in the kernel files
CELLS, IN_ROOM = 27, 9  # in which bodies start, one in each
LONG_WIDTH = 0.1  # metres, half the width of a long box
MOST_LONG = {True: 3, False: 6}  # long boxes with one room and without, for which there are surely two free cells each
SHUTTERS, AROUND_CORNER = 2, 8  # long boxes that shut a corner, and cells that it and they take, as in fields.cuh
MOST_LONG_NEAR_CORNER = 4  # for those beyond the first two there are surely two free cells each
LOCKED_BY = ("grid", "hider", "seeker")  # colours of boxes: free, or of the team that has locked them
ACTIONS = ("left", "none", "right"), ("down", "none", "up"), ("let go", "hold"), ("nothing", "lock", "unlock")
KEYS = ("left", "", "right"), ("down", "", "up"), ("", "space"), ("", "l", "u")
Length = Annotated[float, Range(above=0, high=100)]


@register("hide_and_seek")
class HideAndSeek(Environment):
    """Hiders earn 1 a step while no seeker sees any of them, else -1; boxes can be pushed, held and locked.

    Actions: push left, none, right; push down, none, up; let go, or hold the nearest box in reach; nothing, lock or
    unlock it. Seekers earn the opposite. In the preparation, the first steps of an episode, seekers do nothing and
    no reward is paid. A locked box has infinite mass until an agent of the team that has locked it unlocks it.

    Episodes log ``hidden``, the share of the steps after the preparation in which no hider was seen; ``covered``, 1 if
    at the end of the preparation all hiders were in the room and a box in each door left no way through; and
    ``sealed``, 1 if hiders had also locked these boxes.
    """

    source = "hide_and_seek.cu"
    compile_time = (
        *("boxes", "long_boxes", "ramps", "rooms", "doors", "random_rooms"),
        *("lists_entities", "lidar_rays"),
    )
    per_env = ("start_away",)

    @dataclass(frozen=True)
    class Params:
        """Parameters of hide and seek."""

        hiders: Annotated[int, Range(1, IN_ROOM)] = 2  # agents of the group hider
        seekers: Annotated[int, Range(1, CELLS - IN_ROOM)] = 2  # agents of the group seeker
        boxes: Annotated[int, Range(1, IN_ROOM)] = 1  # square ones, that can be moved
        long_boxes: Annotated[int, Range(0, MOST_LONG[False])] = 0  # walls that can be moved, along x and y in turn
        ramps: Annotated[int, Range(0, IN_ROOM)] = 0  # by which agents get on top of walls and boxes
        rooms: Annotated[int, Range(0, 4)] = 1  # 0: an open field; 1: a room in a corner; from 2 on, drawn anew
        doors: Annotated[int, Range(1, 2)] = 1  # of the room in a corner; of more rooms each wall has one
        random_rooms: bool = False  # the room is in any corner, its size drawn; false: the lower right quarter
        side: Length = 6.0  # of the arena, metres
        radius: Length = 0.15  # of agents, metres
        box_half: Length = 0.4  # half a square box's and a ramp's width, metres
        long_half: Length = 0.8  # half a long box's length, metres
        door_width: Length = 0.6  # metres
        top_speed: Annotated[float, Range(above=0, high=10)] = 2.0  # of agents, metres a second; a step is 0.1 s
        box_mass: Annotated[float, Range(above=0, high=1e6)] = 1.0  # kilograms, of boxes and ramps; an agent has 1
        reach: Annotated[float, Range(above=0, high=0.5)] = (
            0.2  # metres from an agent to a box that it can hold or lock
        )
        episode_length: Annotated[int, Range(2, 2**31 - 1)] = 80  # steps until the time limit
        preparation: Annotated[int, Range(1, 2**31 - 1)] = 32  # of these, in which seekers do nothing
        near_doors: Annotated[float, Range(0, 1)] = 1.0  # share of boxes that start near a door; others: in the room
        start_away: Annotated[float, Range(0, 1)] = 1.0  # how far from it: 0 just before the door, 1 a cell away
        near_corner: Annotated[float, Range(0, 1)] = 0.0  # in the open: share of episodes that begin in a corner
        hiders_start_inside: bool = True  # the room or that corner; false: anywhere
        boxes_start_inside: bool = True  # the room, those that do not start near a door; false: anywhere
        seekers_lock: bool = True  # whether seekers can lock boxes, too
        lists_entities: bool = True  # agents observe each agent and box in sight
        lidar_rays: Annotated[int, Range(0, 360)] = 0  # all round, along which they observe what is nearest
        central_critics: bool = False  # critics read the state of the whole env; false: what agents observe

        def __post_init__(self) -> None:
            steps = f", as an episode has {self.episode_length} steps"
            Range(1, self.episode_length - 1).check("preparation", self.preparation, steps)
            if not self.door_width > 2 * self.radius:
                raise DeclarationError(
                    f"door_width={self.door_width}: expected more than an agent's width, {2 * self.radius:g} m "
                    f"(radius={self.radius})"
                )
            self._check_cells()

        def _check_cells(self) -> None:
            """Bodies start in cells, so that none overlap."""
            if self.rooms == 1:
                corner = 0.5 * self.side - (0.05 * self.side if self.random_rooms else 0.0)
                cell = (corner - HALF_WALL) / 3
                two_cells, widest_door = 2 * cell, 2 * (cell * (0.5 - OFF_MIDDLE) + HALF_WALL)
            else:
                width = self.side / GRID
                cell = width - 2 * HALF_WALL
                two_cells, widest_door = width + cell, cell if self.rooms else np.inf
                if self.random_rooms:
                    raise DeclarationError(f"random_rooms=True: expected with rooms=1, not rooms={self.rooms}")
            widest = 2 * max(self.box_half, self.radius) + 2 * MARGIN
            if cell < widest:
                raise DeclarationError(
                    f"side={self.side}: cells in which bodies start are {cell:.3g} m wide and bodies {widest:.3g} m "
                    "with their margin, so that they would overlap; raise side, or lower box_half or radius"
                )
            if self.long_boxes and two_cells < 2 * (self.long_half + MARGIN):
                raise DeclarationError(
                    f"long_half={self.long_half}: expected at most {two_cells / 2 - MARGIN:.3g} m in an arena of "
                    f"side={self.side}, as a long box starts in two cells"
                )
            if widest_door < self.door_width:
                raise DeclarationError(
                    f"door_width={self.door_width}: expected at most {widest_door:.3g} m in an arena of "
                    f"side={self.side}, or doors would leave the room's walls"
                )
            Range(0, MOST_LONG[self.rooms == 1]).check("long_boxes", self.long_boxes, f" with rooms={self.rooms}")
            if self.near_corner:
                self._check_corner()
            if self.rooms == 1:
                self._check_room()
            else:
                self._check_field()

        def _check_corner(self) -> None:
            """Two long boxes, hiders inside, and a free cell for all others."""
            if self.rooms:
                raise DeclarationError(f"near_corner={self.near_corner}: expected with rooms=0, not rooms={self.rooms}")
            why = f" with near_corner={self.near_corner}"
            Range(SHUTTERS, MOST_LONG_NEAR_CORNER).check("long_boxes", self.long_boxes, why)
            Range(1, 4).check("hiders", self.hiders, why)
            fits = self.side / GRID - LONG_WIDTH - MARGIN
            if not 2 * (self.radius + MARGIN) <= self.long_half <= fits:
                raise DeclarationError(
                    f"long_half={self.long_half}: expected {2 * (self.radius + MARGIN):.3g} to {fits:.3g} m{why}, as "
                    "hiders start in a corner between two long boxes"
                )

        def _check_room(self) -> None:
            near, why = (
                min(self.boxes, self.doors),
                f", as the room has {IN_ROOM} cells for starts",
            )  # such boxes have two
            if self.hiders_start_inside:
                Range(1, IN_ROOM - 2).check("hiders", self.hiders, why)
            Range(1, IN_ROOM - near - (self.hiders if self.hiders_start_inside else 0)).check("boxes", self.boxes, why)
            outside = CELLS - IN_ROOM - 2 * self.long_boxes - self.ramps
            outside -= 0 if self.hiders_start_inside else self.hiders
            outside -= 0 if self.boxes_start_inside else self.boxes
            why = f", as there are {CELLS - IN_ROOM} cells outside the room"
            if outside < 1:
                raise DeclarationError(
                    f"long_boxes={self.long_boxes}, ramps={self.ramps}: no cell is left for seekers{why}; "
                    "lower one of them"
                )
            Range(1, outside).check("seekers", self.seekers, why)

        def _check_field(self) -> None:
            cells = self.hiders + self.seekers + self.boxes + 2 * self.long_boxes + self.ramps
            there = GRID * GRID
            if self.near_corner:
                cells, there = cells - 2 * SHUTTERS, there - AROUND_CORNER
            if cells > there:
                raise DeclarationError(
                    f"hiders={self.hiders}, seekers={self.seekers}, boxes={self.boxes}, long_boxes={self.long_boxes}, "
                    f"ramps={self.ramps}: they start in {cells} cells, and there are {there}; lower one of them"
                )

    def groups(self) -> Sequence[Group]:
        """Hiders, then seekers."""
        p = self.params
        entities = self._about_agent * (self._agents - 1) + self._about_thing * self._things if p.lists_entities else 0
        size = self._about_self + entities + 2 * (self._doors + p.random_rooms) + ABOUT_RAY * p.lidar_rays
        seen, action = self._observed(size), MultiDiscrete([3, 3, 2, 3])
        state = "state" if p.central_critics else None
        sizes = {"hider": p.hiders, "seeker": p.seekers}
        names: Any = {"action_names": ACTIONS, "action_keys": KEYS}
        return [Group(name, number, seen, action, critic_input=state, **names) for name, number in sizes.items()]

    def _observed(self, size: int) -> Box:
        """Space of an observation of ``size`` numbers, with its lists of entities, see ``write_entities``."""
        if not self.params.lists_entities:
            return Box(-4.0, 4.0, (size,))
        agents = EntityList("agents", self._about_self, self._agents - 1, self._about_agent)
        things = EntityList("things", agents.end, self._things, self._about_thing)
        return EntityBox(-4.0, 4.0, size, [agents, things] if self._things else [agents])

    @property
    def _agents(self) -> int:
        return int(self.params.hiders + self.params.seekers)

    @property
    def _things(self) -> int:
        """Boxes and ramps."""
        return int(self.params.boxes + self.params.long_boxes + self.params.ramps)

    @property
    def _about_self(self) -> int:
        return OWN + ABOUT_LEVEL * (self.params.ramps > 0)

    @property
    def _about_agent(self) -> int:
        return ABOUT_AGENT + ABOUT_LEVEL * (self.params.ramps > 0)

    @property
    def _about_thing(self) -> int:
        return ABOUT_BOX + ABOUT_KIND * (self._things > self.params.boxes)

    @property
    def _doors(self) -> int:
        p = self.params
        return int(p.doors if p.rooms == 1 else max(p.rooms - 1, 0))

    def _shapes(self) -> np.ndarray:
        """(bodies, 2) half the size of each thing, or an agent's radius and 0."""
        p = self.params
        long = [[p.long_half, LONG_WIDTH], [LONG_WIDTH, p.long_half]]
        shapes = [[p.radius, 0.0]] * self._agents + [[p.box_half] * 2] * p.boxes
        shapes += [long[number % 2] for number in range(p.long_boxes)]
        return np.array(shapes + [[p.box_half] * 2] * p.ramps, np.float32)

    def arrays(self) -> Sequence[Array]:
        """Arrays of bodies, agents before boxes and ramps, of walls and doors, and of what is counted."""
        p, bodies = self.params, self._agents + self._things
        mass = [1.0] * self._agents + [p.box_mass] * self._things
        turns = 2 * np.pi * np.arange(max(p.lidar_rays, 1)) / max(p.lidar_rays, 1)
        walls = {0: 1, 1: 4}.get(p.rooms, 2 * self._doors)
        state = (6 if p.ramps else 5) * self._agents + 6 * self._things + 2 * p.ramps + 2 * self._doors + 2
        state += 4 * walls * (p.rooms > 1)
        return [
            Array("position", "float32", (bodies, 2), per="env", bounds=(0.0, p.side), doc="metres"),
            Array("velocity", "float32", (bodies, 2), per="env", doc="metres a second"),
            Array("held", "int32", (bodies,), per="env", bounds=(-1, bodies - 1), doc="body that it holds, or -1"),
            Array("locked", "int32", (bodies,), per="env", bounds=(0, 2), doc="1 by hiders, 2 by seekers, 0 free"),
            Array("level", "int32", (bodies,), per="env", bounds=(0, 1), doc="1 for agents above walls and boxes"),
            Array("uphill", "int32", (bodies,), per="env", bounds=(0, 4), doc="ramps: 1 left, 2 right, 3 down, 4 up"),
            Array("wall", "float32", (walls, 4), per="env", doc="inner walls: middle and half the size, metres"),
            Array("door", "float32", (max(self._doors, 1), 2), per="env", doc="middle of each door, metres"),
            Array("room", "float32", (4,), per="env", doc="its middle and half its size, metres; or the arena's"),
            Array("in_sight", "bool", (bodies,), doc="nothing is between this agent and that body"),
            Array("state", "float32", (state,), per="env", doc="the whole env, for critics"),
            _constant("shape", self._shapes(), "half a box's size, or a radius and 0, metres"),
            _constant("mass", mass, "kilograms"),
            _constant("drag", [10.0] * bodies, "1 / seconds: half of a velocity stays for a step"),
            _constant("rays", np.stack([np.cos(turns), np.sin(turns)], 1), "directions of the lidar"),
            _counted("hidden", "float32", "share of the steps after the preparation in which no hider was seen"),
            _counted("covered", "float32", "hiders in the room and boxes in all doors, after the preparation"),
            _counted("sealed", "float32", "the same, and hiders have locked the boxes"),
            _counted("sheltered", "float32", "share of hiders to whom no seeker can walk, after the preparation"),
            _counted("doors_open", "float32", "doors that no box covers, after the preparation"),
            _counted("box_moved", "float32", "way of all boxes, metres"),
            _counted("ramp_used", "float32", "1 if a seeker was on level 1 after the preparation"),
            _counted("num_locked", "int32", "boxes that hiders have locked"),
            _counted("ramps_locked", "int32", "ramps that hiders have locked"),
            _counted("locks", "int32", "how often a box or a ramp was locked"),
            _counted("seeker_locks", "int32", "the same, by seekers"),
            _counted("seeker_unlocks", "int32", "how often seekers unlocked one"),
            _counted("holds_broken", "int32", "how often a box was torn from its holder"),
        ]

    def phases(self) -> Sequence[Phase | Kernel]:
        """Move all bodies, look around, and pay."""
        return [self._kernel("move"), self._kernel("look"), Kernel("score", threads_per_env=(1, 1))]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Lay out an episode, and look around."""
        return [self._kernel("start"), self._kernel("look")]

    def scripts(self) -> Mapping[str, Script]:
        """search: a seeker that looks in at the doors; flee: a hider that runs from the seekers that it sees."""
        return {"search": "search", "flee": "flee"}

    def _kernel(self, name: str) -> Kernel:
        return Kernel(name, threads_per_env=(1, self._agents))

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """Walls, boxes in the colour of the team that has locked them, what is held, and lines of sight to hiders."""
        p, place, wall = self.params, np.asarray(arrays["position"], float), arrays["wall"]
        x, y = place.T
        marks: list[Mark] = [
            Rectangles(0.0, 0.0, p.side, p.side, fill="ground", outline="muted", line_width=0.05),
            Rectangles(wall[:, 0] - wall[:, 2], wall[:, 1] - wall[:, 3], 2 * wall[:, 2], 2 * wall[:, 3], fill="ink"),
        ]
        left, bottom = (place - self._shapes()).T
        width, height = 2 * self._shapes().T
        for team, fill in enumerate(LOCKED_BY):
            at = self._agents + np.flatnonzero(arrays["locked"][self._agents :] == team)
            size = left[at], bottom[at], width[at], height[at]
            marks.append(Rectangles(*size, fill=fill, outline="ink", line_width=0.04, opacity=0.7))
        marks += self._ramps(place, arrays["uphill"])
        seekers, hiders = np.nonzero(arrays["in_sight"][p.hiders :, : p.hiders])
        marks.append(_lines(place, np.stack([p.hiders + seekers, hiders], 1), "alarm", 0.03))
        holders = np.flatnonzero(arrays["held"] >= 0)
        marks.append(_lines(place, np.stack([holders, arrays["held"][holders]], 1), "ink", 0.06))
        marks.append(Discs(x[: p.hiders], y[: p.hiders], p.radius, fill="hider"))
        marks.append(Discs(x[p.hiders : self._agents], y[p.hiders : self._agents], p.radius, fill="seeker"))
        raised = np.flatnonzero(arrays["level"][: self._agents])
        marks.append(Discs(x[raised], y[raised], 1.3 * p.radius, fill=None, outline="ink", line_width=0.05))
        return Drawing((-0.2, -0.2, p.side + 0.2, p.side + 0.2), marks, seconds=0.1)

    def _ramps(self, place: np.ndarray, uphill: np.ndarray) -> list[Mark]:
        """Lines across ramps, thicker where they are higher. place: (bodies, 2)."""
        ramps = np.arange(len(place) - self.params.ramps, len(place))
        way = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])[uphill[ramps]] * self.params.box_half
        across = way[:, ::-1]
        marks: list[Mark] = []
        for part in (-0.5, 0.0, 0.5, 1.0):
            (x, y), (to_x, to_y) = (place[ramps] + part * way - across).T, (place[ramps] + part * way + across).T
            marks.append(Segments(x, y, to_x, to_y, outline="ink", line_width=0.05 + 0.05 * part))
        return marks


def _constant(name: str, values: object, doc: str) -> Array:
    """Array of the world that kernels read alone."""
    initial = np.array(values, np.float32)
    return Array(name, "float32", initial.shape, per="world", initial=initial, read_only=True, doc=doc)


def _counted(name: str, dtype: str, doc: str) -> Array:
    return Array(name, dtype, per="env", metric="last", doc=doc)


def _lines(place: np.ndarray, pairs: np.ndarray, colour: str, width: float) -> Mark:
    """Lines between pairs of bodies, (n, 2)."""
    (x, y), (to_x, to_y) = place[pairs[:, 0]].T, place[pairs[:, 1]].T
    return Segments(x, y, to_x, to_y, outline=colour, line_width=width)
