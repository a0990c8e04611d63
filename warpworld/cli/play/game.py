"""A game: one env that is stepped as a person plays an agent of it, and what a page needs to show each step."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium.spaces import Discrete

from warpworld.cli.play.controls import heads_of
from warpworld.cli.play.live_drawing import LiveDrawing
from warpworld.cli.play.seats import Seat, find_seat
from warpworld.drawing import colour_table
from warpworld.environment import action_heads, placed_groups
from warpworld.errors import RunError
from warpworld.report import Recording, Step, Stepping, encode_marks, recording_of
from warpworld.trainers import actor_of, build_world

if TYPE_CHECKING:
    from warpworld.cli.play.others import Other
    from warpworld.config import RunConfig
    from warpworld.drawing import Drawing

MOST_KEPT = 5000  # steps of an episode that are kept to be saved
MOST_MARKS = 2000  # that a page remembers


class Game:
    """An env and those who play it.

    Attributes:
        title: of the environment.
        seat: of the person.
        heads: what the person chooses from.
        world: with one env.
        seed: of the env and of the actions drawn.

    Args:
        config: of the environment.
        others: players of all groups, by name; that of the person's group plays the group's other agents.
        wanted: the person's agent, see ``find_seat``.
        seed: of the env and of the actions drawn.

    Raises:
        RunError: there is no such agent, or its actions cannot be played.
    """

    def __init__(
        self, config: RunConfig, others: Mapping[str, Other], wanted: str | None = None, seed: int = 0
    ) -> None:
        self.title = config.title
        environment = config.make_environment()
        self.seat: Seat = find_seat(placed_groups(environment), wanted)
        self.heads = heads_of(environment, self.seat.group)
        self.world = build_world(config, num_envs=1, seed=seed)
        self._others, self.seed = others, seed
        self._actors = [actor_of(self.world, name, other.player, other.greedy) for name, other in others.items()]
        self._stepping = Stepping(self.world, self._actors)
        self.world.reset()
        self._drawing = LiveDrawing(self.world, self.seat.agent)
        self._known: dict[str, int] = {}
        self._last: Step = self._stepping.start(1)
        self._kept = [self._last]

    def close(self) -> None:
        """Release the world."""
        self.world.close()

    # ---- playing -----------------------------------------------------------------------------------------------------
    @property
    def has_ended(self) -> bool:
        """Whether the episode is over."""
        return bool(self._last.end)

    @property
    def episode(self) -> int:
        """Number of the episode, from 1."""
        return self._last.episode

    def again(self) -> dict[str, Any]:
        """Start the next episode, whether this one has ended or not.

        Returns:
            Its first frame, see ``frame``.
        """
        if not self.has_ended:  # an ended env has been reset by the step that ended it
            self.world.reset()
            for actor in self._actors:
                if actor.memory is not None:
                    actor.memory.state.zero_()
        self._begin(self.episode + 1)
        return self.frame()

    def step(self, choices: Any) -> dict[str, Any]:
        """Step the env.

        Args:
            choices: the person's, one for each head.

        Returns:
            The next frame, see ``frame``.

        Raises:
            RunError: the episode has ended, or choices are none of the agent's or not legal.
        """
        if self.has_ended:
            raise RunError("the episode has ended; start the next one")
        self._check(choices)
        self._last = self._stepping.after(self._last, lambda: self._write(choices))
        if len(self._kept) <= MOST_KEPT:
            self._kept.append(self._last)
        return self.frame()

    def _begin(self, episode: int) -> None:
        self._last = self._stepping.start(episode)
        self._kept = [self._last]
        self._drawing.begin()

    def _check(self, choices: Any) -> None:
        sizes, legal = [len(head.names) for head in self.heads], self._legal()
        are_whole = isinstance(choices, list) and all(type(choice) is int for choice in choices)
        if not are_whole or len(choices) != len(sizes):
            raise RunError(f"choices {choices!r}, expected {len(sizes)} whole numbers")
        for choice, size, allowed in zip(choices, sizes, legal, strict=True):
            if not 0 <= choice < size or (any(allowed) and not allowed[choice]):
                raise RunError(f"choice {choice} is not legal")

    def _write(self, choices: Sequence[int]) -> None:
        """Put the person's action in place of what the group's player chose, and of what it valued most."""
        values = [head.values[choice] for head, choice in zip(self.heads, choices, strict=True)]
        (view,) = self.world.actions(self.seat.group.name).values()
        view[0, self.seat.index] = torch.tensor(values, dtype=torch.float64).to(view)
        if self.seat.group.greedy_actions is not None:
            greedy = self.world[self.seat.group.greedy_actions]
            greedy[0, self.seat.agent] = view[0, self.seat.index].reshape(greedy.shape[2:])

    # ---- what a page shows -------------------------------------------------------------------------------------------
    def about(self) -> dict[str, Any]:
        """All that stays the same: title, groups, colours, controls, and who plays the other agents."""
        groups = self.world.groups.values()
        return {
            "title": self.title,
            "groups": [
                {"name": group.name, "first": group.first, "size": group.size, "stride": group.stride}
                for group in groups
            ],
            "colours": {name: list(pair) for name, pair in colour_table(self.world.groups).items()},
            "heads": [head.as_json() for head in self.heads],
            "agent": self.seat.agent,
            "name": self.seat.name,
            "others": self.others(),
        }

    def others(self) -> list[str]:
        """Players of the groups, but for the person: a text for each group that has other agents."""
        own = self.seat.group
        return [
            f"{'other ' if name == own.name else ''}{name}: {self._others[name].about}"
            for name, group in self.world.groups.items()
            if name != own.name or group.size > 1
        ]

    def forget_marks(self) -> None:
        """Send all marks again with the next frame."""
        self._known.clear()

    def frame(self) -> dict[str, Any]:
        """The picture and the facts of the last step, for the page.

        Returns:
            view, seconds, shown (indices of marks), marks (those that are new) and known (how many there were before);
            places, choices and sight as the drawing has them; episode, timestep, end, returns of all agents and the
            reward of the person's; legal, truth values by head and choice; and is_out, whether the agent takes no part.
        """
        if len(self._known) > MOST_MARKS:
            self.forget_marks()
        drawing, last = self._drawing.of(self._last.arrays), self._last
        before = len(self._known)
        shown = encode_marks(drawing, self._known)
        return {
            "view": list(drawing.view),
            "seconds": drawing.seconds,
            "shown": shown,
            "marks": [json.loads(text) for text in itertools.islice(self._known, before, None)],
            "known": before,
            "places": None if drawing.places is None else _numbers(drawing.places.ravel()),
            "choices": self._places_of_choices(drawing),
            "sight": self._sight(),
            "episode": last.episode,
            "timestep": int(last.arrays["timestep"]),
            "end": last.end,
            "returns": _numbers(last.returns),
            "reward": float(last.rewards[self.seat.agent]),
            "legal": self._legal(),
            "is_out": self._is_out(),
        }

    def _places_of_choices(self, drawing: Drawing) -> list[list[float | None]] | None:
        """Rectangles of the choices in the picture; None where taps take none."""
        is_single = isinstance(self.seat.group.action, Discrete)
        if drawing.choices is None or not is_single or len(drawing.choices) != len(self.heads[0].names):
            return None
        return [_numbers(row) for row in drawing.choices]

    def _sight(self) -> dict[str, Any] | None:
        """The picture of what the person's agent sees; None where the environment draws none."""
        sight = self._drawing.sight(self._last.arrays)
        if sight is None:
            return None
        own: dict[str, int] = {}
        return {
            "view": list(sight.view),
            "shown": encode_marks(sight, own),
            "marks": [json.loads(text) for text in own],
        }

    def _legal(self) -> list[list[bool]]:
        sizes = [len(head.names) for head in self.heads]
        mask = self._last.arrays.get("action_mask")
        if mask is None or list(action_heads(self.seat.group.action)) != sizes:
            return [[True] * size for size in sizes]
        ends = np.cumsum(sizes)
        return [part.tolist() for part in np.split(mask[self.seat.agent][: ends[-1]], ends[:-1])]

    def _is_out(self) -> bool:
        mask = self._last.arrays.get("agent_mask")
        return mask is not None and bool(self._last.arrays["timestep"] > 0) and not mask[self.seat.agent]

    # ---- saving ------------------------------------------------------------------------------------------------------
    @property
    def steps(self) -> list[Step]:
        """The episode's start and its steps so far, ``MOST_KEPT`` at most."""
        return self._kept

    def recording(self) -> Recording:
        """The episode so far, as a replay shows it."""
        who = "; ".join([f"{self.seat.name}: played by hand", *self.others()])
        steps = [_first_episode(step) for step in self._kept]
        return recording_of(self.world, steps, self.title, f"{who}; seed {self.seed}, episode {self.episode}")


def _first_episode(step: Step) -> Step:
    """The step with 1 as the number of its episode: a recording holds no other."""
    return Step(1, step.arrays, step.rewards, step.returns, step.end, step.values)


def _numbers(values: np.ndarray) -> list[float | None]:
    """Five digits each; None for NaN."""
    return [None if math.isnan(value) else float(f"{value:.5g}") for value in values.tolist()]
