"""The stages through which hide and seek goes while both teams learn, found in a run's metrics and played again.

``python -m benchmarks.stages RUN [KEY=VALUE ...] [--episodes N] [--picture PNG]`` prints when each stage begins, and
two tables: how often the hiders of each stage beat the seekers of each, in the game that the scoreboard judges, and the
metrics of each stage's two teams in it. ``KEY=VALUE`` changes a parameter of that game. The picture has the curves with
the stages marked, and the first table.

A stage begins where the mean of a metric over ``WINDOW`` iterations first passes a mark:

- chase: hidden is below the middle between its first value and its least one;
- shields, in the open alone: boxes are moved by ``SHIELDED`` metres an episode;
- doors, or in the open shelters: half of the preparations end with hiders shut in;
- locks: half of them end with these boxes locked.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpworld import Run
from warpworld.cli.override_options import played_config
from warpworld.drawing import INK, PAPER, SERIES, figure
from warpworld.runs import read_metrics
from warpworld.text import print_columns
from warpworld.trainers.loaded_policies import load_policies
from warpworld.trainers.play import play_sides

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WINDOW = 20  # iterations
SHIELDED = 3.0  # metres, half the arena's side
JUDGED = "env.randomize={}", "env.start_away=1.0", "env.preparation=32"  # as in configs/reproduce/hide_and_seek.yaml
SHARES = {"hidden": "steps hidden", "covered": "shut in", "sealed": "and locked"}
OUTCOMES = "hidden", "covered", "sealed", "sheltered", "num_locked", "seeker_locks", "ramp_used"
COUNTS = {
    **{"seeker_locks": "locks by seekers", "seeker_unlocks": "unlocks by seekers", "holds_broken": "holds broken"},
    "box_moved": "metres boxes moved",
}


@dataclass(frozen=True)
class Stage:
    """Part of a training.

    Attributes:
        name: of what begins with it.
        iteration: the first.
        checkpoint: the newest one before the next stage begins.
    """

    name: str
    iteration: int
    checkpoint: int


def smoothed(values: np.ndarray) -> np.ndarray:
    """Means over the last ``WINDOW`` values, or over as many as there are."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - WINDOW, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def beginnings(curves: Mapping[str, np.ndarray], is_open: bool = False) -> dict[str, int]:
    """Index at which each stage begins, in order; stages that do not come, or not in this order, are left out.

    Args:
        curves: smoothed metrics by name, (iterations,).
        is_open: there are no inner walls.
    """
    hidden = curves["hidden"]
    marks = {"chase": hidden < 0.5 * (hidden[0] + hidden.min())}
    if is_open:
        marks["shields"] = curves["box_moved"] >= SHIELDED
    marks["shelters" if is_open else "doors"] = curves["covered"] >= 0.5
    marks["locks"] = curves["sealed"] >= 0.5
    found = {"start": 0}
    for name, is_past in marks.items():
        after = np.flatnonzero(is_past[max(found.values()) :])
        if len(after):
            found[name] = int(after[0]) + max(found.values())
    return found


def stages_of(begin: Mapping[str, int], iterations: Sequence[int], checkpoints: Sequence[int]) -> list[Stage]:
    """Stages with a checkpoint in each.

    Args:
        begin: index of each stage's first iteration, see ``beginnings``.
        iterations: of the metrics.
        checkpoints: iterations of these; of the start the first is taken, of a stage without one the next.
    """
    firsts = [iterations[index] for index in begin.values()]
    found = []
    for name, first, following in zip(begin, firsts, [*firsts[1:], checkpoints[-1] + 1], strict=True):
        within = [checkpoint for checkpoint in checkpoints if first <= checkpoint < following]
        later = next((checkpoint for checkpoint in checkpoints if checkpoint >= first), checkpoints[-1])
        found.append(Stage(name, first, checkpoints[0] if name == "start" else within[-1] if within else later))
    return found


# ---- picture ---------------------------------------------------------------------------------------------------------
def draw(
    path: Path, steps: np.ndarray, curves: Mapping[str, np.ndarray], found: list[Stage], rates: np.ndarray
) -> None:
    """Draw curves over env steps, with a line where each stage begins, and the table of win rates."""
    begin = {stage.name: steps[np.searchsorted(curves["iteration"], stage.iteration)] for stage in found}
    with figure(path, 7.4, 6.4, dpi=130) as drawn:
        panels = drawn.subplot_mosaic([["shares", "counts"], ["matrix", "matrix"]])
        shares, counts, matrix = (panels[name] for name in ("shares", "counts", "matrix"))
        for axis, metrics, what in ((shares, SHARES, "share"), (counts, COUNTS, "an episode")):
            for (name, label), colour in zip(metrics.items(), SERIES, strict=False):
                axis.plot(steps, curves[name], color=colour, linewidth=1.3, label=label)
            for number, (name, at) in enumerate(list(begin.items())[1:]):  # the start needs no line
                axis.axvline(at, color=INK, linewidth=0.8, linestyle=":")
                height = 1.02 + 0.06 * (number % 2)  # above the curves, those of neighbours not beside each other
                axis.text(at, height, name, transform=axis.get_xaxis_transform(), fontsize=8, ha="center")
            axis.set(xlabel="million env steps", ylabel=what)
            axis.legend(fontsize=8)
        _draw_rates(matrix, [stage.name for stage in found], rates)


