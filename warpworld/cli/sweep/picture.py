"""A study as a picture: the best value over trials, how much each key matters, and the values along each key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.drawing import SERIES, figure

if TYPE_CHECKING:
    import optuna
    from matplotlib.axes import Axes

PER_ROW = 3


def importances(study: optuna.Study) -> Mapping[str, float]:
    """The share of the objective's variance among good trials that each key explains, by PED-ANOVA; {} of too few."""
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    if len({trial.value for trial in _ended(study, "COMPLETE")}) < 2:
        return {}
    try:
        found: dict[str, float] = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    except (ValueError, RuntimeError):  # trials that have no key in common, or none with two values
        return {}
    return found


def draw_study(study: optuna.Study, objective: str, path: Path) -> Path:
    """Draw a study of which at least one trial is complete.

    Args:
        study: of a sweep.
        objective: its metric.
        path: the PNG; it appears complete or not at all.

    Returns:
        ``path``.

    Raises:
        RunError: it cannot be written.
    """
    # panels, the most important setting first
    shares = importances(study)
    keys = sorted(study.trials[0].distributions, key=lambda key: -shares.get(key, 0.0))
    rows = -(-(2 + len(keys)) // PER_ROW)
    with figure(path, 4.2 * PER_ROW, 3.2 * rows, f"{study.study_name}: {objective}") as drawn:
        axes = drawn.subplots(rows, PER_ROW, squeeze=False).flat
        # all trials
        _draw_history(next(axes), study)
        _draw_importances(next(axes), shares)
        # each setting
        for key in keys:
            leaf = key.rpartition(".")[2]
            is_unique = sum(other.rpartition(".")[2] == leaf for other in keys) == 1
            axis = next(axes)
            axis.set(title=leaf if is_unique else key, xlabel=key)
            _draw_slice(axis, study, key)
        # places without a panel
        for axis in axes:
            axis.set_visible(False)
    return path


def _ended(study: optuna.Study, state: str) -> list[optuna.trial.FrozenTrial]:
    return [trial for trial in study.get_trials(deepcopy=False) if trial.state.name == state]


def _draw_history(axis: Axes, study: optuna.Study) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set(title="best value over trials", xlabel="trial")
    trials = _ended(study, "COMPLETE")
    numbers, values = [trial.number for trial in trials], _values(trials)
    better = np.maximum if study.direction.name == "MAXIMIZE" else np.minimum
    axis.scatter(numbers, values, color=SERIES[-1], s=12)
    axis.step(numbers, better.accumulate(values), where="post", color=SERIES[0], linewidth=1.6)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_importances(axis: Axes, shares: Mapping[str, float]) -> None:
    axis.set(title="importance", xlabel="share of the variance")
    if not shares:
        axis.text(0.5, 0.5, "too few trials", transform=axis.transAxes, ha="center")
        return
    names = [key.rpartition(".")[2] for key in shares]
    axis.barh(range(len(names)), list(shares.values()), tick_label=names, color=SERIES[0])
    axis.invert_yaxis()


def _draw_slice(axis: Axes, study: optuna.Study, key: str) -> None:
    """The objective of each trial over one key's values, over the whole of its space; pruned trials are pale."""
    for state, colour in (("PRUNED", SERIES[-1]), ("COMPLETE", SERIES[0])):
        trials = [trial for trial in _ended(study, state) if trial.value is not None]
        given: list[Any] = [trial.params[key] for trial in trials]
        space: Any = study.trials[0].distributions[key]
        if hasattr(space, "choices"):
            given = [space.choices.index(value) for value in given]
        axis.scatter(given, _values(trials), color=colour, s=14, alpha=0.5 if state == "PRUNED" else 1.0)
    if hasattr(space, "choices"):
        axis.set_xticks(range(len(space.choices)), space.choices)
        axis.set_xlim(-0.5, len(space.choices) - 0.5)
        return
    if space.log:
        axis.set_xscale("log")
    axis.set_xlim(space.low, space.high)


def _values(trials: Sequence[optuna.trial.FrozenTrial]) -> np.ndarray:
    return np.array([trial.value for trial in trials], np.float64)
