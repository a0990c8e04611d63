"""Battles of 64 to 1024 soldiers, as many soldiers in all of them together, beside MAgent2's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import Case, Peer

SOLDIERS = 4096  # of all envs together
MAPS = {32: 29, 64: 40, 128: 57, 256: 80, 512: 113}  # army size: a map with as many soldiers per cell as MAgent2's


def magent2(army_size: int, map_size: int) -> Peer:
    """One battle of MAgent2's engine, which is started again whenever an army is dead."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        from magent2 import GridWorld
        from magent2.environments.battle.battle import default_reward_args, get_config

        from warpworld.envs.battle.formation import form

        config = get_config(map_size, minimap_mode=False, seed=0, **default_reward_args)
        env, generator = GridWorld(config, map_size=map_size), np.random.default_rng(0)
        places = form(army_size, map_size).places

        def start() -> None:
            env.reset()
            for handle, cells in zip(env.get_handles(), (places[:army_size], places[army_size:]), strict=True):
                env.add_agents(handle, method="custom", pos=[[x, y, 0] for x, y in cells.tolist()])

        def step() -> None:
            for handle in env.get_handles():
                env.set_action(handle, generator.integers(0, 21, env.get_num(handle)).astype(np.int32))
            over = env.step()
            for handle in env.get_handles():
                env.get_reward(handle)
                env.get_observation(handle)
            env.clear_dead()
            if over or min(env.get_num(handle) for handle in env.get_handles()) == 0:
                start()

        start()
        return step, 1

    return make


CASES = tuple(
    Case(
        label=f"battle, {2 * army_size} soldiers",
        name="battle",
        num_envs=SOLDIERS // (2 * army_size),
        params={"army_size": army_size, "map_size": map_size},
        peers={"magent2": magent2(army_size, map_size)},
    )
    for army_size, map_size in MAPS.items()
)
