"""The three columns that the field prints: simulation only, with inference, with training; and the memory of each.

"simulation" is ``World.step()`` with random actions; "random" a rollout whose actions a kernel draws at random;
"inference" a rollout with policies; "training" whole iterations: rollout, returns, update, metrics. Steps are replayed
as CUDA graphs; "eager" says that they are launched one by one, and "bf16" that products are. Each row says what its env
step needs, see needs.py.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict
from typing import Any

from warpworld.policies.layers.precision import FLOAT32
from warpworld.trainers.trainer import Trainer

from ..clock import Timing
from .cases import (
    CARTPOLE,
    STEPS_PER_DRAW,
    TAG_CONTINUOUS,
    TAG_GRIDWORLD,
    THOUSAND_AGENTS,
    THOUSAND_ON_A_GRID,
    THOUSANDS_ON_A_GRID,
    Case,
    Steps,
    build_trainer,
    build_world,
    replays,
    rollout_of,
    updates_replay,
)
from .clock import measure, synchronise
from .memory import Memory
from .needs import Needs, of_iteration, of_rollout, of_world
from .part import Context

WARM_UP = 3  # iterations that do not count


def tag_gridworld(context: Context) -> None:
    """2000 envs of 5 agents; [32, 32]."""
    _columns(context, TAG_GRIDWORLD.smaller(20, 4) if context.quick else TAG_GRIDWORLD, iterations=30)


def tag_continuous(context: Context) -> None:
    """2000 envs of 110 agents, 10 nearest; [256, 256]."""
    case = TAG_CONTINUOUS.smaller(4, 3) if context.quick else TAG_CONTINUOUS
    _columns(context, case, iterations=12)
    _training(context, case, context.size(12, 2), "bf16")
    _headline(context, "simulation", "inference", "training", "training, bf16")


def thousand_agents(context: Context) -> None:
    """2000 envs of 1000 agents, 10 nearest, without a policy."""
    _simulations(context, THOUSAND_AGENTS.smaller(2, 4) if context.quick else THOUSAND_AGENTS)
    _headline(context, "simulation")


def thousand_on_a_grid(context: Context) -> None:
    """2000 envs of 1000 agents on a grid, partial observation, without a policy."""
    _simulations(context, THOUSAND_ON_A_GRID.smaller(2, 4) if context.quick else THOUSAND_ON_A_GRID)
    _headline(context, "simulation")


def thousands_on_a_grid(context: Context) -> None:
    """1000 envs of 2000 agents on a grid, and 200 of 10,000: each env is a block, whose threads share the agents."""
    for case in THOUSANDS_ON_A_GRID:
        _simulations(context, case.smaller(2, 4) if context.quick else case)
    said = [
        f"{row['agents']} agents {row['agent_steps_per_s'] / 1e6:.3g} M"
        for row in context.figures["rows"]
        if row["column"] == "simulation"
    ]
    context.report(headline=", ".join(said) + " agent steps/s")


def cartpole(context: Context) -> None:
    """65,536 envs with random actions."""
    case = CARTPOLE.smaller(64, 4) if context.quick else CARTPOLE
    _simulations(context, case)
    _random(context, case)
    _headline(context, "simulation", "random")


def _columns(context: Context, case: Case, iterations: int) -> None:
    _simulations(context, case)
    _random(context, case)
    for graphs in _with_and_without_graphs(context):
        _inference(context, case, graphs)
    _training(context, case, context.size(iterations, 2))
    _headline(context, "simulation", "inference", "training")


def _with_and_without_graphs(context: Context) -> tuple[bool, ...]:
    """On cpu there are none."""
    return (True, False) if context.device == "cuda" else (True,)


def _simulations(context: Context, case: Case) -> None:
    for graphs in _with_and_without_graphs(context):
        memory = Memory(context.device)
        world = build_world(case, context.device)
        steps = Steps(world, graphs)
        timing = measure(steps, context.device, *_windows(context))
        used, env_steps, column = memory.used(), case.num_envs * STEPS_PER_DRAW, _named("simulation", graphs)
        more = {"needs": of_world(world), "memory_bytes": used, "graphs": steps.replayed}
        add_row(context, case, column, timing, env_steps, world.num_agents, **more)


def _named(column: str, graphs: bool) -> str:
    return column if graphs else f"{column}, eager"


def _random(context: Context, case: Case) -> None:
    memory = Memory(context.device)
    trainer = build_trainer(case, context.device, learns=False)
    _rollouts(context, case, "random", trainer, memory)


def _inference(context: Context, case: Case, graphs: bool) -> None:
    memory = Memory(context.device)
    trainer = build_trainer(case, context.device, graph_steps=None if graphs else 0)
    _rollouts(context, case, _named("inference", graphs), trainer, memory)


def _rollouts(context: Context, case: Case, column: str, trainer: Trainer, memory: Memory) -> None:
    timing = measure(rollout_of(trainer), context.device, *_windows(context))
    used, env_steps = memory.used(), case.num_envs * case.num_steps
    more = {"needs": of_rollout(trainer), "memory_bytes": used, "graphs": replays(trainer)}
    add_row(context, case, column, timing, env_steps, trainer.world.num_agents, **more)


def _training(context: Context, case: Case, iterations: int, precision: str = FLOAT32) -> None:
    memory = Memory(context.device)
    trainer = build_trainer(case, context.device, iterations=iterations + WARM_UP, precision=precision)
    seconds, rollouts = _train(trainer, context.device)
    used = memory.used()
    timing = Timing(
        statistics.median(seconds), min(seconds), (max(seconds) - min(seconds)) / statistics.median(seconds)
    )
    env_steps = case.num_envs * case.num_steps
    share = statistics.median(rollout / whole for rollout, whole in zip(rollouts, seconds, strict=True))
    more = {"needs": of_iteration(trainer), "rollout_share": share, "iterations": iterations, "memory_bytes": used}
    more |= {"graphs": replays(trainer), "update_graphs": updates_replay(trainer)}
    column = "training" if precision == FLOAT32 else f"training, {precision}"
    add_row(context, case, column, timing, env_steps, trainer.world.num_agents, **more)


def _train(trainer: Trainer, device: str) -> tuple[list[float], list[float]]:
    """Seconds of each iteration behind the warm-up, and of its rollout as the trainer itself says."""
    ends, rollouts = [], []

    def on_iteration(metrics: dict[str, Any]) -> None:
        synchronise(device)
        ends.append(time.perf_counter())
        rollouts.append(metrics["perf/rollout_s"])

    trainer.train(None, on_iteration=on_iteration)
    pairs = zip(ends[WARM_UP - 1 :], ends[WARM_UP:], strict=False)
    return [end - begin for begin, end in pairs], rollouts[WARM_UP:]


def _windows(context: Context) -> tuple[float, int]:
    """Seconds and number of windows."""
    return (0.002, 2) if context.quick else (0.25, 7)


def add_row(
    context: Context,
    case: Case,
    column: str,
    timing: Timing,
    env_steps: int,
    agents: int,
    needs: Needs | None = None,
    **more: Any,
) -> None:
    """Write down what a call of so many env steps took.

    Args:
        context: of the part.
        case: what ran.
        column: name of the row among those of the case.
        timing: of a call.
        env_steps: of all envs in a call.
        agents: of an env.
        needs: what an env step takes at least, for floors.py; None where that is not counted.
        **more: further columns.
    """
    context.row(
        world=case.name,
        column=column,
        num_envs=case.num_envs,
        agents=agents,
        num_steps=case.num_steps,
        env_steps_per_s=env_steps / timing.median,
        agent_steps_per_s=env_steps / timing.median * agents,
        seconds_per_call=timing.median,
        spread=timing.spread,
        needs=needs and asdict(needs),
        **more,
    )


def _headline(context: Context, *columns: str) -> None:
    rows = {row["column"]: row for row in context.figures["rows"]}
    said = [f"{name} {rows[name]['env_steps_per_s'] / 1e6:.3g} M" for name in columns]
    context.report(headline=", ".join(said) + " env steps/s")
