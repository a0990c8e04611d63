"""JaxMARL's SMAX, many skirmishes at once, in the state of a world of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpworld import World
from warpworld.envs.skirmish.scenarios import KINDS

# Each of our choices 0 to 4 as the original's movement.
WAYS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0), (0, 0)], dtype=np.float32)


class Originals:
    """A skirmish of the package for each env of a world, without noise in the time between shots."""

    def __init__(self, world: World, **options: Any) -> None:
        import jax
        import jax.numpy as jnp
        from jaxmarl.environments.smax import SMAX
        from jaxmarl.environments.smax.smax_env import Scenario

        self._jax, self._jnp = jax, jnp
        self.allies, self.enemies = (world.groups[name].size for name in ("ally", "enemy"))
        kinds = jnp.asarray(np.maximum(world.data.numpy("army"), 0), jnp.uint8)  # those that are drawn come by follow
        self.env = SMAX(scenario=Scenario(kinds, self.allies, self.enemies, False, False), **options)
        assert list(self.env.unit_type_names) == [kind.name for kind in KINDS]
        self.keys = jax.random.split(jax.random.PRNGKey(0), world.num_envs)
        _, self.state = jax.vmap(self.env.reset)(self.keys)
        self._step = jax.jit(jax.vmap(self.env.step_env))
        self._see = jax.jit(jax.vmap(self.env.get_obs))
        self._allow = jax.jit(jax.vmap(self.env.get_avail_actions))

    def follow(self, world: World) -> None:
        """Take the state of the world."""
        names = ("x", "y", "health", "cooldown", "kind", "last_action", "timestep")
        arrays = {name: world.data.numpy(name).copy() for name in names}
        jnp, last = self._jnp, arrays["last_action"]
        self.state = self.state.replace(
            unit_positions=jnp.asarray(np.stack([arrays["x"], arrays["y"]], -1)),
            unit_alive=jnp.asarray(arrays["health"] > 0),
            unit_health=jnp.asarray(arrays["health"]),
            unit_types=jnp.asarray(arrays["kind"], jnp.uint8),
            unit_weapon_cooldowns=jnp.asarray(arrays["cooldown"]),
            prev_movement_actions=jnp.asarray(WAYS[np.minimum(last, 4)]),
            prev_attack_actions=jnp.asarray(np.where(last > 4, last, 0)),
            step=jnp.asarray(arrays["timestep"]),
        )

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rewards (envs, units) and ends (envs,)."""
        given = {agent: actions[:, unit] for unit, agent in enumerate(self.env.agents)}
        _, self.state, rewards, ends, _ = self._step(self.keys, self.state, given)
        return self._joined(rewards), np.asarray(ends["__all__"])

    def positions(self) -> np.ndarray:
        """(envs, units, 2)."""
        return np.asarray(self.state.unit_positions)

    def views(self) -> np.ndarray:
        """What all units see: (envs, units, numbers)."""
        return self._joined(self._see(self.state))

    def masks(self) -> list[np.ndarray]:
        """What each unit may do: (envs, choices)."""
        allowed = self._allow(self.state)
        return [np.asarray(allowed[agent]).astype(bool) for agent in self.env.agents]

    def _joined(self, parts: Any) -> np.ndarray:
        return np.stack([np.asarray(parts[agent]) for agent in self.env.agents], 1)
