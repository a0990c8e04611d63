"""The rules of tag_gridworld in NumPy and float64, written from their description and not from the kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpworld.envs.tag_gridworld.tag_gridworld import TagGridworld

MOVES = np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])  # of each action, along x and y


@dataclass(frozen=True)
class Outcome:
    """What a step makes of ``envs`` envs, before any reset.

    Attributes:
        loc_x: (envs, agents) cells.
        loc_y: (envs, agents) cells.
        rewards: (envs, agents).
        observations: (envs, agents, features).
        terminated: (envs,) bool, the runner was tagged.
        truncated: (envs,) bool, the time limit came first.
    """

    loc_x: np.ndarray
    loc_y: np.ndarray
    rewards: np.ndarray
    observations: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


def step(
    params: TagGridworld.Params, loc_x: np.ndarray, loc_y: np.ndarray, actions: np.ndarray, timestep: np.ndarray
) -> Outcome:
    """One step.

    Args:
        params: the world's.
        loc_x: (envs, agents) cells before the step.
        loc_y: (envs, agents) cells before the step.
        actions: (envs, agents).
        timestep: (envs,) steps of the episode, this one included.
    """
    wanted = np.stack([loc_x, loc_y], -1) + MOVES[actions]
    cells = np.clip(wanted, 0, params.grid_length)
    wall_hits = (cells != wanted).sum(-1)
    tagged = (cells[:, :-1] == cells[:, -1:]).all(-1).any(-1)
    rewards = np.where(tagged[:, None], params.tag_reward_for_tagger, -params.step_cost_for_tagger)
    rewards = np.repeat(rewards, params.num_taggers + 1, axis=1)
    rewards[:, -1] = np.where(tagged, -params.tag_penalty_for_runner, params.step_cost_for_tagger)
    time = timestep / params.episode_length
    return Outcome(
        loc_x=cells[..., 0],
        loc_y=cells[..., 1],
        rewards=rewards - params.wall_hit_penalty * wall_hits,
        observations=observe(params, cells[..., 0], cells[..., 1], time),
        terminated=tagged,
        truncated=(timestep >= params.episode_length) & ~tagged,
    )


def observe(params: TagGridworld.Params, loc_x: np.ndarray, loc_y: np.ndarray, time: np.ndarray) -> np.ndarray:
    """What all agents see: (envs, agents, features) float64.

    Args:
        params: the world's.
        loc_x: (envs, agents) cells.
        loc_y: (envs, agents) cells.
        time: (envs,) part of the episode that has passed.
    """
    see = _see_all if params.use_full_observation else _see_nearest
    return np.array([see(params, x, y, t) for x, y, t in zip(loc_x, loc_y, time, strict=True)])


def _see_all(params: TagGridworld.Params, x: np.ndarray, y: np.ndarray, time: float) -> list[np.ndarray]:
    types = np.array([0.0] * params.num_taggers + [1.0])
    scaled = [x / params.grid_length, y / params.grid_length, types]
    return [np.concatenate([*scaled, np.arange(len(x)) == i, [time]]) for i in range(len(x))]


def _see_nearest(params: TagGridworld.Params, x: np.ndarray, y: np.ndarray, time: float) -> list[np.ndarray]:
    runner = len(x) - 1
    squared = (x[:-1] - x[runner]) ** 2 + (y[:-1] - y[runner]) ** 2
    rows = []
    for i in range(len(x)):
        other = int(np.argmin(squared)) if i == runner else runner  # argmin takes the first of several
        cells = np.array([x[i], y[i], x[other], y[other]]) / params.grid_length
        rows.append(np.concatenate([cells, [float(i == runner), time]]))
    return rows