def _draw_rates(axis: Axes, names: Sequence[str], rates: np.ndarray) -> None:
    axis.imshow(rates, cmap="RdBu", vmin=0.0, vmax=1.0)
    axis.set_xticks(range(len(names)), names)
    axis.set_yticks(range(len(names)), names)
    axis.set(xlabel="seekers after", ylabel="hiders after", title="episodes that hiders win")
    axis.grid(visible=False)
    for (i, j), rate in np.ndenumerate(rates):
        colour = PAPER if abs(rate - 0.5) > 0.3 else INK
        axis.text(j, i, f"{rate:.2f}", ha="center", va="center", color=colour, fontsize=9)


# ---- command ---------------------------------------------------------------------------------------------------------
def curves_of(run: Run) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Millions of env steps (iterations,), and smoothed metrics by name beside the numbers of the iterations."""
    rows = [row for row in read_metrics(run.metrics_path).rows if "env/hidden" in row]
    curves = {name: smoothed(np.array([row[f"env/{name}"] for row in rows])) for name in (*SHARES, *COUNTS)}
    curves["iteration"] = np.array([row["iteration"] for row in rows])
    return np.array([row["env_steps"] for row in rows]) / 1e6, curves


def played(
    run: Run, found: Sequence[Stage], episodes: int, overrides: Sequence[str]
) -> tuple[np.ndarray, list[dict[str, float]]]:
    """Share of episodes that hiders of each stage (rows) win against seekers of each (columns), and metrics by stage.

    Hiders win an episode in which no seeker sees them in more than half of the steps of the chase; half of them is a
    draw, and counts half.
    """
    config = played_config(run, [*JUDGED, *overrides])
    selves = [load_policies(run, each.checkpoint) for each in found]
    rates, outcomes = np.zeros((len(found), len(found))), []
    for i, j in np.ndindex(*rates.shape):
        players = {"hider": selves[i]["hider"], "seeker": selves[j]["seeker"]}
        game = play_sides(config, players, episodes, 1 + len(found) * i + j, dict.fromkeys(players, False))
        rates[i, j] = ((game.returns["hider"].mean(1).sign() + 1) / 2).mean().item()
        if i == j:
            outcomes.append(game.metrics)
    return rates, outcomes


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the stages and the tables of a run, and draw stages and win rates."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stages", description=__doc__.split("\n")[0])
    parser.add_argument("run", help="a run folder of hide_and_seek, with checkpoints")
    parser.add_argument("env", nargs="*", metavar="KEY=VALUE", help="a parameter of the game that is played")
    parser.add_argument("--episodes", type=int, default=512, help="of each pair (default: 512)")
    parser.add_argument("--picture", type=Path, help="PNG to draw")
    given = parser.parse_args(arguments)
    run = Run.open(given.run)
    steps, curves = curves_of(run)
    is_open = run.config.env.get("rooms") == 0
    found = stages_of(beginnings(curves, is_open), curves["iteration"].tolist(), run.checkpoints())
    rates, outcomes = played(run, found, given.episodes, given.env)
    at = np.searchsorted(curves["iteration"], [stage.iteration for stage in found])
    print_columns([
        ["stage", "begins", "self of iteration"],
        *([each.name, f"{steps[i]:.2f} M env steps", f"{each.checkpoint}"] for each, i in zip(found, at, strict=True)),
    ])  # fmt: skip
    print(f"\nepisodes that hiders win, {given.episodes} of each pair; rows: hiders after a stage, columns: seekers")
    names = [stage.name for stage in found]
    lines = [[f"{rate:.2f}" for rate in row] for row in rates]
    print_columns([["", *names], *([name, *line] for name, line in zip(names, lines, strict=True))])
    print("\nmeans over episodes of both teams of a stage")
    print_columns([
        ["", *OUTCOMES],
        *([name, *(f"{own[f'env/{key}']:.2f}" for key in OUTCOMES)] for name, own in zip(names, outcomes, strict=True)),
    ])  # fmt: skip
    if given.picture is not None:
        draw(given.picture, steps, curves, found, rates)
        print(given.picture)


if __name__ == "__main__":
    main()
