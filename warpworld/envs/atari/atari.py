"""Atari: the games of the Arcade Learning Environment, stepped in C++ with their states in the store.

Source: Bellemare et al.: "The Arcade Learning Environment" (2013), and the settings of Machado et al. (2018).
Parameters have the names and defaults of the library's own vector environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Drawing, Image
from warpworld.environment import Array, Environment, Group, Range, register
from warpworld.envs.atari.installed import LinkFlags, Rom, rom_of

LONGEST_PATH = 4096  # bytes
MOST_ACTIONS = 18

# Words that names of actions are made of, and the keys for them.
KEYS = {"up": "up", "down": "down", "left": "left", "right": "right", "fire": "space"}


@register("atari")
class Atari(Environment):
    """An Atari 2600 game of the Arcade Learning Environment, played from its screen in grey.

    Actions are the game's minimal set, or all 18. A step is ``frameskip`` frames with the same action. An observation
    is the brighter of each pixel in the last two of them, made smaller, behind those of steps before.
    """

    source = "atari.cu"
    devices = ("cpu",)
    link_flags = LinkFlags()
    resident_bytes = 1 << 15
    compile_time = ("img_height", "img_width", "stack_num")

    @dataclass(frozen=True)
    class Params:
        """Parameters of atari; names are those of ALE's vector environment."""

        game: str = "pong"  # ALE's name of it
        repeat_action_probability: Annotated[float, Range(0, 1)] = 0.0  # the action before sticks, in each frame
        full_action_space: bool = False  # all 18 actions; else those that do something
        frameskip: Annotated[int, Range(1, 1000)] = 4  # frames of a step
        stack_num: Annotated[int, Range(1, 64)] = 4  # frames that are seen, the newest last
        img_height: Annotated[int, Range(1, 210)] = 84  # pixels
        img_width: Annotated[int, Range(1, 160)] = 84  # pixels
        noop_max: Annotated[int, Range(0, 10_000)] = 30  # frames without an action at the start, at most; at least one
        use_fire_reset: bool = True  # the first of these is FIRE, where the game has it
        episodic_life: bool = False  # an episode ends with a life; the game continues in the next one
        max_num_frames_per_episode: Annotated[int, Range(1, 2**31 - 1)] = 108_000  # of a game, then it is truncated

        def __post_init__(self) -> None:
            rom_of(self.game)

    def groups(self) -> Sequence[Group]:
        """The player."""
        p, chosen = self.params, self._actions()
        names = [self._rom.names[action] for action in chosen]
        seen = Box(0, 255, (p.stack_num, p.img_height, p.img_width), np.uint8)
        keys = tuple(map(_keys, names))
        return [Group("agent", 1, seen, Discrete(len(chosen)), action_names=tuple(names), action_keys=keys)]

    def arrays(self) -> Sequence[Array]:
        """Lives; the game itself is an object."""
        return [Array("lives", "int32", per="env", doc="that are left")]

    def constants(self) -> Mapping[str, Any]:
        """Path of the game's file, its actions, and the size of its screen."""
        path, chosen = self._rom.path.encode(), self._actions()
        rom, actions = np.zeros(LONGEST_PATH, np.uint8), np.zeros(MOST_ACTIONS, np.int32)
        rom[: len(path)], actions[: len(chosen)] = list(path), chosen
        return {"ROM": rom, "ACTIONS": actions, "SCREEN": np.array([self._rom.height, self._rom.width], np.int32)}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The newest frame."""
        frame = arrays["observations"].reshape(-1, self.params.img_height, self.params.img_width, 1)[-1]
        height, width, _ = frame.shape
        picture = Image(0.0, 0.0, width, height, frame.repeat(3, axis=2))
        return Drawing((0.0, 0.0, width, height), [picture], seconds=self.params.frameskip / 60)

    @property
    def _rom(self) -> Rom:
        return rom_of(self.params.game)

    def _actions(self) -> tuple[int, ...]:
        return self._rom.legal if self.params.full_action_space else self._rom.minimal


def _keys(name: str) -> str:
    """Keys that are held together for an action, such as "up+space" for "upfire"; none for "noop"."""
    return "+".join(key for word, key in KEYS.items() if word in name)
