"""Iterations of PPO as it is usually written, in torch and in JAX."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from warpworld.trainers.timing import Times

from . import eager
from .settings import WARM_UP, Setting, timed


def of_torch(make_env: Callable[[int], Any]) -> Callable[[Setting, float], Times]:
    """Measures PPO in plain torch on envs of a kind."""

    def measured(setting: Setting, seconds: float) -> Times:
        env = make_env(setting.num_envs)
        ppo = eager.PPO(env, setting.num_steps, setting.update_epochs, setting.num_minibatches)
        updates: list[float] = []

        def iterate() -> None:
            ppo.rollout()
            collected = time.perf_counter()
            ppo.update()
            updates.append(time.perf_counter() - collected)

        return Times(*timed(iterate, seconds), updates[WARM_UP:])

    return measured


def of_jax(network: str) -> Callable[[Setting, float], Times]:
    """Measures PPO in JAX: a whole iteration is one program; its update is then measured alone as another."""

    def measured(setting: Setting, seconds: float) -> Times:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax

        from .jitted.networks import NETWORKS
        from .jitted.ppo import PPO

        sizes = setting.num_envs, setting.num_steps, setting.update_epochs, setting.num_minibatches
        ppo = PPO(NETWORKS[network](), *sizes)
        learner, acting = ppo.start(seed=1)

        def iterate() -> None:
            nonlocal learner, acting
            learner, acting = jax.block_until_ready(ppo.iterate(learner, acting))

        totals, cpus = timed(iterate, seconds)
        after, rollout = ppo.collect(learner.weights, acting)

        def update() -> None:
            jax.block_until_ready(ppo.update(learner, acting.memory, after, rollout))

        return Times(totals, cpus, timed(update, seconds / 4, least=3, warm_up=1)[0])

    return measured
