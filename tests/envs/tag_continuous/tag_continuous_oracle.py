"""The rules of tag_continuous in NumPy and float64, written from their description and not from the kernel.

A step comes in two halves, ``move`` and ``judge``, so that the second can start from where the kernel's agents are.
Both say where an outcome hangs on less than ``CLOSE``, so that float32 may decide it otherwise.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from warpworld.envs.tag_continuous.tag_continuous import TagContinuous

CLOSE = 1e-5


@dataclass(frozen=True)
class State:
    """Agents of some envs; every array is (envs, agents).

    Attributes:
        x: lengths.
        y: lengths.
        speed: lengths per step.
        direction: radians.
        acceleration: lengths per step, per step.
        in_game: bool, has not been tagged and left.
    """

    x: np.ndarray
    y: np.ndarray
    speed: np.ndarray
    direction: np.ndarray
    acceleration: np.ndarray
    in_game: np.ndarray


@dataclass(frozen=True)
class Moved:
    """What ``move`` makes of a state; (envs, agents).

    Attributes:
        state: where agents are then.
        outside: bool, the agent would have left the square.
        close_outside: bool, that is a close decision.
        close_acceleration: bool, whether the acceleration is lost is one.
    """

    state: State
    outside: np.ndarray
    close_outside: np.ndarray
    close_acceleration: np.ndarray


@dataclass(frozen=True)
class Outcome:
    """What ``judge`` makes of a step.

    Attributes:
        rewards: (envs, agents), but for what the edge costs.
        in_game: (envs, agents) bool, after the step.
        num_runners: (envs,) runners in the game after the step.
        terminated: (envs,) bool.
        truncated: (envs,) bool.
        close: (envs, agents) bool, a tag that this agent may have a part in is a close decision.
    """

    rewards: np.ndarray
    in_game: np.ndarray
    num_runners: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    close: np.ndarray


def rounded(params: TagContinuous.Params) -> SimpleNamespace:
    """The parameters as the kernel gets them: floats rounded to float32."""
    given = dataclasses.asdict(params)
    return SimpleNamespace(**{k: float(np.float32(v)) if isinstance(v, float) else v for k, v in given.items()})


def move(params: TagContinuous.Params, before: State, accelerate: np.ndarray, turn: np.ndarray) -> Moved:
    """First half of a step: everybody moves.

    Args:
        params: the world's.
        before: everybody before the step.
        accelerate: (envs, agents), change of acceleration.
        turn: (envs, agents), radians.
    """
    p = rounded(params)
    is_tagger = np.arange(before.x.shape[1]) < p.num_taggers
    fastest = p.max_speed * np.where(is_tagger, p.skill_level_tagger, p.skill_level_runner)
    alive = before.in_game
    acceleration = before.acceleration + accelerate
    direction = np.mod(before.direction + turn, 2 * math.pi) * alive
    wanted = before.speed + acceleration
    speed = np.clip(wanted, 0.0, fastest) * alive
    stuck = (speed <= 0.0) | (speed >= fastest)
    limit = np.where(wanted < fastest / 2, 0.0, fastest)
    is_exact = (wanted == limit) & (acceleration.astype(np.float32) == acceleration)  # in float32 too
    x, out_x, close_x = _stop(before.x, speed * np.cos(direction), p.grid_length)
    y, out_y, close_y = _stop(before.y, speed * np.sin(direction), p.grid_length)
    after = State(x, y, speed, direction, np.where(stuck, 0.0, acceleration), alive)
    return Moved(
        after,
        outside=(out_x | out_y) & alive,
        close_outside=(close_x | close_y) & alive,
        close_acceleration=(np.abs(wanted - limit) < CLOSE) & ~is_exact & (np.abs(acceleration) > CLOSE) & alive,
    )


def _stop(start: np.ndarray, path: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Along one axis: where agents come to, whether an edge stops them, and whether that is close."""
    end = start + path
    close = (path != 0.0) & ((np.abs(end) < CLOSE) | (np.abs(end - side) < CLOSE))
    return np.clip(end, 0.0, side), (end < 0.0) | (end > side), close


def distances(state: State) -> np.ndarray:
    """(envs, agents, agents): from each to each."""
    return np.hypot(state.x[:, :, None] - state.x[:, None, :], state.y[:, :, None] - state.y[:, None, :])


def _is_tie(gap: np.ndarray) -> np.ndarray:
    """Close, but no exact tie: for that one there is a rule."""
    return (gap > 0.0) & (gap < CLOSE)


