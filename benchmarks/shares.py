"""What of a rollout is our own: stepping, drawing actions, recording, counting episodes; beside the policy's network.

On one core. The same rollout is timed with its policies and without them, when actions are drawn from equal logits.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from warpworld.config import load_config
from warpworld.trainers.trainer import Trainer

from .clock import measure
from .rows import ShareRow

NAME = "rollout"
WORLD, NUM_ENVS, NUM_STEPS = "tag_gridworld", 2000, 20


def rows(seconds: float) -> Iterator[ShareRow]:
    """Measure both shares."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield _row(seconds)
    finally:
        torch.set_num_threads(threads)


def _row(seconds: float) -> ShareRow:
    sizes = {"num_envs": NUM_ENVS, "num_steps": NUM_STEPS, "num_workers": 1, "total_env_steps": NUM_ENVS * NUM_STEPS}
    overrides = [f"trainer.{key}={value}" for key, value in sizes.items()]
    trainer = Trainer(load_config(WORLD, [*overrides, "trainer.device=cpu"]))

    def collect() -> None:
        trainer.collector.collect()
        trainer.episodes.finished()

    whole = measure(collect, None, seconds, calls=1)
    for actor in trainer.collector.actors.values():
        actor.policy = None
    own = measure(collect, None, seconds, calls=1)
    per_step = NUM_ENVS * NUM_STEPS
    return ShareRow(
        world=f"{NAME}, {WORLD}",
        num_envs=NUM_ENVS,
        agents=trainer.world.num_agents,
        own_seconds=own.median / per_step,
        policy_seconds=max(whole.median - own.median, 0.0) / per_step,
        spread=max(whole.spread, own.spread),
    )
