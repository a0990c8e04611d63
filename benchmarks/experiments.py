"""Whether agents learn, and how long it takes: three small experiments, each from several seeds.

``python -m warpworld.benchmarks.experiments`` trains them all and prints a table; ``--save FILE`` keeps figures and
curves as JSON, ``--draw FILE`` draws the curves. Every run counts its wall time from nothing: world, kernels (from the
build cache, where they are there), training. What was learnt is then played against random opponents.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer

from .experiment_curves import draw
from .learning import NoRun
from .main import conditions

EPISODES = 1000  # of each pairing that is played at the end
CARTPOLE_SOLVED = 475.0  # mean return over CARTPOLE_EPISODES episodes, as Gymnasium defines it
CARTPOLE_EPISODES = 100

Figures = dict[str, float | None]
Curve = list[tuple[float, int, dict[str, float | None]]]  # seconds, env steps, value by name


@dataclass(frozen=True)
class Experiment:
    """What is trained, and what is asked of it.

    Attributes:
        name: of the experiment.
        claim: what it is to show.
        changes: sections of the packaged config of that name, merged over it.
        curves: what the picture shows: metric -> what its axis says.
        judge: from the trained policies and the curve to the figures.
        holds: whether the figures show the claim.
    """

    name: str
    claim: str
    changes: dict[str, Any]
    curves: dict[str, str]
    judge: Callable[[Trainer, Curve], Figures]
    holds: Callable[[Figures], bool]

    def config(self, seed: int) -> RunConfig:
        """The run for one seed."""
        data = load_config(self.name).to_dict()
        _merge(data, self.changes)
        data["trainer"]["seed"] = seed
        return config_from_dict(data)


def _merge(data: dict[str, Any], changes: dict[str, Any]) -> None:
    """Put ``changes`` over ``data``; an entry with another algorithm replaces the whole entry."""
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(data.get(key), dict) and "algorithm" not in value:
            _merge(data[key], value)
        else:
            data[key] = value


# ---- CartPole -------------------------------------------------------------------------------------------------------
def _judge_cartpole(trainer: Trainer, curve: Curve) -> Figures:
    """When the mean over the last 100 episodes of the training first reached 475, and what is reached in the end."""
    solved = next((seconds for seconds, _, values in curve if (values["recent_return"] or 0) >= CARTPOLE_SOLVED), None)
    final = play(trainer.config, trainer.policies, EPISODES, seed=1)
    return {"seconds_to_475": solved, "final_return": float(final.returns["agent"].mean())}


CARTPOLE = Experiment(
    name="cartpole",
    claim=f"a mean return of {CARTPOLE_SOLVED:.0f} over {CARTPOLE_EPISODES} episodes within 60 s",
    changes={},
    curves={"recent_return": f"mean return of the last {CARTPOLE_EPISODES} episodes"},
    judge=_judge_cartpole,
    holds=lambda figures: (figures["seconds_to_475"] or 1e9) <= 60,
)


# ---- Tag on a grid --------------------------------------------------------------------------------------------------
def _judge_tag_gridworld(trainer: Trainer, curve: Curve) -> Figures:
    """Steps to the catch of a random runner; an episode in which it gets away counts its 100 steps."""
    trained = play(trainer.config, trainer.policies, EPISODES, seed=1)
    random = play(trainer.config, dict.fromkeys(trainer.policies), EPISODES, seed=1)
    return {
        "steps": float(trained.lengths.double().mean()),
        "steps_of_random_taggers": float(random.lengths.double().mean()),
        "seconds": curve[-1][0],
    }


TAG_GRIDWORLD = Experiment(
    name="tag_gridworld",
    claim="taggers catch a random runner in under half the steps that random taggers need, within 3 minutes",
    changes={
        "policy": {"tagger": {"gamma": 0.95}, "runner": {"algorithm": "random"}},
        "trainer": {"total_env_steps": 3_000_000},
    },
    curves={"charts/episodic_length": "steps to the catch"},
    judge=_judge_tag_gridworld,
    holds=lambda f: f["steps"] < f["steps_of_random_taggers"] / 2 and f["seconds"] <= 180,  # type: ignore[operator]
)


# ---- Tag on a plane -------------------------------------------------------------------------------------------------
def _judge_tag_continuous(trainer: Trainer, curve: Curve) -> Figures:
    """Cross-play: each side's mean return, trained and at random, against the other side trained and at random."""
    figures: Figures = {"seconds": curve[-1][0]}
    for tagger in ("trained", "random"):
        for runner in ("trained", "random"):
            chosen = {"tagger": tagger, "runner": runner}
            policies = {n: trainer.policies[n] if how == "trained" else None for n, how in chosen.items()}
            returns = play(trainer.config, policies, EPISODES, seed=1).returns
            for name in chosen:
                figures[f"{name}_when_{tagger}_meets_{runner}"] = float(returns[name].mean())
    return figures


