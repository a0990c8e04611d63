"""Iterations of PPO as it is usually written, in torch and in JAX."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from . import eager
from .settings import WARM_UP, Setting, Times, Watch, timed


def of_torch(make_env: Callable[[int], Any]) -> Callable[[Setting, float], Times]:
    """Measures PPO in plain torch on envs of a kind."""

    def measured(setting: Setting, seconds: float) -> Times:
        env = make_env(setting.num_envs)
        ppo = eager.PPO(env, setting.num_steps, setting.update_epochs, setting.num_minibatches)
        watch, totals, updates = Watch(seconds), [], []
        while not watch.is_over():
            start = time.perf_counter()
            ppo.rollout()
            collected = time.perf_counter()
            ppo.update()
            totals.append(time.perf_counter() - start)
            updates.append(time.perf_counter() - collected)
        return Times(totals[WARM_UP:], updates[WARM_UP:])

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
        run = list(ppo.start(seed=1))

        def iterate() -> None:
            run[:] = jax.block_until_ready(ppo.iterate(*run))

        totals = timed(iterate, seconds)
        learner, acting = run
        after, rollout = ppo.collect(learner.weights, acting)
        updates = timed(lambda: jax.block_until_ready(ppo.update(learner, acting.memory, after, rollout)), seconds / 4)
        return Times(totals, updates)

    return measured
