"""Iterations of packaged configs: PPO in several minibatches and passes, with memory, replays, teams or opponents.

Each trains a packaged config at its own sizes: its losses must be finite, and an iteration that learns is timed. Each
row says whether rollouts (``graphs``) and updates (``update_graphs``) were replayed as CUDA graphs.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from warpworld.config import RunConfig, load_config
from warpworld.trainers.trainer import Trainer

from .cases import replays, updates_replay
from .clock import synchronise
from .needs import of_iteration
from .part import Context

# Iterations that learn and do not count. A graph of an update is replayed from the second one.
WARM_UP, QUICK_WARM_UP = 3, 1


@dataclass(frozen=True)
class Learner:
    """A run.

    Attributes:
        config: its packaged config.
        shows: what is learnt from, for people.
        replays: policies that learn from a replay.
        overrides: of the config.
        passes: policies that take several passes over a rollout in many minibatches.
    """

    config: str
    shows: str
    replays: Sequence[str] = ()
    overrides: Sequence[str] = ()
    passes: Sequence[str] = ()


# A perceptron, whose passes are one kernel: a packaged config's network and sizes follow what it has to learn.
FRAMES = ("trainer.num_envs=64", "policy.agent={learning_rate: 3e-3, num_minibatches: 8, clip_vloss: false}")

LEARNERS = (
    Learner("cartpole", "PPO", passes=("agent",)),
    Learner("tag_gridworld", "PPO of two policies", passes=("tagger", "runner")),
    Learner("minatar_breakout", "PPO of frames", (), FRAMES, ("agent",)),
    Learner(
        "minatar_breakout", "PPO of frames, updates beside rollouts", (), (*FRAMES, "trainer.overlap=true"), ("agent",)
    ),
    Learner("tag_gridworld_dqn", "DQN of two groups", ("tagger", "runner")),
    Learner("minatar_breakout_dqn", "DQN of frames", ("agent",)),
    Learner("recall_r2d2", "R2D2, by priorities of windows", ("agent",)),
    Learner("recall", "PPO with a GRU"),
    Learner("recall", "PPO with a minimal GRU, by a scan over time", overrides=["policy.agent.model.recurrent=mingru"]),
    Learner("pendulum_sac", "SAC of a Box", ("agent",)),
    Learner("particles_spread_vdn", "VDN of a team", ("agent",)),
    Learner("particles_spread_qmix", "QMIX of a team", ("agent",)),
    Learner("particles_spread_mappo", "MAPPO: a critic that reads the state of all agents"),
    Learner("connect_four", "PPO in a league: earlier selves and a random player", passes=("first", "second")),
)


def train(context: Context) -> None:
    """All of them."""
    for learner in context.in_time(LEARNERS, lambda learner: learner.config):
        trainer = Trainer(_config(learner, context.device, context.quick))
        warm_up = context.size(WARM_UP, QUICK_WARM_UP)
        seconds, losses = _train(trainer, context.device, warm_up, context.size(40, 1))
        if not losses or not all(map(math.isfinite, losses.values())):
            context.wrong(f"{learner.config}, {learner.shows}: {losses or 'nothing was learnt'}")
            continue
        context.row(**_row(learner, trainer, seconds), losses=losses)
    context.holds(headline_of(context.figures.get("rows", []), context.device))


def _row(learner: Learner, trainer: Trainer, seconds: float) -> dict[str, Any]:
    settings = trainer.config.trainer
    return {
        "config": learner.config,
        "shows": learner.shows,
        "seconds_per_iteration": seconds,
        "env_steps_per_s": settings.num_envs * settings.num_steps / seconds,
        "needs": asdict(of_iteration(trainer)),
        "graphs": replays(trainer),
        "update_graphs": updates_replay(trainer),
    }


def headline_of(rows: Sequence[dict[str, Any]], device: str) -> str:
    """The times; on a GPU first of all what did not run as graphs."""
    said = ", ".join(f"{row['config']} {1e3 * row['seconds_per_iteration']:.3g}" for row in rows)
    missing = [
        f"{what} of {row['config']}"
        for row in rows
        for what, column in (("rollouts", "graphs"), ("updates", "update_graphs"))
        if not row[column]
    ]
    first = f"not as graphs: {', '.join(missing) or 'none'}; " if device == "cuda" else ""
    return f"{first}ms an iteration: {said}"


def _train(trainer: Trainer, device: str, warm_up: int, iterations: int) -> tuple[float, dict[str, float]]:
    """Median of the seconds that an iteration takes which learns, and the losses of the last one."""
    ends: list[float] = []
    losses: dict[str, float] = {}

    def on_iteration(metrics: dict[str, Any]) -> None:
        found = {name: value for name, value in metrics.items() if name.startswith("losses/")}
        if _all_learn(found):
            synchronise(device)
            ends.append(time.perf_counter())
            losses.update(found)

    trainer.train(None, on_iteration, stop=lambda: len(ends) > warm_up + iterations)
    taken = [end - begin for begin, end in itertools.pairwise(ends[warm_up:])]
    return statistics.median(taken) if taken else math.nan, losses


def _all_learn(losses: dict[str, float]) -> bool:
    """Whether each policy has learnt in an iteration: until its replay is full enough, all it reports is 0."""
    policies = {name.split("/")[1] for name in losses}
    return bool(losses) and all(
        any(value != 0 for name, value in losses.items() if name.split("/")[1] == policy) for policy in policies
    )


def _config(learner: Learner, device: str, quick: bool) -> RunConfig:
    """A run that reports each iteration; a quick one learns from few transitions."""
    overrides = [f"trainer.device={device}", "saving.log_every=1", *learner.overrides]
    if quick:
        overrides += ["trainer.num_envs=16", *(["trainer.num_steps=8"] if learner.passes else [])]
        overrides += [
            f"policy.{name}.{few}" for name in learner.passes for few in ("update_epochs=1", "num_minibatches=2")
        ]
        for policy in learner.replays:
            few = {"batch_size": 16, "learning_starts": 1_000, "replay_size": 20_000, "updates": 1}
            overrides += [f"policy.{policy}.{name}={value}" for name, value in few.items()]
    return load_config(learner.config, overrides)