def judge(params: TagContinuous.Params, state: State, timestep: np.ndarray) -> Outcome:
    """Second half of a step: who is tagged, and what everybody gets.

    Args:
        params: the world's.
        state: everybody after moving, in the game or not as before the step.
        timestep: (envs,) steps of the episode, this one included.
    """
    p = rounded(params)
    taggers, margin = p.num_taggers, p.tagging_distance * p.grid_length
    alive, last = state.in_game, timestep >= p.episode_length
    apart = distances(state)[:, taggers:, :taggers]
    nearest, near = apart.argmin(-1), np.sort(apart, axis=-1)  # argmin takes the first of several
    tagged = (near[..., 0] < margin) & alive[:, taggers:]
    caught = np.eye(taggers)[nearest] * tagged[..., None]

    rewards = np.zeros(alive.shape)
    rewards[:, :taggers] = p.step_penalty_for_tagger + p.tag_reward_for_tagger * caught.sum(1)
    runners = p.step_reward_for_runner + p.tag_penalty_for_runner * tagged
    runners = runners + p.end_of_game_reward_for_runner * (last[:, None] & ~tagged)
    rewards[:, taggers:] = runners
    after = alive.copy()
    if p.runner_exits_game_after_tagged:
        after[:, taggers:] &= ~tagged

    close = np.zeros(alive.shape, bool)
    close_runner = np.abs(near[..., 0] - margin) < CLOSE
    if taggers > 1:
        close_runner |= _is_tie(near[..., 1] - near[..., 0]) & (near[..., 0] < margin + CLOSE)
    close_runner &= alive[:, taggers:]
    close[:, taggers:] = close_runner
    close[:, :taggers] = (close_runner[..., None] & (apart < margin + CLOSE)).any(1)
    num_runners = after[:, taggers:].sum(1)
    return Outcome(rewards * alive, after, num_runners, num_runners == 0, last & (num_runners > 0), close)


def observe(params: TagContinuous.Params, state: State, timestep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What everybody sees.

    Args:
        params: the world's.
        state: everybody after moving, in the game or not as before the step.
        timestep: (envs,) steps of the episode, this one included.

    Returns:
        (envs, agents, features) float64, and (envs, agents) bool where it is close who is among the nearest.
    """
    p = rounded(params)
    num_envs, agents = state.x.shape
    side, speed = math.sqrt(2) * p.grid_length, p.max_speed + 1e-10
    values = [state.x / side, state.y / side, state.speed / speed]
    values += [state.acceleration / speed, state.direction / (2 * math.pi)]
    seen = np.stack([value[:, None, :] - value[:, :, None] for value in values], 2)  # (envs, self, feature, other)
    types = np.broadcast_to((np.arange(agents) < p.num_taggers).astype(float), (num_envs, agents, agents))
    alive = np.broadcast_to(state.in_game[:, None, :].astype(float), (num_envs, agents, agents))
    time = np.broadcast_to((timestep / p.episode_length)[:, None], (num_envs, agents))
    if p.use_full_observation:
        seen = np.concatenate([seen * state.in_game[:, :, None, None], np.stack([types, alive], 2)], 2)
        others = np.array([[j for j in range(agents) if j != i] for i in range(agents)])
        blocks = np.take_along_axis(seen, others[None, :, None, :], -1).reshape(num_envs, agents, -1)
        close = np.zeros((num_envs, agents), bool)
    else:
        seen = np.concatenate([seen, np.stack([types, alive], 2)], 2)
        blocks, close = _see_nearest(p, state, seen)
    own = [state.x / p.grid_length, state.y / p.grid_length, state.speed / speed, state.acceleration / speed]
    own += [np.cos(state.direction), np.sin(state.direction)]
    tail = np.stack([*(own if p.observe_own_state else []), time], -1) * state.in_game[..., None]
    return np.concatenate([blocks, tail], -1), close


def _see_nearest(p: SimpleNamespace, state: State, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The blocks of the nearest others in the game, padded with zeros; and where it is close who they are."""
    num_envs, agents, features, _ = seen.shape
    apart = distances(state)
    apart[:, np.arange(agents), np.arange(agents)] = np.inf
    apart[np.broadcast_to(~state.in_game[:, None, :], apart.shape)] = np.inf
    order = np.argsort(apart, axis=-1, kind="stable")[..., : p.num_other_agents_observed]
    ranked = np.sort(apart, axis=-1)
    shown = np.isfinite(np.take_along_axis(apart, order, -1)) & state.in_game[..., None]
    blocks = np.zeros((num_envs, agents, features, p.num_other_agents_observed))
    blocks[..., : order.shape[-1]] = np.take_along_axis(seen, order[:, :, None, :], -1) * shown[:, :, None, :]
    last = ranked[..., min(p.num_other_agents_observed, agents) - 1, None]  # farther ones are not shown
    with np.errstate(invalid="ignore"):
        close = (_is_tie(np.diff(ranked)) & (ranked[..., :-1] <= last)).any(-1) & state.in_game
    return blocks.reshape(num_envs, agents, -1), close
