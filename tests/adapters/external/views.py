"""Gymnasium envs that see whatever space they are made with, and that may mask actions."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiDiscrete, OneOf, Sequence, Space, Text, Tuple
from gymnasium.vector import AutoresetMode, SyncVectorEnv

PICTURE = Box(0, 255, (24, 20, 3), np.uint8)
SPACES: dict[str, Space] = {
    "tuple": Tuple((Box(0.0, 1.0, (2,), np.float32), Discrete(3))),
    "nested": Dict({"arm": Dict({"joint angle": Box(0.0, 1.0, (2,), np.float64)}), "arm_joint_angle": Discrete(2)}),
    "empty": Dict({"x": Box(0.0, 1.0, (2,), np.float32), "none": Box(0.0, 1.0, (0,), np.float32)}),
    "picture": PICTURE,
    "words": Dict({"image": PICTURE, "direction": Discrete(4), "mission": Text(5)}),
    "nameless": Dict({"": Discrete(2), "é": Discrete(2)}),
    "sentence": Text(5),
    "letters": Tuple((Discrete(2), Text(5))),
    "deep": Dict({"a part": Dict({"its name": Text(5), "x": Discrete(2)})}),
    "sequence": Sequence(Discrete(2)),
    "graph": Graph(Box(0.0, 1.0, (1,), np.float32), None),
    "one of": OneOf((Discrete(2), Discrete(3))),
    "many": Discrete(2**24 + 1),
    "more": Discrete(2**31 + 1),
    "masked": Dict({"observation": Box(0.0, 9.0, (1,), np.float32), "action_mask": Box(0, 1, (4,), np.int8)}),
}


class Views(gymnasium.Env):
    """Observations are drawn from the space; an episode has three steps.

    Step t of env i's episode allows choice t and i alone, in each head of the action.
    """

    def __init__(self, space: str, heads: bool, masks: bool, number: int) -> None:
        self.observation_space = SPACES[space]
        self.action_space: Space = MultiDiscrete([4, 2]) if heads else Discrete(4)
        self._masks, self._number = masks, number

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.observation_space.seed(7)
        self._step = 0
        return self._seen(), self._infos()

    def allowed(self) -> np.ndarray:
        choices = np.zeros(4, np.int8)
        choices[[self._step, self._number]] = 1
        return choices

    def _seen(self) -> Any:
        seen = self.observation_space.sample()
        if "action_mask" in getattr(self.observation_space, "spaces", {}):
            seen = {"observation": np.array([self._step], np.float32), "action_mask": self.allowed()}
        return seen

    def _infos(self) -> dict[str, Any]:
        if not self._masks:
            return {}
        heads = isinstance(self.action_space, MultiDiscrete)
        return {"action_mask": (self.allowed(), np.array([1, 0], np.int8)) if heads else self.allowed()}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        self._step += 1
        return self._seen(), 1.0, False, self._step == 3, self._infos()


def views(
    num_envs: int, space: str = "picture", mode: str = "SAME_STEP", heads: bool = False, masks: bool = False
) -> SyncVectorEnv:
    """What ``library: tests.adapters.external.views:views`` names."""
    makes = [lambda i=i: Views(space, heads, masks, i) for i in range(num_envs)]
    return SyncVectorEnv(makes, autoreset_mode=AutoresetMode[mode])
