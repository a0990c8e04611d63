"""Tag in a square: taggers chase runners, and all steer by turning and accelerating.

Source: the "tag_continuous" environment of WarpDrive (Lan, Srinivasa, Wang, Zheng: "WarpDrive: Fast End-to-End Deep
Multi-Agent Reinforcement Learning on a GPU", JMLR 2022), with its parameters, array names and observations. Unlike
there, agents are ordered by group, taggers first; every tag of a step counts, even if several happen at once; a
runner tagged in the last step gets no reward for the end of the game; the time limit truncates an episode, while it
terminates when no runner is left; and episodes start at random unless ``start`` is "fixed".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete

from warpworld.drawing import Arrowheads, Discs, Drawing, Mark, Rectangles
from warpworld.environment import (
    MAX_THREADS_PER_ENV,
    MOST_AGENTS,
    Array,
    Environment,
    Group,
    Kernel,
    Phase,
    Range,
    Script,
    register,
)

NUM_BLOCKS = 7  # of an observation, see tag_continuous.cu
OWN_STATE = 6  # entries
MOST_LANES = 512  # of an env whose agents fit a block, on a GPU; see tag_continuous.cu
Agents = Annotated[int, Range(1, MOST_AGENTS - 1)]
Choices = Annotated[int, Range(0, 2**16)]
Finite = Annotated[float, Range()]
Length = Annotated[float, Range(1e-9, 1e9)]  # or speed, so that their squares are float32 numbers
NotPositive = Annotated[float, Range(high=0)]
NotNegative = Annotated[float, Range(0)]


@register("tag_continuous")
class TagContinuous(Environment):
    """Taggers try to come near runners; tagged runners lose reward and leave the game.

    Actions are a pair: which level of acceleration, which level of turning; 0 is no change.
    """

    source = "tag_continuous.cu"
    compile_time = ("use_full_observation", "num_other_agents_observed", "observe_own_state")

    @dataclass(frozen=True)
    class Params:
        """Parameters: names and defaults are WarpDrive's, ``start`` and ``observe_own_state`` apart."""

        num_taggers: Agents = 1  # agents that chase
        num_runners: Agents = 10  # agents that are chased
        grid_length: Length = 10.0  # length of each side
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 100  # steps until the time limit
        max_speed: Length = 1.0  # highest speed, in lengths per step
        skill_level_runner: NotNegative = 1.0  # factor on the runners' max_speed
        skill_level_tagger: NotNegative = 1.0  # factor on the taggers' max_speed
        max_acceleration: Finite = 1.0  # strongest acceleration, per step
        min_acceleration: Finite = -1.0  # strongest braking, as a negative number
        max_turn: Finite = math.pi / 2  # sharpest left turn per step, in radians
        min_turn: Finite = -math.pi / 2  # sharpest right turn per step, as a negative number
        num_acceleration_levels: Choices = 10  # choices from strongest braking to acceleration, besides none
        num_turn_levels: Choices = 10  # choices from sharpest right to left turn, besides none
        edge_hit_penalty: NotPositive = 0.0  # added to the reward of an agent at an edge: 0 or negative
        use_full_observation: bool = True  # true: all others, by index; false: the nearest
        num_other_agents_observed: Annotated[int, Range(1, 2**16)] = 2  # nearest others that are seen; 0 without one
        observe_own_state: bool = False  # true: also the agent's own place, speed and heading, which steering needs
        tagging_distance: Annotated[float, Range(0, 1)] = 0.01  # a tag needs a distance below this part of grid_length
        tag_reward_for_tagger: Finite = 1.0  # to the tagger nearest to a runner that it tags
        tag_penalty_for_runner: NotPositive = -1.0  # added to the reward of a tagged runner: 0 or negative
        step_penalty_for_tagger: NotPositive = 0.0  # added to every tagger's reward each step: 0 or negative
        step_reward_for_runner: NotNegative = 0.0  # to every runner each step: 0 or positive
        end_of_game_reward_for_runner: Finite = 1.0  # to those in the game at the time limit, not tagged in that step
        runner_exits_game_after_tagged: bool = True  # whether a tagged runner leaves the game until the episode ends
        start: Literal["random", "fixed"] = "random"  # random places, or fixed: one draw for every env and episode
        start_seed: Annotated[int, Range(0, 2**32 - 1)] = 0  # seed of the fixed start

        def __post_init__(self) -> None:
            beside = f" beside {self.num_taggers} taggers, {MOST_AGENTS} agents in all"
            Range(1, MOST_AGENTS - self.num_taggers).check("num_runners", self.num_runners, beside)
            Range(self.min_acceleration).check("max_acceleration", self.max_acceleration, ", the min_acceleration")
            Range(self.min_turn).check("max_turn", self.max_turn, ", the min_turn")

    def groups(self) -> Sequence[Group]:
        """Taggers, then runners."""
        p = self.params
        others = p.num_taggers + p.num_runners - 1 if p.use_full_observation else p.num_other_agents_observed
        own = OWN_STATE if p.observe_own_state else 0
        seen = Box(-np.inf, np.inf, (NUM_BLOCKS * others + own + 1,))
        action = MultiDiscrete([p.num_acceleration_levels + 1, p.num_turn_levels + 1])
        names = (
            ("none", *(f"acceleration {value:+.3g}" for value in self._effects("acceleration")[1:])),
            ("none", *(f"turn {value:+.3g}" for value in self._effects("turn")[1:])),
        )
        keys = _ends("down", "up", p.num_acceleration_levels), _ends("right", "left", p.num_turn_levels)
        sizes = {"tagger": p.num_taggers, "runner": p.num_runners}
        return [Group(name, size, seen, action, action_names=names, action_keys=keys) for name, size in sizes.items()]

    def _effects(self, what: str) -> np.ndarray:
        """Effects of the choices of an action head, "acceleration" or "turn"; (choices,) float32."""
        p = self.params
        ends = getattr(p, f"min_{what}"), getattr(p, f"max_{what}")
        return _levels(*ends, getattr(p, f"num_{what}_levels"))

    def arrays(self) -> Sequence[Array]:
        """The agents' state, and the tables that actions point into."""
        p = self.params
        side, circle = (0.0, float(np.float32(p.grid_length))), (0.0, 2.0 * math.pi)
        return [
            Array("loc_x", "float32", bounds=side, doc="place from left to right, lengths"),
            Array("loc_y", "float32", bounds=side, doc="place from bottom to top, lengths"),
            Array("speed", "float32", doc="lengths per step"),
            Array("direction", "float32", bounds=circle, doc="counter-clockwise from the x axis, radians"),
            Array("acceleration", "float32", doc="lengths per step, per step; it accumulates"),
            Array("still_in_the_game", "int32", bounds=(0, 1), doc="0 once a runner has been tagged and left"),
            Array(
                "num_runners",
                "int32",
                per="env",
                bounds=(0, p.num_runners),
                doc="runners still in the game",
                metric="last",
            ),
            Array(
                *("crowd", "uint8", (self._crowd_bytes(),)),
                per="env",
                doc="what threads share in a crowd; unused else",
                scratch=True,
            ),
            _table("agent_types", "int32", np.repeat([1, 0], [p.num_taggers, p.num_runners]), "1 tagger, 0 runner"),
            *(_table(name, "float32", values, doc) for name, (values, doc) in self._numbers().items()),
        ]

    def _numbers(self) -> dict[str, tuple[np.ndarray, str]]:
        """Effects of actions and, with a fixed start, places where agents start."""
        p = self.params
        found = {
            "acceleration_actions": (
                self._effects("acceleration"),
                "what each choice adds to the acceleration",
            ),
            "turn_actions": (self._effects("turn"), "radians that each choice turns by"),
        }
        if p.start == "fixed":
            found |= {name: (values, "of each agent") for name, values in fixed_start(p).items()}
        return found

    def phases(self) -> Sequence[Phase | Kernel]:
        """Movement, tags and observations."""
        return [self._kernel("step")]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Kernel of a reset, for either way to start."""
        return [self._kernel("reset_fixed" if self.params.start == "fixed" else "reset")]

    def _kernel(self, name: str) -> Kernel:
        """A kernel in which the threads of an env share its agents."""
        most = MAX_THREADS_PER_ENV if self._is_crowd else MOST_LANES
        return Kernel(name, threads_per_env=(1, min(self._num_agents, most)))

    @property
    def _num_agents(self) -> int:
        return self.params.num_taggers + self.params.num_runners

    @property
    def _is_crowd(self) -> bool:
        """Whether there are more agents than a block has threads."""
        return self._num_agents > MAX_THREADS_PER_ENV

    def _crowd_bytes(self) -> int:
        """CROWD_BYTES of tag_continuous.cu: room for what threads share in a crowd."""
        agents = self._num_agents
        nearest = 1 if self.params.use_full_observation else min(self.params.num_other_agents_observed, agents - 1)
        return 48 * agents + agents * nearest // 4 * 8 + 64 * nearest + 256 if self._is_crowd else 8

    def scripts(self) -> Mapping[str, Script]:
        """greedy: taggers steer for the nearest runner in the game, runners away from the nearest tagger, at speed."""
        return {"greedy": self._kernel("greedy")}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The square, and a dart for each agent in the game; around taggers their reach, and a ring for each tag."""
        p, x, y = self.params, arrays["loc_x"], arrays["loc_y"]
        side, unit = p.grid_length, p.grid_length / 50.0  # the size of things, which have none in the game
        is_tagger = np.arange(len(x)) < p.num_taggers
        playing = arrays["still_in_the_game"] != 0
        tagged = arrays["agent_terminated"] & ~is_tagger
        marks: list[Mark] = [
            Rectangles(0.0, 0.0, side, side, fill="ground", outline="muted", line_width=0.1 * unit),
            Discs(x[is_tagger], y[is_tagger], p.tagging_distance * side, fill="tagger", opacity=0.15),
        ]
        for group, who, length in (("runner", ~is_tagger & playing, 1.5), ("tagger", is_tagger, 2.2)):
            marks.append(Arrowheads(x[who], y[who], length * unit, arrays["direction"][who], fill=group))
        marks.append(Discs(x[tagged], y[tagged], 1.2 * unit, fill=None, outline="alarm", line_width=0.3 * unit))
        places = np.where(playing | is_tagger, x, np.nan), y
        return Drawing((-unit, -unit, side + unit, side + unit), marks, places=places)


