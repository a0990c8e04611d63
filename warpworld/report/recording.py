"""Plays whole episodes of one env and keeps what each step looked like."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.config import RunConfig, load_config
from warpworld.drawing import ArrayDrawer, Drawing, check_colours, colour_table
from warpworld.environment import Environment, Group
from warpworld.errors import DeclarationError, StoreError, suggest
from warpworld.report.recorded_arrays import Column, columns_of
from warpworld.report.values import states_before, unknown_values, values_of
from warpworld.runs import Run, Which
from warpworld.trainers import build_actors, build_world, load_policies
from warpworld.trainers.collecting import Actor
from warpworld.trainers.searching import play_by_search
from warpworld.world import BOOKKEEPING, ON_REQUEST, World, reserved_arrays

if TYPE_CHECKING:
    from warpworld.trainers.collecting import Player

MAX_FRAMES = 5000  # of a recording, so that one of endless episodes ends

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Frame:
    """Step of the env that was recorded.

    Attributes:
        episode: number of the episode, from 1.
        timestep: steps of this episode; 0 is its start.
        drawing: what the env looks like.
        rewards: (num_agents,) float32, of this step; 0 where they do not count.
        returns: (num_agents,) float64, rewards of this episode up to here.
        end: "terminated" or "truncated" in an episode's last frame, else "".
    """

    episode: int
    timestep: int
    drawing: Drawing = field(repr=False)
    rewards: np.ndarray
    returns: np.ndarray
    end: str = ""


@dataclass(frozen=True, eq=False)
class Recording:
    """Episodes of one env, step by step.

    Attributes:
        title: the environment's name.
        about: who acts, from which seed.
        groups: agent groups by name.
        frames: for each episode its start and then each of its steps.
        drawn: whether the environment drew itself; else its arrays' values are shown.
        columns: arrays of the env and its agents by name, over the frames.
    """

    title: str
    about: str
    groups: Mapping[str, Group]
    frames: Sequence[Frame]
    drawn: bool
    columns: Mapping[str, Column] = field(default_factory=dict)

    @property
    def episodes(self) -> int:
        """Episodes that it holds, an unfinished last one included."""
        return self.frames[-1].episode

    def __repr__(self) -> str:
        episodes = f"{self.episodes} episode{'s' * (self.episodes != 1)}"
        return f"<Recording {self.title}: {episodes}, {len(self.frames):,} frames, {self.about}>"

    def _repr_html_(self) -> str | None:
        """A player in a notebook; None where the notebook would get too large, which then shows the line above."""
        from warpworld.report.replay import notebook_player

        return notebook_player(self)

    def group_returns(self, frame: Frame) -> dict[str, float]:
        """Returns of the groups up to a frame: the mean over each group's agents."""
        return {name: float(frame.returns[group.slice].mean()) for name, group in self.groups.items()}


class FrameArrays(dict[str, np.ndarray]):
    """Arrays of one env at one step, by name; an unknown name is an error that lists them."""

    def __missing__(self, name: str) -> np.ndarray:
        """Raise a StoreError that names the nearest array."""
        raise StoreError(f"draw(): no array '{name}'.{suggest(str(name), self)} Arrays: {', '.join(self)}")


def record(
    config: RunConfig,
    policies: Mapping[str, Player],
    episodes: int = 1,
    seed: int = 0,
    greedy: bool = False,
    about: str = "",
    steps: int | None = None,
) -> Recording:
    """Play one env from its start, and record every step of it.

    The frame of an episode's last step shows the env before it was reset: the world copies its arrays aside between
    the two, as it does for a rollout, so the episodes are those of a world that is not recorded.

    Args:
        config: the environment, its parameters and the device.
        policies: by the names in ``config.policy``, or who plays instead of one; None acts at random.
        episodes: episodes to play, one after the other.
        seed: of the env and of the actions drawn.
        greedy: take the likeliest actions instead of drawing; random ones stay random.
        about: is put into the recording.
        steps: after which the recording stops, whether its last episode has ended or not; None for no limit.

    Returns:
        The recording; one that ``MAX_FRAMES`` cut is whole but for its last episode, which is logged.

    Raises:
        DeclarationError: ``draw`` returns something other than a Drawing, or one with an unknown colour.
        StoreError: ``draw`` asks for an array that is not there.
    """
    world = build_world(config, num_envs=1, seed=seed)
    actors = build_actors(world, config, policies, greedy)
    watch = _Watch(world)
    world.reset()
    played = _play(world, actors, watch, episodes, config, steps)
    frames, drawn = _drawn(world, played)
    arrays, values = [step.arrays for step in played], [step.values for step in played]
    return Recording(config.title, about, world.groups, frames, drawn, columns_of(world, arrays, values))


@dataclass(frozen=True, eq=False)
class _Step:
    """A frame that is not drawn yet; ``values`` are what policies expect from here on, set when agents act."""

    episode: int
    arrays: FrameArrays
    rewards: np.ndarray
    returns: np.ndarray
    end: str
    values: np.ndarray


