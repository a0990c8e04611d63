"""Games of ALE, each with a state, that show the frames of ALE's own vector environment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.errors import DeclarationError, suggest

_NOOP = 0  # of the actions that a game has
_FIRE = 1

# Options of ALE's vector environment by its names, with their defaults.
OPTIONS: dict[str, Any] = {
    "frameskip": 4,
    "stack_num": 4,
    "img_height": 84,
    "img_width": 84,
    "maxpool": True,
    "noop_max": 30,
    "use_fire_reset": True,
    "episodic_life": False,
    "reward_clipping": True,
    "max_num_frames_per_episode": 108_000,
    "full_action_space": False,
}


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a game, with those that are given.

    Raises:
        DeclarationError: there is no such option.
    """
    for name in options:
        if name not in OPTIONS:
            raise DeclarationError(
                f"external: ale: env.options.{name}: games with states have no such option.{suggest(name, OPTIONS)} "
                f"Options: {', '.join(OPTIONS)}; without states: true it is passed to ALE"
            )
    return {**OPTIONS, **options}


class AtariGame(gymnasium.Env):
    """A game: grey frames of chosen size, stacked, as Mnih et al. (2015) have them.

    Frames, rewards and ends are bit for bit those of ``ale_py.vector_env.AtariVectorEnv``, but for the newest frame of
    an episode's final observation. The number of frames for which a game does nothing in the beginning is drawn by this
    env's own generator. Actions are never sticky, since ALE's states lack the action that would be repeated.

    Args:
        game: its name in ALE.
        options: see ``OPTIONS``.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, game: str, options: Mapping[str, Any]) -> None:
        from ale_py import ALEInterface, LoggerMode, roms

        self._options, self._rom = dict(options), str(roms.get_rom_path(game))
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self._ale = ALEInterface()
        self._ale.setFloat("repeat_action_probability", 0.0)
        self._ale.loadROM(self._rom)
        full = self._options["full_action_space"]
        self._actions = self._ale.getLegalActionSet() if full else self._ale.getMinimalActionSet()
        shape = tuple(self._options[name] for name in ("stack_num", "img_height", "img_width"))
        self.observation_space, self.action_space = Box(0, 255, shape, np.uint8), Discrete(len(self._actions))
        self._stack = np.zeros(shape, np.uint8)
        self._frames = self._lives = 0  # of the episode; those that are left

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode, after as many frames of nothing as are drawn."""
        super().reset(seed=seed)
        if seed is not None:
            self._ale.setInt("random_seed", int(seed) % 2**31)
            self._ale.loadROM(self._rom)
        self._ale.reset_game()
        for _ in range(int(self.np_random.integers(self._options["noop_max"] + 1))):
            self._ale.act(self._actions[_NOOP])
            if self._ale.game_over():
                self._ale.reset_game()
        if self._options["use_fire_reset"] and self._needs_fire():
            self._ale.act(self._actions[_FIRE])
        self._frames, self._lives = 0, self._ale.lives()
        self._stack[:] = 0
        self._stack[-1] = self._resized(self._ale.getScreenGrayscale())
        return self._stack.copy(), {}

    def _needs_fire(self) -> bool:
        return len(self._actions) > _FIRE and self._actions[_FIRE].name == "FIRE"

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play an action for some frames."""
        reward, shown = 0.0, []
        for left in reversed(range(self._options["frameskip"])):
            reward += self._ale.act(self._actions[action])
            self._frames += 1
            if left < (2 if self._options["maxpool"] else 1):
                shown.append(self._ale.getScreenGrayscale())
            if self._is_over():
                break
        frame = shown[-1] if shown else self._ale.getScreenGrayscale()
        frame = np.maximum(frame, shown[0]) if len(shown) > 1 else frame
        self._stack = np.roll(self._stack, -1, 0)
        self._stack[-1] = self._resized(frame)
        terminated, self._lives = self._is_over(), self._ale.lives()
        truncated = not terminated and self._frames >= self._options["max_num_frames_per_episode"]
        reward = float(np.clip(reward, -1.0, 1.0)) if self._options["reward_clipping"] else float(reward)
        return self._stack.copy(), reward, terminated, truncated, {}

    def _is_over(self) -> bool:
        """Whether the game is over, or, where an episode is one life, that life."""
        lost = self._options["episodic_life"] and self._ale.lives() < self._lives
        return bool(self._ale.game_over(with_truncation=False) or lost)

    def _resized(self, frame: np.ndarray) -> np.ndarray:
        return resized(frame, self._stack.shape[1], self._stack.shape[2])


def resized(frame: np.ndarray, height: int, width: int) -> np.ndarray:
    """A smaller picture, whose pixels are means of the areas that they cover, as OpenCV's INTER_AREA computes them.

    Args:
        frame: (rows, columns) uint8.
        height: rows of the result, at most as many.
        width: columns, likewise.

    Returns:
        (height, width) uint8. Sums are float32, along rows first, in the order of their terms.
    """
    rows = _summed(frame.astype(np.float32).T, width).T
    return np.rint(_summed(rows, height)).astype(np.uint8)


def _summed(lines: np.ndarray, count: int) -> np.ndarray:
    """Weighted sums of lines along the first dimension, so many of them."""
    places, weights = _cover(len(lines), count)
    total = lines[places[0]] * weights[0][:, None]
    for place, weight in zip(places[1:], weights[1:], strict=True):
        total = total + lines[place] * weight[:, None]
    return total


@cache
def _cover(source: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Lines that each of ``count`` equal parts of ``source`` covers, and the share of each: (most lines, count)."""
    scale, least = source / count, 1e-3  # OpenCV leaves out smaller shares
    found: list[list[tuple[int, float]]] = []
    for part in range(count):
        start, end = part * scale, (part + 1) * scale
        cell = min(scale, source - start)
        first, last = int(np.ceil(start)), min(int(np.floor(end)), source - 1)
        first = min(first, last)
        own = [(line, 1 / cell) for line in range(first, last)]
        if first - start > least:
            own.insert(0, (first - 1, (first - start) / cell))
        if end - last > least:
            own.append((last, min(min(end - last, 1.0), cell) / cell))
        found.append(own)
    most = max(map(len, found))
    padded = [own + [(own[-1][0], 0.0)] * (most - len(own)) for own in found]
    places = np.array([[line for line, _ in own] for own in padded])
    weights = np.array([[share for _, share in own] for own in padded], np.float32)
    return places.T.copy(), weights.T.copy()