def fixed_start(params: TagContinuous.Params) -> dict[str, np.ndarray]:
    """WarpDrive's start for ``params.start_seed``, in the order taggers, runners.

    Its draws, in its order, from NumPy's ``RandomState``: which agents are taggers, all x, all y, all directions.
    Within a group agents keep the order that they have there.

    Returns:
        start_x, start_y (lengths) and start_direction (radians), each (num_agents,) float32.
    """
    generator = np.random.RandomState(params.start_seed)
    num_agents = params.num_taggers + params.num_runners
    taggers = np.sort(generator.choice(num_agents, params.num_taggers, replace=False))
    x = params.grid_length * generator.rand(num_agents)
    y = params.grid_length * generator.rand(num_agents)
    direction = generator.choice([0.0, math.pi / 2, math.pi, math.pi * 3 / 2], num_agents, replace=True)
    order = np.concatenate([taggers, np.setdiff1d(np.arange(num_agents), taggers)])
    drawn = {"start_x": x, "start_y": y, "start_direction": direction}
    return {name: values[order].astype(np.float32) for name, values in drawn.items()}


def _levels(low: float, high: float, count: int) -> np.ndarray:
    """Effects of the choices of an action head: nothing, then ``count`` even levels; (count + 1,) float32."""
    return np.concatenate([[0.0], np.linspace(low, high, count)]).astype(np.float32)


def _ends(low: str, high: str, count: int) -> tuple[str, ...]:
    """Keys of the choices of an action head: of its lowest and its highest level, none of the others."""
    return ("", low, *("" for _ in range(count - 2)), *((high,) if count > 1 else ()))


def _table(name: str, dtype: str, values: np.ndarray, doc: str) -> Array:
    """Values that are the same for all envs and that nothing changes."""
    return Array(name, dtype, values.shape, per="world", initial=values, read_only=True, doc=doc)
