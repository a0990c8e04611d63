"""Floors on a card of given rates, before it is there: what each work needs of it, and the floor that follows.

``python -m benchmarks.gpu --forecast 3.0TB/s,67TFLOP/s,798TFLOP/s`` prints it; the rates are those that the part
"rates" measures: of a copy, bytes read plus written; of a product in float32; of one in bfloat16. Worlds and trainers
are built small on a CPU, only to be counted: what an env step needs does not depend on the number of envs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from warpworld.cli.profile.rates import DEVICES, EXAMPLE, Rates
from warpworld.trainers.trainer import Trainer

from . import breakout
from .cases import (
    CARTPOLE,
    TAG_CONTINUOUS,
    TAG_GRIDWORLD,
    THOUSAND_AGENTS,
    THOUSAND_ON_A_GRID,
    THOUSANDS_ON_A_GRID,
    Case,
    build_trainer,
    build_world,
)
from .eyes import CASES as EYES
from .floors import floor_of
from .needs import Needs, of_iteration, of_rollout, of_view, of_world
from .numbers import short
from .summary import WIDTH
from .targets import TARGETS

HELP = (
    f"print floors on a card ({', '.join(DEVICES)}) or at given rates, such as {EXAMPLE} (copy, float32 and bf16 "
    "product); run nothing"
)
HOMES = 50  # of the thousand in worlds with eyes, which take a minute to draw


# Worlds that are stepped with random actions, and the label of the target of each, in targets.py.
SIMULATIONS = (
    (THOUSAND_AGENTS, "tag_continuous 2000 x 1000, no policy"),
    (THOUSAND_ON_A_GRID, None),
    *((case, None) for case in THOUSANDS_ON_A_GRID),
    (CARTPOLE, "cartpole 65,536, random actions"),
)
VIEWS = tuple(zip(EYES, ("explorer, 256 rays", "point_goal, 512 rays", "deathmatch, 512 rays"), strict=True))
# Worlds that policies learn in, with the targets of a rollout and of an iteration.
TRAININGS = (
    (TAG_GRIDWORLD, "tag_gridworld 2000 x 5, rollout", "... training beside WarpDrive's"),
    (TAG_CONTINUOUS, None, "tag_continuous 2000 x 110, training beside WarpDrive's"),
    (breakout.BREAKOUT, None, "minatar_breakout 8,192, MinGRU 32 x 4, training"),
)


@dataclass(frozen=True)
class Work:
    """One line of the table.

    Attributes:
        world: its name.
        agents: of an env.
        column: "simulation", "inference" or "training", as in the suite's rows.
        needs: of an env step.
        target: label of what we want to reach; None where nothing is set.
    """

    world: str
    agents: int
    column: str
    needs: Needs
    target: str | None


# ---- the table -------------------------------------------------------------------------------------------------------
def works() -> Iterator[Work]:
    """Count all that the suite has a floor for, but for learners, which have no target."""
    for case, target in SIMULATIONS:
        world = build_world(case.smaller(2, case.num_steps), "cpu")
        yield Work(case.name, world.num_agents, "simulation", of_world(world), target)
    for case, target in VIEWS:
        world = build_world(case.smaller(2, case.num_steps, num_plans=HOMES), "cpu")
        yield Work(case.name, world.num_agents, "simulation", of_view(world), target)
    for case, of_rollouts, of_training in TRAININGS:
        yield from _trained(case, of_rollouts, of_training)


def _trained(case: Case, rollouts: str | None, training: str | None) -> Iterator[Work]:
    """The world by itself, its rollouts and its iterations; the arguments are a case and labels of targets."""
    trainer = _trainer(case)
    agents = trainer.world.num_agents
    precision = "bf16" if case is breakout.BREAKOUT else "float32"
    yield Work(case.name, agents, "simulation", of_world(trainer.world), None)
    yield Work(case.name, agents, "inference", replace(of_rollout(trainer), precision=precision), rollouts)
    yield Work(case.name, agents, "training", replace(of_iteration(trainer), precision=precision), training)


def _trainer(case: Case) -> Trainer:
    """A small one, in float32: not every CPU has products of bfloat16, and the counts are the same."""
    if case is breakout.BREAKOUT:
        return Trainer(breakout.config_of(case.smaller(breakout.MINIBATCHES, case.num_steps), "cpu", "float32"))
    return build_trainer(case.smaller(2, case.num_steps), "cpu")


def main(given: Rates) -> int:
    """Print the forecast; returns the exit status."""
    Console(width=WIDTH).print(table_of(given, works()))
    print(f"worlds with eyes: lines of {HOMES} homes, of which the suite has {EYES[0].params['num_plans']:,}")
    return 0


def table_of(given: Rates, found: Iterable[Work]) -> Table:
    """Needs of each work, and what follows from the rates."""
    rates = f"copy {short(given.copy)}B/s, float32 {short(given.float32)}FLOP/s, bf16 {short(given.bf16)}FLOP/s"
    table = Table(title=f"an env step, and its floor on a card of {rates}", box=SIMPLE_HEAD, padding=(0, 1))
    for name in ("world", "agents", "column", "bytes", "FLOP", "lanes", "env steps/s", "x agents", "by", "target"):
        table.add_column(name, justify="left" if name in ("world", "column") else "right", no_wrap=True)
    for work in found:
        needs, floor = work.needs, floor_of(work.needs, given)
        counts = [short(count) if count else "" for count in (needs.bytes, needs.flop, needs.lane_operations)]
        speed = floor.env_steps_per_s
        speeds = short(speed), short(speed * work.agents)
        named = work.world, f"{work.agents:,}", work.column
        table.add_row(*named, *counts, *speeds, floor.by, _target(work.target))
    return table


def _target(label: str | None) -> str:
    if label is None:
        return ""
    target = next(target for target in TARGETS if target.label == label)
    peer = label.partition(" beside ")[2]
    return f"{target.wanted:g} {target.unit} {peer}".strip()
