"""Breakout trained by PPO with a memory: the anchor is PufferLib 5, whose fastest published training is of this kind.

Its figure: 20 to 22 M env steps a second trained on an RTX 3080 Ti (PufferLib, pull request 610, July 2026), with envs
that are CUDA kernels, a MinGRU of 4 layers of 32 units, products in bfloat16, and CUDA graphs.

Equal are the memory, its width and depth; an encoder of one layer of 32 units before it; three actions; products in
bfloat16; CUDA graphs of rollouts and of updates; rollouts of 64 steps; minibatches of 65,536 rows, each learnt from
once (PufferLib's draws some 1.4 times as many, by priority); and that whole iterations are timed, rollout and update.

Not equal is the game. Ours is MinAtar's Breakout: 4 channels of 10 x 10 cells, 400 bytes seen, 30 bricks, one frame a
step, sticky actions. PufferLib's has 118 numbers seen, 108 bricks, a ball that moves by fractions of a cell, and 4
frames a step. Nor equal are the number of envs, 8,192 beside 4,096, the optimiser, Adam beside Muon, and the targets,
GAE beside V-trace.

A device without products of bfloat16 is measured in float32, and the row says so.
"""

from __future__ import annotations

import torch

from warpworld.config import RunConfig, config_from_dict
from warpworld.managers.products import products_of
from warpworld.policies.layers.precision import FLOAT32
from warpworld.trainers.trainer import Trainer

from .cases import Case, replays, rollout_of, updates_replay
from .clock import measure
from .columns import add_row
from .memory import Memory
from .needs import of_iteration, of_rollout
from .part import Context

BREAKOUT = Case("minatar_breakout", {}, num_envs=8192, num_steps=64, hidden_sizes=(32,))
ROWS_AT_ONCE = 65_536  # of a minibatch: their observations are 105 MB in float32
MINIBATCHES = BREAKOUT.num_envs * BREAKOUT.num_steps // ROWS_AT_ONCE
UNITS, LAYERS = 32, 4  # of the memory


def train(context: Context) -> None:
    """Rollouts by themselves, then whole iterations of the same trainer."""
    case = BREAKOUT.smaller(4 * MINIBATCHES, 4) if context.quick else BREAKOUT
    memory = Memory(context.device)
    trainer = Trainer(config_of(case, context.device, precision_on(context.device)))
    windows = (0.002, 2) if context.quick else (0.25, 7)
    calls = {"inference": (rollout_of(trainer), of_rollout), "training": (trainer._iterate, of_iteration)}
    for column, (call, needs) in calls.items():
        timing = measure(call, context.device, *windows)
        add_row(
            context,
            case,
            column,
            timing,
            case.num_envs * case.num_steps,
            trainer.world.num_agents,
            needs=needs(trainer),
            memory_bytes=memory.used(),
            precision=trainer.config.trainer.precision,
            graphs=replays(trainer),
            update_graphs=updates_replay(trainer) if column == "training" else None,
        )
    context.report(headline=_headline(context))


def precision_on(device: str) -> str:
    """Precision of the products: bf16 where the device has such."""
    return "bf16" if products_of(torch.device(device), "bf16")[0] else FLOAT32


def config_of(case: Case, device: str, precision: str) -> RunConfig:
    """The run; no iteration of it is the last, and none is logged or saved."""
    never = 10**6
    trainer = {
        "num_envs": case.num_envs,
        "num_steps": case.num_steps,
        "total_env_steps": case.num_envs * case.num_steps * never,
        "device": device,
        "graph_steps": case.num_steps,
        "precision": precision,
    }
    model = {
        "hidden_sizes": list(case.hidden_sizes),
        "recurrent": "mingru",
        "recurrent_size": UNITS,
        "recurrent_layers": LAYERS,
    }
    policy = {"algorithm": "ppo", "model": model, "num_minibatches": MINIBATCHES, "update_epochs": 1}
    saving = {"log_every": never, "checkpoint_every": never}
    entries = {"name": case.name, "env": dict(case.params), "trainer": trainer, "saving": saving}
    return config_from_dict({**entries, "policy": {"agent": policy}})


def _headline(context: Context) -> str:
    rows = {row["column"]: row for row in context.figures["rows"]}
    said = [f"{column} {row['env_steps_per_s'] / 1e6:.3g} M" for column, row in rows.items()]
    row = rows["training"]
    graphs = f"graphs of rollouts {_yes(row['graphs'])}, of updates {_yes(row['update_graphs'])}"
    return f"{', '.join(said)} env steps/s in {row['precision']}, {graphs}"


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"
