"""Training for an experiment, and the curve that is kept of it."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import Any

import torch

from warpworld.runs.metrics.episode_means import RecentMean
from warpworld.runs.metrics.points import EPISODES, of_episodes
from warpworld.trainers.building import build_policies
from warpworld.trainers.trainer import Trainer

from .experiment import Curve, Experiment, Trained
from .keeping import keep
from .recent_return import RecentReturn

POINTS = 300  # of a curve that is kept, about


def run_seed(experiment: Experiment, seed: int, kept: Path | None = None) -> dict[str, Any]:
    """Train once.

    Args:
        experiment: which.
        seed: of the training.
        kept: folder into which what was learnt is written.

    Returns:
        seed, figures, whether the claim holds, and the curve.
    """
    began, spent = time.perf_counter(), time.process_time()
    trainer = Trainer(experiment.config(seed))
    curve: Curve = []
    earlier: dict[str, Any] = {}
    recent, means = RecentReturn(), dict[str, RecentMean]()

    def recent_means(metrics: dict[str, Any]) -> dict[str, Any]:
        """The metrics, means of episodes over at least 100 of them, as all figures of warpworld are."""
        found = dict(metrics)
        for name in filter(of_episodes, metrics):
            mean = means.setdefault(name, RecentMean())
            mean.add(metrics[name], metrics[EPISODES])
            found[name] = mean.value if mean.is_full else None
        return found

    def follow(metrics: dict[str, Any]) -> None:
        if trainer.iteration == -(-trainer.num_iterations // 4):
            earlier.update({name: copy.deepcopy(weights) for name, weights in trainer.state_dict()["policies"].items()})
        if "charts/episodes" not in metrics:  # an iteration that is not logged
            return
        known = {**recent_means(metrics), "recent_return": recent.after(metrics)}
        values = {key: known.get(key) for key in experiment.curves}
        values = {key: None if value is None or value != value else round(value, 3) for key, value in values.items()}
        curve.append((round(time.perf_counter() - began, 2), metrics["env_steps"], values))

    trainer.train(None, follow)
    spent = time.process_time() - spent
    if kept is not None:
        keep(trainer.config, trainer.state_dict(), kept)
    before = build_policies(trainer.config, trainer.world.environment, torch.Generator())
    for name, weights in earlier.items():
        before[name].load_state_dict(weights)  # type: ignore[union-attr]
    figures = experiment.judge(Trained(trainer.config, trainer.policies, before, curve, spent))
    return {"seed": seed, "figures": figures, "holds": experiment.holds(figures), "curve": thinned(curve)}


def thinned(curve: Curve) -> Curve:
    """Means of neighbouring points, so that about POINTS are left; time and steps are those of the last of them."""
    size = -(-len(curve) // POINTS)
    parts = [curve[first : first + size] for first in range(0, len(curve), size)]
    return [
        (*part[-1][:2], {name: _mean([values[name] for *_, values in part]) for name in part[0][2]}) for part in parts
    ]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 4) if known else None