def _both_sides_are_better(figures: Figures) -> bool:
    """Whether each trained side is better than a random one, against a random and against a trained opponent."""

    def of(name: str, tagger: str, runner: str) -> float:
        return figures[f"{name}_when_{tagger}_meets_{runner}"] or 0.0

    taggers = all(of("tagger", "trained", other) > of("tagger", "random", other) for other in ("trained", "random"))
    runners = all(of("runner", other, "trained") > of("runner", other, "random") for other in ("trained", "random"))
    return taggers and runners


TAG_CONTINUOUS = Experiment(
    name="tag_continuous",
    claim="5 taggers and 20 runners that learn together are both better than random ones, against either opponent",
    changes={
        "env": {"num_taggers": 5, "num_runners": 20, "episode_length": 200},
        "trainer": {"num_envs": 64, "num_steps": 50, "total_env_steps": 960_000},
    },
    curves={"charts/tagger/episodic_return": "return of a tagger", "charts/runner/episodic_return": "of a runner"},
    judge=_judge_tag_continuous,
    holds=_both_sides_are_better,
)

EXPERIMENTS = {experiment.name: experiment for experiment in (CARTPOLE, TAG_GRIDWORLD, TAG_CONTINUOUS)}


# ---- running --------------------------------------------------------------------------------------------------------
def run_seed(experiment: Experiment, seed: int) -> dict[str, Any]:
    """Train once.

    Returns:
        seed, figures, whether the claim holds, and the curve.
    """
    began = time.perf_counter()
    trainer = Trainer(experiment.config(seed))
    curve: Curve = []
    recent = _RecentReturn()

    def follow(metrics: dict[str, Any]) -> None:
        known = {**metrics, "recent_return": recent.after(metrics)}
        values = {key: known.get(key) for key in experiment.curves}
        values = {key: None if value is None or value != value else round(value, 3) for key, value in values.items()}
        curve.append((round(time.perf_counter() - began, 2), metrics["env_steps"], values))

    trainer.train(NoRun(), follow)  # type: ignore[arg-type]
    figures = experiment.judge(trainer, curve)
    return {"seed": seed, "figures": figures, "holds": experiment.holds(figures), "curve": curve}


class _RecentReturn:
    """Mean return of the first policy over the last 100 episodes or somewhat more: whole iterations are taken."""

    def __init__(self) -> None:
        self._iterations: list[tuple[int, float]] = []

    def after(self, metrics: dict[str, Any]) -> float | None:
        """With one more iteration; None before there have been as many episodes."""
        value = next(value for key, value in metrics.items() if key.endswith("/episodic_return"))
        if metrics["charts/episodes"]:
            self._iterations.append((metrics["charts/episodes"], value))
        count, total = 0, 0.0
        for episodes, mean in reversed(self._iterations):
            count, total = count + episodes, total + episodes * mean
            if count >= CARTPOLE_EPISODES:
                return total / count
        return None


def print_results(results: dict[str, list[dict[str, Any]]]) -> None:
    """A table for each experiment: a line for each figure, a column for each seed."""
    console = Console()
    for name, runs in results.items():
        console.print(f"\n{name}: {EXPERIMENTS[name].claim}", soft_wrap=True, highlight=False)
        table = Table(box=None)
        table.add_column("")
        for run in runs:
            table.add_column(f"seed {run['seed']}", justify="right")
        for figure in runs[0]["figures"]:
            values = [run["figures"][figure] for run in runs]
            table.add_row(figure.replace("_", " "), *("-" if v is None else f"{v:,.2f}" for v in values))
        table.add_row("holds", *("yes" if run["holds"] else "NO" for run in runs))
        console.print(table)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m warpworld.benchmarks.experiments", description=__doc__)
    parser.add_argument("experiments", nargs="*", metavar="NAME", help=f"of {', '.join(EXPERIMENTS)} (default: all)")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each, from 1 (default: 3)")
    parser.add_argument("--save", metavar="FILE", help="figures and curves as JSON")
    parser.add_argument("--draw", metavar="FILE", help="the curves as a PNG")
    arguments = parser.parse_args(argv)
    unknown = set(arguments.experiments) - set(EXPERIMENTS)
    if unknown:
        parser.error(f"no experiment {', '.join(sorted(unknown))}; there are {', '.join(EXPERIMENTS)}")
    results = {
        name: [run_seed(EXPERIMENTS[name], seed) for seed in range(1, arguments.seeds + 1)]
        for name in arguments.experiments or EXPERIMENTS
    }
    print_results(results)
    if arguments.save:
        Path(arguments.save).write_text(json.dumps({**conditions(), "results": results}) + "\n", encoding="utf-8")
    if arguments.draw:
        draw({name: EXPERIMENTS[name].curves for name in results}, results, Path(arguments.draw))


if __name__ == "__main__":
    main()
