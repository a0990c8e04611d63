"""Plays whole episodes of one env and keeps what each step looked like."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.config import RunConfig, load_config
from warpworld.drawing import ArrayDrawer, Drawing, check_colours, colour_table
from warpworld.environment import Group
from warpworld.errors import DeclarationError
from warpworld.report.recorded_arrays import Column, columns_of
from warpworld.report.stepping import FrameArrays, Step, Stepping
from warpworld.runs import Run, Which
from warpworld.trainers import build_actors, build_world, load_policies
from warpworld.trainers.searching import play_by_search
from warpworld.world import World

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
    stepping = Stepping(world, actors, config)
    world.reset()
    return recording_of(world, _play(stepping, episodes, steps), config.title, about)


def recording_of(world: World, steps: Sequence[Step], title: str, about: str) -> Recording:
    """The recording of steps of a world's env.

    Args:
        world: whose only env was stepped.
        steps: for each episode its start and then each of its steps.
        title: of the recording.
        about: who acts, from which seed.

    Raises:
        DeclarationError: as of ``record``.
        StoreError: as of ``record``.
    """
    frames, drawn = _drawn(world, steps)
    arrays, values = [step.arrays for step in steps], [step.values for step in steps]
    return Recording(title, about, world.groups, frames, drawn, columns_of(world, arrays, values))


def _play(stepping: Stepping, episodes: int, most_steps: int | None) -> list[Step]:
    steps = [stepping.start(1)]
    finished = 0
    while finished < episodes and len(steps) - steps[-1].episode != most_steps:
        # the next episode
        if steps[-1].end:
            steps.append(stepping.start(finished + 1))
        if len(steps) >= MAX_FRAMES:
            _log.warning("recording stopped after %d frames; its last episode is not whole", len(steps))
            break
        # the next step
        steps.append(stepping.after(steps[-1]))
        finished += bool(steps[-1].end)
    return steps


def _drawn(world: World, steps: Sequence[Step]) -> tuple[list[Frame], bool]:
    """The frames, and whether the environment drew them itself."""
    environment = world.environment
    first = checked_drawing(world, steps[0].arrays)
    fallback = None if first else ArrayDrawer([step.arrays for step in steps])
    frames = []
    for step in steps:
        drawing = fallback.draw(step.arrays) if fallback else checked_drawing(world, step.arrays)
        if drawing is None:
            raise DeclarationError(f"{environment.name}: draw() returned a Drawing at first, and now None")
        timestep = int(step.arrays["timestep"])
        frames.append(Frame(step.episode, timestep, drawing, step.rewards, step.returns, step.end))
    return frames, fallback is None


def checked_drawing(world: World, arrays: FrameArrays, agent: int | None = None) -> Drawing | None:
    """Drawing that an environment's ``draw`` makes of the arrays, checked to be one.

    Args:
        world: whose env is drawn.
        arrays: of the env.
        agent: whose ``draw_for`` is called instead of ``draw``; None for ``draw``.

    Raises:
        DeclarationError: it is none, or has an unknown colour.
    """
    environment = world.environment
    drawing: Any = environment.draw(arrays) if agent is None else environment.draw_for(arrays, agent)
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
