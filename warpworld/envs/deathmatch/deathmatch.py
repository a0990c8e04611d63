"""Deathmatch: agents walk through a home and shoot at each other.

Source: megastep's "deathmatch" (Andy L. Jones, 2020), whose author left open why it learns slowly. Unlike there,
agents choose when to fire, move and turn at the same time, and hit what is before them instead of what two pixels
show; a victim pays what its attackers gain; and a body that dies is replaced within the step, so that no life's
actions or rewards reach into another one's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles, Segments
from warpworld.environment import Array, Group, Kernel, Phase, Range, Script, register
from warpworld.envs.deathmatch.megastep_rules import megastep_arrays, mended
from warpworld.errors import DeclarationError
from warpworld.eyes import Indoor, IndoorParams, camera_kernel, draw_indoor, seen_words

BAR = (0.5, 0.09, 0.2)  # metres of a bar of health in pictures: width, height, and above the agent's middle


@register("deathmatch")
class Deathmatch(Indoor):
    """All agents against all others, seen through cameras.

    Actions: a move (0 none, 1 left, 2 right, 3 forward, 4 back), a turn (0 none, 1 left, 2 right, 3 slightly left, 4
    slightly right), and whether to fire. A shot hits the nearest opponent in sight whose disc touches a cone ahead; it
    takes ``damage`` of its health and gives the shooter as much. A victim that dies also pays ``kill_reward`` to each
    agent whose shot helped to kill it. Rewards of all agents sum to 0, exactly if both numbers are sums of a few powers
    of two. An agent that dies starts again elsewhere in the same step, and ``agent_terminated`` is true for it. The
    episode ends when an agent has ``kills_to_win`` kills.

    Besides colours and nearness, an agent sees which pixels are other agents: ``agents``, like a semantic camera.

    ``megastep_rules`` plays the published game: no such pixels, seven actions, automatic fire, a reward for hits alone.
    ``damage``, ``cooldown``, ``fire_cone``, ``fire_range``, ``kill_reward``, ``kills_to_win``, ``shaping``,
    ``near_spawn`` and ``discovery`` do not apply then, except for what ``megastep_mends`` takes from these rules.

    Three numbers of the world may be set between steps: ``near_spawn``, the share of episodes whose agents start in one
    room; ``shaping``, the weight of a potential (Ng, Harada and Russell 1999) that is 1 for a perfect aim; and
    ``discovery``, paid for 64 texels of wall that an agent sees first. When an agent dies, all have seen none again.

    Episodes log ``won``, 1 with more kills than every opponent; ``lost``, 1 with fewer than one of them; and
    ``undecided``, 1 with as many as the best of them, also where none has any.
    """

    source = "deathmatch.cu"
    compile_time = (*Indoor.compile_time, "seen_words")

    @dataclass(frozen=True)
    class Params(IndoorParams):
        """Parameters of deathmatch."""

        res: int = 512
        fov: float = 70.0
        subsample: int = 4
        players: Annotated[int, Range(1, 2**31 - 1)] = 1  # agents of the group player
        rivals: Annotated[int, Range(0, 2**31 - 1)] = 1  # agents of the group rival; all play against all
        damage: Annotated[float, Range(1e-3, 1)] = 0.25  # share of an agent's health that a shot takes
        cooldown: Annotated[int, Range(1, 2**31 - 1)] = 5  # steps from one shot to the next
        fire_cone: Annotated[float, Range(0, 89)] = 2.0  # degrees off the aim that a shot still reaches
        fire_range: Annotated[float, Range(1e-3, 1e6)] = 10.0  # metres
        kill_reward: Annotated[float, Range(0, 1e6)] = 1.0  # for a kill, paid by the agent that dies
        kills_to_win: Annotated[int, Range(0, 2**31 - 1)] = 3  # kills that end an episode; 0: none do
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 500  # steps until the time limit
        shaping_gamma: Annotated[float, Range(0, 1)] = 0.99  # discount of the potential, as of the policies
        megastep_rules: bool = False  # the published rules instead of these, for comparison
        megastep_mends: str = ""  # their faults to fix, by commas: bounds, reward, aim, credit, spawns
        # ----
        mend_bounds: bool = field(init=False, default=False)
        mend_reward: bool = field(init=False, default=False)
        mend_aim: bool = field(init=False, default=False)
        mend_credit: bool = field(init=False, default=False)
        mend_spawns: bool = field(init=False, default=False)
        seen_words: int = field(init=False, default=0)  # of 32 texels each

        def __post_init__(self) -> None:
            super().__post_init__()
            self._follow("seen_words", seen_words(self.plan_set))
            for name, is_mended in mended(self.megastep_mends).items():
                self._follow(f"mend_{name}", is_mended)
            if self.megastep_mends and not self.megastep_rules:
                raise DeclarationError(
                    f"megastep_mends={self.megastep_mends!r}: fixes faults that only megastep_rules=true has"
                )
            if self.megastep_rules and self.pixels < 2:
                raise DeclarationError(f"pixels={self.pixels}: expected at least 2 with megastep_rules=true; raise res")
            if self.players + self.rivals < 2:
                raise DeclarationError(f"players={self.players} and rivals={self.rivals}: expected at least 2 agents")

    def groups(self) -> Sequence[Group]:
        """Players and rivals, which differ only in the policies that play them."""
        share = Box(0.0, 1.0, (1,))
        sizes = {"player": self.params.players, "rival": self.params.rivals}
        agents = self.shown(1)  # the share of a pixel that is another agent
        seen = self.observation(agents=agents, health=share, cooldown=share)
        action: Discrete | MultiDiscrete = MultiDiscrete([5, 5, 2])
        if self.params.megastep_rules:
            seen, action = self.observation(health=share), Discrete(7)
        return [Group(name, size, seen, action) for name, size in sizes.items() if size]

    def arrays(self) -> Sequence[Array]:
        """Arrays of lines of sight, shots, health and score."""
        agents, last = self.params.players + self.params.rivals, self.params.cooldown - 1
        return [
            *super().arrays(),
            *(megastep_arrays(self.params.plan_set, agents) if self.params.megastep_rules else []),
            Array("health", "float32", bounds=(0.0, 1.0), doc="1 at the start of a life, dead at 0"),
            Array("cooling", "int32", bounds=(0, last), doc="steps in which the agent cannot fire yet"),
            Array("kills", "int32", doc="in this episode", metric="last"),
            Array("deaths", "int32", doc="in this episode", metric="last"),
            *(_verdict(name) for name in ("won", "lost", "undecided")),
            Array("in_sight", "bool", (agents,), doc="no wall between this agent and that one"),
            Array("shot", "int32", bounds=(-2, agents - 1), doc="in this step: -2 none, -1 missed, else the agent hit"),
            Array("shot_from", "float32", (2,), doc="metres, where this step's shot began"),
            Array("shot_to", "float32", (2,), doc="metres, and where it ended"),
            Array("potential", "float32", bounds=(0.0, 1.0), doc="0 if no agent is in view, up to 1 for a perfect aim"),
            Array("together", "bool", per="env", doc="whether this episode's agents spawn in one room"),
            Array("seen", "uint32", (self.params.seen_words,), doc="a bit for each texel, since an agent has died"),
            Array("looks_anew", "bool", doc="whether the next look is the first, for which nothing is paid"),
            _changed_between_steps("discovery", (0.0, 1e6), "reward for 64 texels of wall first seen"),
            _changed_between_steps("shaping", (0.0, 1e6), "weight of the potential"),
            _changed_between_steps("near_spawn", (0.0, 1.0), "share of episodes whose agents spawn in one room"),
        ]

    def phases(self) -> Sequence[Phase | Kernel]:
        """Move and shoot, count hits, start again elsewhere after a death, then look."""
        if self.params.megastep_rules:
            return ["act_by_megastep", camera_kernel("see_by_megastep")]
        return ["act", "settle", "go_on", camera_kernel("see")]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Start at a random place, and look."""
        if self.params.megastep_rules:
            return ["wake_by_megastep", camera_kernel("see_by_megastep")]
        return ["wake", camera_kernel("see")]

    def scripts(self) -> Mapping[str, Script]:
        """Opponents that do not learn: one stands, turns and shoots; one walks at random."""
        return {} if self.params.megastep_rules else {"turret": "turret", "walker": "walker"}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The home, the agents with their health, what they see, and the shots of this step.

        A hit is a broad line, with a ring if it killed; a miss is a thin one.
        """
        colours = ["player"] * self.params.players + ["rival"] * self.params.rivals
        marks = [*_shots(arrays), *_health_bars(arrays, colours)]
        return draw_indoor(self.params.plan_set, arrays, colours, self.params.fov, over_agents=marks)


def _changed_between_steps(name: str, bounds: tuple[float, float], doc: str) -> Array:
    """A number of the whole world, 0 until it is set."""
    return Array(name, "float32", per="world", initial=0.0, bounds=bounds, doc=doc)


def _verdict(name: str) -> Array:
    """Array of a verdict on the duel by the kills so far."""
    return Array(name, "float32", bounds=(0.0, 1.0), metric="last", doc="by kills in this episode")


def _shots(arrays: Mapping[str, np.ndarray]) -> list[Mark]:
    shot = np.asarray(arrays["shot"])
    start, end = np.asarray(arrays["shot_from"], dtype=float), np.asarray(arrays["shot_to"], dtype=float)
    missed, hit = shot == -1, shot >= 0
    killed = hit & np.asarray(arrays["agent_terminated"])[np.maximum(shot, 0)]

    def lines(which: np.ndarray, colour: str, width: float) -> Mark:
        (x, y), (to_x, to_y) = start[which].T, end[which].T
        return Segments(x, y, to_x, to_y, outline=colour, line_width=width)

    x, y = end[killed].T
    rings = Discs(x, y, 0.3, fill=None, outline="alarm", line_width=0.06)
    return [lines(missed, "muted", 0.02), lines(hit, "alarm", 0.06), rings]


def _health_bars(arrays: Mapping[str, np.ndarray], colours: Sequence[str]) -> list[Mark]:
    width, height, above = BAR
    x, y = np.asarray(arrays["positions"], dtype=float).T
    left, bottom, full = x - width / 2, y + above, np.asarray(arrays["health"], dtype=float)
    marks: list[Mark] = [Rectangles(left, bottom, width, height, fill="paper", outline="ink", line_width=0.02)]
    for i, colour in enumerate(colours):
        marks.append(Rectangles(left[i], bottom[i], width * full[i], height, fill=colour))
    return marks
