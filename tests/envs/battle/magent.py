"""MAgent2's engine with the rules of its Battle, soldiers where a test wants them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.envs.battle.battle_oracle import Cell


class Original:
    """A battle of two armies in MAgent2; soldiers keep their numbers when others die.

    Attributes:
        alive: numbers of the living, red first.
    """

    def __init__(self, red: list[Cell], blue: list[Cell], map_size: int) -> None:
        import magent2

        library = magent2.gridworld
        config = library.Config()
        config.set({"map_width": map_size, "map_height": map_size, "minimap_mode": False, "embedding_size": 10})
        kind = config.register_agent_type(
            "small",
            {
                **{"width": 1, "length": 1, "hp": 10, "speed": 2, "damage": 2, "step_recover": 0.1},
                **{"view_range": library.CircleRange(6), "attack_range": library.CircleRange(1.5)},
                **{"kill_reward": 5, "step_reward": -0.005, "dead_penalty": -0.1, "attack_penalty": -0.1},
            },
        )
        armies = [library.AgentSymbol(config.add_group(kind), index="any") for _ in range(2)]
        for own, other in (armies, armies[::-1]):
            config.add_reward_rule(library.Event(own, "attack", other), receiver=own, value=0.2)
        library_env: Any = magent2.GridWorld(config, map_size=map_size)
        library_env.reset()
        self._env = library_env
        self._handles = library_env.get_handles()
        for handle, cells in zip(self._handles, (red, blue), strict=True):
            library_env.add_agents(handle, method="custom", pos=[[x, y, 0] for x, y in cells])
        self._army_size = len(red)
        self.alive = list(range(len(red) + len(blue)))

    def step(self, actions: np.ndarray) -> dict[int, float]:
        """Rewards of those who were alive, by number."""
        for handle, numbers in self._armies():
            self._env.set_action(handle, actions[numbers].astype(np.int32))
        self._env.step()
        rewards: dict[int, float] = {}
        left: list[int] = []
        for handle, numbers in self._armies():
            rewards |= dict(zip(numbers, self._env.get_reward(handle).tolist(), strict=True))
            left += [n for n, lives in zip(numbers, self._env.get_alive(handle), strict=True) if lives]
        self._env.clear_dead()
        self.alive = left
        return rewards

    def cells(self) -> list[Cell]:
        """Where the living stand."""
        return [(int(x), int(y)) for handle, _ in self._armies() for x, y in self._env.get_pos(handle)]

    def views(self) -> np.ndarray:
        """(living, 13, 13, 5): what the living see."""
        return np.concatenate([self._env.get_observation(handle)[0].copy() for handle, own in self._armies() if own])

    def _armies(self) -> list[tuple[Any, list[int]]]:
        red = [number for number in self.alive if number < self._army_size]
        blue = [number for number in self.alive if number >= self._army_size]
        return list(zip(self._handles, (red, blue), strict=True))
