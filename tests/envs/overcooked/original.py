"""JaxMARL's Overcooked, many kitchens at once, in the state of a world of ours."""

from __future__ import annotations

import numpy as np

from warpworld import World

KEPT = [*range(13), 14, 15, 16, 18, 20, 21, 22, 23, 25]  # of its 26 layers, those that are not about tomatoes
HELD = (1, 3, 5, 9)  # its numbers of nothing, an onion, a plate and a soup
PAD = 4  # cells around its map


class Originals:
    """A kitchen of the package for each env of a world."""

    def __init__(self, layout: str, num_envs: int, episode_length: int) -> None:
        import jax
        from jaxmarl.environments.overcooked import Overcooked, overcooked_layouts

        self._jax = jax
        env = Overcooked(layout=overcooked_layouts[layout], max_steps=episode_length)
        self._keys = jax.random.split(jax.random.PRNGKey(0), num_envs)
        self._step = jax.jit(jax.vmap(env.step_env))
        _, self.state = jax.vmap(env.reset)(self._keys)

    def follow(self, world: World) -> None:
        """Take the state of the world, no counter of which holds anything."""
        import jax.numpy as jnp

        arrays = {name: world.data.numpy(name) for name in ("place", "facing", "held", "contents", "cells", "timestep")}
        columns = world.groups["cook"].observation.shape[2]
        x, y = arrays["place"] % columns, arrays["place"] // columns
        maps = np.array(self.state.maze_map)
        envs = np.arange(world.num_envs)
        for cook in range(2):  # away from where it stood
            was = np.array(self.state.agent_pos)[:, cook]
            maps[envs, was[:, 1] + PAD, was[:, 0] + PAD] = (1, 0, 0)
        for cook in range(2):
            ours = np.stack([np.full(len(envs), 10), np.full(len(envs), 2 * cook), arrays["facing"][:, cook]], -1)
            maps[envs, y[:, cook] + PAD, x[:, cook] + PAD] = ours
        for cell in np.flatnonzero(arrays["cells"] == 2):
            maps[:, cell // columns + PAD, cell % columns + PAD, 2] = arrays["contents"][:, cell]
        towards = np.array([(0, -1), (0, 1), (1, 0), (-1, 0)])
        self.state = self.state.replace(
            agent_pos=jnp.asarray(np.stack([x, y], -1), jnp.uint32),
            agent_dir=jnp.asarray(towards[arrays["facing"]], self.state.agent_dir.dtype),
            agent_dir_idx=jnp.asarray(arrays["facing"]),
            agent_inv=jnp.asarray(np.array(HELD)[arrays["held"]]),
            maze_map=jnp.asarray(maps),
            step=jnp.asarray(arrays["timestep"]),
        )

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Observations (envs, 2, 22, rows, columns), rewards (envs, 2), small rewards (envs, 2), ends (envs,)."""
        names = ("agent_0", "agent_1")
        given = {name: actions[:, cook] for cook, name in enumerate(names)}
        seen, self.state, rewards, ends, infos = self._step(self._keys, self.state, given)
        both = np.stack([np.asarray(seen[name]) for name in names], 1).transpose(0, 1, 4, 2, 3)[:, :, KEPT]
        small = np.stack([np.asarray(infos["shaped_reward"][name]) for name in names], 1)
        return both, np.stack([np.asarray(rewards[name]) for name in names], 1), small, np.asarray(ends["__all__"])
