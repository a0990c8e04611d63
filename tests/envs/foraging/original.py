"""Envs of lbforaging that begin where a world's do."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpworld import World

STATE = ("field", "food_spawned", "row", "col", "level")


def _made(**params: Any) -> Any:
    """An env whose space holds what it sees: the package swaps a field's sides, and gives a grid a wrong shape."""
    from gymnasium.spaces import Box
    from lbforaging.foraging.environment import ForagingEnv

    class Original(ForagingEnv):
        def _get_observation_space(self) -> Box:
            side = 2 * self.sight + 1
            shape = (3, side, side) if self._grid_observation else super()._get_observation_space().shape
            return Box(-np.inf, np.inf, shape, np.float32)

    return Original(**params)


class Originals:
    """An env of the package for each env of a world, in its state.

    Args:
        world: of foraging, after its first reset.
    """

    def __init__(self, world: World) -> None:
        p = world.environment.params
        self._envs = [
            _made(
                players=p.players,
                min_player_level=p.min_player_level,
                max_player_level=p.max_player_level,
                min_food_level=p.min_food_level,
                max_food_level=p.max_food_level or None,
                field_size=(p.rows, p.cols),
                max_num_food=p.max_num_food,
                sight=p.sight,
                max_episode_steps=p.episode_length,
                force_coop=p.force_coop,
                normalize_reward=p.normalize_reward,
                grid_observation=p.grid_observation,
                observe_agent_levels=p.observe_agent_levels,
                penalty=p.penalty,
            )
            for _ in range(world.num_envs)
        ]
        self.follow(world, np.ones(world.num_envs, bool))

    def follow(self, world: World, envs: np.ndarray) -> None:
        """Begin an episode with the players and the food of the world, in some envs."""
        state = {name: world.data.numpy(name) for name in STATE}
        for number in np.flatnonzero(envs):
            env, own = self._envs[number], {name: values[number] for name, values in state.items()}
            for player, row, col, level in zip(env.players, own["row"], own["col"], own["level"], strict=True):
                player.setup((int(row), int(col)), int(level), env.field_size)
                player.reward = 0
            env.field = own["field"].astype(np.int32)
            env._food_spawned, env.current_step, env._game_over = int(own["food_spawned"]), 0, False
            env._gen_valid_moves()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rewards (envs, players) float32 and ends (envs,)."""
        made = [env.step(own.tolist()) for env, own in zip(self._envs, actions, strict=True)]
        return np.array([rewards for _, rewards, *_ in made], np.float32), np.array(
            [bool(done) for _, _, done, *_ in made]
        )

    def observations(self) -> np.ndarray:
        """(envs, players, ...) float32."""
        return np.array([env.test_make_gym_obs() for env in self._envs])

    def action_mask(self) -> np.ndarray:
        """(envs, players, 6): the package's valid actions."""
        mask = np.zeros((len(self._envs), self._envs[0].n_agents, 6), bool)
        for number, env in enumerate(self._envs):
            for index, player in enumerate(env.players):
                mask[number, index, [action.value for action in env._valid_actions[player]]] = True
        return mask

    def state(self) -> dict[str, Any]:
        """Fields (envs, rows, cols) and rows and columns of players (envs, players)."""
        places = np.array([[player.position for player in env.players] for env in self._envs])
        return {"field": np.array([env.field for env in self._envs]), "row": places[..., 0], "col": places[..., 1]}
