"""Population based training beside the same budget without it: ``python -m benchmarks.population``.

Four ways to spend the env steps of a packaged config, where the learning rate and the entropy bonus are known to lie in
wide ranges only:

- population: members of one run, the worst of which copy the best;
- random search: as many runs with the settings that the members begin with, each with its part of the envs; the run
  with the highest returns at its end is taken;
- one draw: a single run with the settings of the first member and all envs;
- packaged: a single run with the settings of the packaged config, which were tuned by hand.

Each prints the mean return of whole episodes that the policy plays at the end.
"""

from __future__ import annotations

import argparse
import json
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from warpworld.config import PopulationConfig, RunConfig, load_config
from warpworld.trainers.play import play
from warpworld.trainers.population import Exploration
from warpworld.trainers.trainer import Trainer

MEMBERS, INTERVAL, EPISODES = 8, 8, 256
RANGES = "{learning_rate: [1e-5, 1e-1], ent_coef: [1e-4, 1e-1]}"
SECTION = f"policy.agent.population={{members: {MEMBERS}, interval: {INTERVAL}, settings: {RANGES}}}"
TASKS = {
    "acrobot": [],
    "cartpole": ["trainer.num_envs=128", "trainer.num_steps=64", "trainer.total_env_steps=600_000"],
}
THREADS = ["trainer.device=cpu", "trainer.num_workers=1", "trainer.torch_threads=1", "policy.agent.anneal_lr=false"]


def population(task: str, seed: int) -> float:
    """Score of a population's best member."""
    return _score(_trained(_config(task, seed, SECTION)))


def random_search(task: str, seed: int) -> float:
    """Score of the run that had the highest returns in its last iterations."""
    envs = _config(task, seed).trainer.num_envs
    sizes = f"trainer.num_envs={envs // MEMBERS}", f"trainer.total_env_steps={_budget(task, seed) // MEMBERS}"
    found = []
    for member, values in enumerate(_first_values(task, seed)):
        last: list[tuple[float, int]] = []
        config = _config(task, seed + 1000 * member, *sizes, *values)
        trainer = _trained(config, lambda metrics, last=last: last.append(_ended(metrics)))  # type: ignore[misc]
        found.append((_mean(last[-INTERVAL:]), trainer))
    return _score(max(found, key=lambda pair: pair[0])[1])


def one_draw(task: str, seed: int) -> float:
    """Score of a run with the first member's settings."""
    return _score(_trained(_config(task, seed, *next(_first_values(task, seed)))))


def packaged(task: str, seed: int) -> float:
    """Score of a run with the packaged config's settings."""
    return _score(_trained(_config(task, seed, "policy.agent.anneal_lr=true")))


ARMS: dict[str, Callable[[str, int], float]] = {
    "population": population,
    "random search": random_search,
    "one draw": one_draw,
    "packaged": packaged,
}


def _config(task: str, seed: int, *overrides: str) -> RunConfig:
    return load_config(task, [*TASKS[task], *THREADS, f"trainer.seed={seed}", *overrides])


def _budget(task: str, seed: int) -> int:
    """Env steps of whole iterations."""
    trainer = _config(task, seed).trainer
    per_iteration = trainer.num_envs * trainer.num_steps
    return trainer.total_env_steps // per_iteration * per_iteration


def _first_values(task: str, seed: int) -> Iterator[list[str]]:
    """Overrides with the settings that each member begins with."""
    entry: Any = _config(task, seed, SECTION).policy["agent"]
    section: PopulationConfig = entry.population
    exploration = Exploration(section, seed ^ zlib.crc32(b"agent"))
    for member in range(section.members):
        values = exploration.first_values(member)
        yield [f"policy.agent.{name}={value!r}" for name, value in values.items()]


def _trained(config: RunConfig, on_iteration: Callable[[dict[str, Any]], None] | None = None) -> Trainer:
    trainer = Trainer(config)
    trainer.train(None, on_iteration)
    return trainer


def _ended(metrics: dict[str, Any]) -> tuple[float, int]:
    """Mean return and number of an iteration's episodes."""
    return metrics["charts/agent/episodic_return"], metrics["charts/episodes"]


def _mean(ended: Sequence[tuple[float, int]]) -> float:
    known = [(value, count) for value, count in ended if count]
    total = sum(count for _, count in known)
    return sum(value * count for value, count in known) / total if total else -math.inf


def _score(trainer: Trainer) -> float:
    returns = play(trainer.config, trainer.policies, EPISODES, seed=0, greedy=False).returns["agent"]
    return float(returns.mean())


def main(argv: Sequence[str] | None = None) -> None:
    """Train and print; each figure as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.population", description=__doc__)
    parser.add_argument("tasks", nargs="*", choices=[*TASKS, []], metavar="TASK", help=f"of {', '.join(TASKS)}")
    parser.add_argument("--seeds", type=int, default=5, help="how many (default: 5)")
    parser.add_argument("--first-seed", type=int, default=101, help="the first of them (default: 101)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="the figures as JSON")
    given = parser.parse_args(argv)
    seeds, found = range(given.first_seed, given.first_seed + given.seeds), dict[str, Any]()
    for task in given.tasks or TASKS:
        print(f"{task}, seeds {', '.join(map(str, seeds))}", flush=True)
        for arm, score in ARMS.items():
            figures = found.setdefault(task, {})[arm] = [round(score(task, seed), 1) for seed in seeds]
            print(f"  {arm:14}", *(f"{figure:8.1f}" for figure in figures), flush=True)
            if given.save:
                given.save.write_text(json.dumps({"seeds": list(seeds), "returns": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
