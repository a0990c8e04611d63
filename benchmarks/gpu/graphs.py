"""Rollouts replayed as CUDA graphs against the same rollouts launched one by one: no bit of the store differs."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from warpworld.trainers.trainer import Trainer

from .cases import CARTPOLE, GRAPH_STEPS, TAG_CONTINUOUS, TAG_GRIDWORLD, build_trainer, replays
from .part import Context

NUM_ROLLOUTS = 3
CASES = (
    CARTPOLE.smaller(500, 2 * GRAPH_STEPS),
    TAG_GRIDWORLD.smaller(500, 35, episode_length=25),  # five graphs of 7 steps, the most that divide it
    TAG_GRIDWORLD.smaller(500, 37, episode_length=25),  # a prime number: graphs of one step
    TAG_CONTINUOUS.smaller(20, 2 * GRAPH_STEPS, episode_length=25),
)


def compare(context: Context) -> None:
    """Three rollouts, with other weights in place for each, as an update leaves them."""
    cases = [case.smaller(8, case.num_steps) for case in CASES] if context.quick else CASES
    for case in context.in_time(cases, lambda case: f"{case.name} of {case.num_steps} steps"):
        trainers = [build_trainer(case, context.device, graph_steps=steps) for steps in (GRAPH_STEPS, 0)]
        for number, (first, second) in enumerate(zip(*(_stores(trainer) for trainer in trainers), strict=True)):
            different = [name for name in first if not torch.equal(first[name], second[name])]
            if different:
                context.wrong(f"{case.name}, rollout {number}: these arrays differ: {', '.join(different)}")
                break
        if context.device == "cuda" and not replays(trainers[0]):
            context.wrong(f"{case.name}: its rollouts are not replayed; the log says why")
        context.row(world=case.name, num_envs=case.num_envs, num_steps=case.num_steps, rollouts=NUM_ROLLOUTS)
    context.holds(f"{len(CASES)} worlds, {NUM_ROLLOUTS} rollouts each: bit for bit the same")


def _stores(trainer: Trainer) -> Iterator[dict[str, torch.Tensor]]:
    """The whole store as bytes, after each rollout."""
    generator = torch.Generator(device="cpu").manual_seed(3)
    for _ in range(NUM_ROLLOUTS):
        trainer.collector.collect()
        data = trainer.world.data
        yield {name: data[name].contiguous().flatten().view(torch.uint8).clone() for name in data}
        for policy in trainer.policies.values():
            if policy is None:
                continue
            with torch.no_grad():
                for parameter in policy.parameters():
                    parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator).to(parameter.device))
