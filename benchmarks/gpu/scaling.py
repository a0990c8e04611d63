"""Throughput and memory over the number of envs, until one of them ends."""

from __future__ import annotations

from dataclasses import asdict

import torch

from warpworld.errors import WarpworldError

from .cases import (
    CARTPOLE,
    STEPS_PER_DRAW,
    TAG_CONTINUOUS,
    TAG_GRIDWORLD,
    Case,
    Steps,
    build_trainer,
    build_world,
    replays,
)
from .clock import measure
from .memory import Memory
from .needs import of_rollout, of_world
from .part import Context

SIZES = tuple(64 * 4**power for power in range(7))  # 64 ... 262,144
STEPS = 16  # of a rollout
COLUMNS = (
    (TAG_GRIDWORLD, "simulation"),
    (TAG_GRIDWORLD, "inference"),
    (CARTPOLE, "simulation"),
    (TAG_CONTINUOUS, "simulation"),
)


def scale(context: Context) -> None:
    """Simulation of all three, and a rollout of tag_gridworld."""
    sizes = SIZES[: context.size(len(SIZES), 1)]
    plans = [(case, column, num_envs) for case, column in COLUMNS for num_envs in sizes]
    ended = set()
    for case, column, num_envs in context.in_time(plans, lambda plan: f"{plan[0].name}, {plan[1]}, {plan[2]} envs"):
        if (case.name, column) in ended:
            continue
        try:
            _measure(context, case.smaller(num_envs, STEPS), column)
        except (torch.cuda.OutOfMemoryError, WarpworldError) as error:
            context.row(world=case.name, column=column, num_envs=num_envs, ended=str(error).partition("\n")[0])
            ended.add((case.name, column))
    rows = [row for row in context.figures["rows"] if "env_steps_per_s" in row]
    best = max(rows, key=lambda row: row["agent_steps_per_s"])
    said = f"{best['agent_steps_per_s'] / 1e9:.3g} G agent steps/s in {best['world']} with {best['num_envs']} envs"
    context.report(headline=f"most: {said}")


def _measure(context: Context, case: Case, column: str) -> None:
    memory = Memory(context.device)
    if column == "simulation":
        world = build_world(case, context.device)
        taken = Steps(world)
        timing, steps = measure(taken, context.device, *_windows(context)), STEPS_PER_DRAW
        replayed, needs = taken.replayed, of_world(world)
    else:
        trainer = build_trainer(case, context.device)
        world = trainer.world
        timing, steps = measure(trainer.collector.collect, context.device, *_windows(context)), case.num_steps
        replayed, needs = replays(trainer), of_rollout(trainer)
    speed = case.num_envs * steps / timing.median
    context.row(
        world=case.name,
        column=column,
        num_envs=case.num_envs,
        agents=world.num_agents,
        env_steps_per_s=speed,
        agent_steps_per_s=speed * world.num_agents,
        spread=timing.spread,
        needs=asdict(needs),
        memory_bytes=memory.used(),
        store_bytes=world.data.nbytes,
        graphs=replayed,
    )


def _windows(context: Context) -> tuple[float, int]:
    return (0.001, 2) if context.quick else (0.08, 5)