def _play(
    world: World, actors: Sequence[Actor], watch: _Watch, episodes: int, config: RunConfig, most_steps: int | None
) -> list[_Step]:
    nothing = np.zeros(world.num_agents)

    def start(episode: int) -> _Step:
        return _Step(episode, watch.of_start(), nothing, nothing, "", unknown_values(world))

    steps = [start(1)]
    finished = 0
    while finished < episodes and len(steps) - steps[-1].episode != most_steps:
        # the next episode
        if steps[-1].end:
            steps.append(start(finished + 1))
        if len(steps) >= MAX_FRAMES:
            _log.warning("recording stopped after %d frames; its last episode is not whole", len(steps))
            break
        # actions, and values of the states that they are chosen in
        before = states_before(actors)
        for actor in actors:
            actor.act()
        steps[-1].values[:] = values_of(world, actors, config, before)
        # the step
        world.step()
        arrays = watch.of_step()
        arrays["timestep"] = steps[-1].arrays["timestep"] + 1  # of an ended env the world has set it back already
        rewards = arrays["rewards"]
        if "agent_mask" in arrays:
            rewards = np.where(arrays["agent_mask"], rewards, 0.0)
        # its frame
        end = "terminated" if arrays["terminated"] else "truncated" if arrays["truncated"] else ""
        steps.append(_Step(steps[-1].episode, arrays, rewards, steps[-1].returns + rewards, end, unknown_values(world)))
        finished += bool(end)
    return steps


class _Watch:
    """Reads one env's arrays, of a step or as they stand now."""

    def __init__(self, world: World) -> None:
        """Take an unsealed world."""
        self._world = world
        declared = [*reserved_arrays(world.groups, world.constants), *world.environment.arrays()]
        names = [array.name for array in declared if array.name not in BOOKKEEPING]
        names += [name for name in ON_REQUEST if name in world.data]
        self._copies = world.recorded_arrays(names)

    def of_step(self) -> FrameArrays:
        """Arrays as they were after the last step's phases, before an ended env was reset."""
        return self._read({name: copy and self._world[copy][0] for name, copy in self._copies.items()})

    def of_start(self) -> FrameArrays:
        """Arrays at the start of an episode, before its first step."""
        arrays = self._read({name: copy and self._world[name][0] for name, copy in self._copies.items()})
        for name in {"rewards", "terminated", "truncated", "agent_terminated", "agent_truncated"} & arrays.keys():
            arrays[name] = np.zeros_like(arrays[name])
        return arrays

    def _read(self, views: Mapping[str, Any]) -> FrameArrays:
        """Copies of the views; where there is none, of the world's own array."""
        found = {name: self._world[name] if view is None else view for name, view in views.items()}
        return FrameArrays({name: view.cpu().numpy().copy() for name, view in found.items()})


def _drawn(world: World, steps: Sequence[_Step]) -> tuple[list[Frame], bool]:
    """The frames, and whether the environment drew them itself."""
    environment = world.environment
    first = _checked(environment, world, steps[0].arrays)
    fallback = None if first else ArrayDrawer([step.arrays for step in steps])
    frames = []
    for step in steps:
        drawing = fallback.draw(step.arrays) if fallback else _checked(environment, world, step.arrays)
        if drawing is None:
            raise DeclarationError(f"{environment.name}: draw() returned a Drawing at first, and now None")
        timestep = int(step.arrays["timestep"])
        frames.append(Frame(step.episode, timestep, drawing, step.rewards, step.returns, step.end))
    return frames, fallback is None


def _checked(environment: Environment, world: World, arrays: FrameArrays) -> Drawing | None:
    """Drawing that ``draw`` makes of the arrays, checked to be one."""
    drawing: Any = environment.draw(arrays)
    if drawing is None or isinstance(drawing, Drawing):
        if drawing is not None:
            check_colours(drawing, colour_table(world.groups))
        return drawing
    raise DeclarationError(
        f"{environment.name}: draw() returned {type(drawing).__name__}, expected a warpworld.drawing.Drawing"
    )


def record_run(
    run: Run,
    overrides: Sequence[str] = (),
    episodes: int = 1,
    seed: int = 0,
    greedy: bool = False,
    checkpoint: Which = None,
    steps: int | None = None,
    simulations: int | None = None,
) -> Recording:
    """Record a run's policies, on the device that works best here; with random actions if it has no checkpoint.

    Args:
        run: an open run folder.
        overrides: of its configuration, such as "env.num_runners=20".
        episodes: episodes to play.
        seed: of the env and of the actions drawn.
        greedy: take the likeliest actions instead of drawing them.
        checkpoint: iteration of the checkpoint; None takes the latest, "best" that with the best evaluation.
        steps: after which the recording stops, as in ``record``.
        simulations: of the search by which policies play, as in ``evaluate``.

    Raises:
        WarpworldError: the checkpoint cannot be read or does not fit, an override is wrong, or ``draw`` is.
    """
    config = load_config(run.path / "config.yaml", ["trainer.device=auto", *overrides])
    iterations = run.checkpoints()
    if not iterations and checkpoint is None:
        return record_random(config, episodes, seed, "no checkpoint yet, random actions", steps)
    policies = load_policies(Run(run.path, config), checkpoint)
    if simulations is not None:
        play_by_search(policies, simulations)
    how = "likeliest actions" if greedy else "actions drawn"
    iteration = iterations[-1] if checkpoint is None else checkpoint
    who = "best evaluation" if iteration == "best" else f"iteration {iteration:,}"
    return record(config, policies, episodes, seed, greedy, f"{who}, {how}, seed {seed}", steps)


def record_random(
    config: RunConfig, episodes: int = 1, seed: int = 0, why: str = "random actions", steps: int | None = None
) -> Recording:
    """Record random actions in the env of a config."""
    return record(config, dict.fromkeys(config.policy), episodes, seed, about=f"{why}, seed {seed}", steps=steps)
