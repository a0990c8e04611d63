"""What a measurement says, and how the table shows it."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One measurement.

    Attributes:
        world: what was stepped.
        system: who stepped it.
        num_envs: envs of a call.
        agents: agents of an env.
        workers: threads or processes.
        seconds_per_call: median.
        spread: of the windows, relative to the median.
    """

    world: str
    system: str
    num_envs: int
    agents: int
    workers: int
    seconds_per_call: float
    spread: float

    @property
    def env_steps_per_s(self) -> float:
        """One env advancing by one step counts one, whatever its number of agents."""
        return self.num_envs / self.seconds_per_call

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            **dataclasses.asdict(self),
            "env_steps_per_s": self.env_steps_per_s,
            "agent_steps_per_s": self.env_steps_per_s * self.agents,
        }


@dataclass(frozen=True)
class LearningRow:
    """One measurement of training.

    Attributes:
        world: what is learnt.
        system: who learns it.
        cores: of networks and envs.
        num_envs: envs that step together.
        num_steps: steps of each between two updates.
        update_epochs: passes over them.
        num_minibatches: gradient steps of a pass.
        seconds_per_iteration: of a rollout and its update, median.
        cpu_seconds_per_iteration: of all threads, median; other programs change it less.
        seconds_per_update: of the update, median.
        spread: of iterations, between the quartiles, relative to the median.
        update_operations: of products and convolutions, in an update.
        product: operations per second of a plain product in the same process.
    """

    world: str
    system: str
    cores: int
    num_envs: int
    num_steps: int
    update_epochs: int
    num_minibatches: int
    seconds_per_iteration: float
    cpu_seconds_per_iteration: float
    seconds_per_update: float
    spread: float
    update_operations: float
    product: float

    @property
    def env_steps_per_s(self) -> float:
        """Envs included, and all that learning from their steps costs."""
        return self.num_envs * self.num_steps / self.seconds_per_iteration

    @property
    def operations_per_s(self) -> float:
        """Of the update."""
        return self.update_operations / self.seconds_per_update

    @property
    def share_of_product(self) -> float:
        """The update's operations per second, in parts of a plain product's."""
        return self.operations_per_s / self.product

    def is_like(self, other: LearningRow) -> bool:
        """Whether both do the same work in the same setting on as many cores."""
        return self.world == other.world and self.is_sized_like(other)

    def is_sized_like(self, other: LearningRow) -> bool:
        """Whether both learn from as many rows in as many steps on as many cores."""
        sizes = "cores", "num_envs", "num_steps", "update_epochs", "num_minibatches"
        return all(getattr(self, name) == getattr(other, name) for name in sizes)

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        derived = {name: getattr(self, name) for name in ("env_steps_per_s", "operations_per_s", "share_of_product")}
        return {**dataclasses.asdict(self), **derived}


@dataclass(frozen=True)
class StartRow:
    """How long a command takes to the end of its first update, with kernels in the cache.

    Attributes:
        config: that is trained.
        cores: that the process may use.
        seconds: wall time, median.
        cpu_seconds: of all threads, median.
        spread: of the wall times, relative to the median.
    """

    config: str
    cores: int
    seconds: float
    cpu_seconds: float
    spread: float

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class ShareRow:
    """What of a rollout is our own, and what the policy's network takes, on one core.

    Attributes:
        world: what is stepped.
        num_envs: envs that step together.
        agents: agents of an env.
        own_seconds: of one env step: stepping, drawing and recording actions, counting episodes.
        policy_seconds: of one env step.
        spread: of the windows, relative to the median.
    """

    world: str
    num_envs: int
    agents: int
    own_seconds: float
    policy_seconds: float
    spread: float

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class AdapterRow:
    """A step through a protocol.

    Attributes:
        world: what is stepped.
        system: through what.
        num_envs: envs of a call.
        seconds_per_call: wall time, median.
        cpu_seconds_per_call: of all threads, median.
        spread: of the windows' wall times, relative to the median.
    """

    world: str
    system: str
    num_envs: int
    seconds_per_call: float
    cpu_seconds_per_call: float
    spread: float

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class LearningTimeRow:
    """How long learning took from nothing to a return.

    Attributes:
        task: what is learnt, by what, to which return.
        system: who learns it.
        env_steps: until then; median over the seeds.
        cpu_seconds: median over the seeds, infinite where most did not get there.
        slowest: of the seeds.
    """

    task: str
    system: str
    env_steps: float
    cpu_seconds: float
    slowest: float

    def as_dict(self) -> dict[str, object]:
        """For JSON, which knows no infinity."""
        finite = {name: getattr(self, name) for name in ("cpu_seconds", "slowest")}
        return {**dataclasses.asdict(self), **{name: x if x < float("inf") else None for name, x in finite.items()}}


def print_learning_times(rows: Iterable[LearningTimeRow]) -> None:
    """Print rows, each with its CPU time as a multiple of the first system's on the same task."""
    rows = list(rows)
    table = Table(title="from nothing to a mean return of greedy episodes, one core; medians of three seeds")
    table.add_column("task")
    table.add_column("system")
    for name in ("env steps", "env steps/CPU s", "CPU s", "slowest", "x first"):
        table.add_column(name, justify="right")
    for row in rows:
        first = next(r for r in rows if r.task == row.task)
        speed = row.env_steps / row.cpu_seconds  # 0 where it never got there
        figures = (row.cpu_seconds, row.slowest, row.cpu_seconds / first.cpu_seconds)
        shown = [f"{x:.1f}" if x < float("inf") else "never" for x in figures]
        table.add_row(row.task, row.system, f"{row.env_steps:,.0f}", f"{speed:,.0f}", *shown)
    Console().print(table)


@dataclass(frozen=True)
class ReplayRow:
    """What a replay does.

    Attributes:
        task: what is asked for.
        system: of whom.
        items: transitions that the replay holds.
        seconds_per_call: wall time, median.
        cpu_seconds_per_call: of all threads, median.
        spread: of the windows' wall times, relative to the median.
    """

    task: str
    system: str
    items: int
    seconds_per_call: float
    cpu_seconds_per_call: float
    spread: float

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return dataclasses.asdict(self)


def print_table(rows: Iterable[Row]) -> None:
    """Print rows, each with its speed as a multiple of the fastest peer on the same world and number of envs."""
    rows = list(rows)
    table = Table(title="stepping, random actions, auto-reset included; medians")
    table.add_column("world")
    table.add_column("system")
    for name in (
        "envs",
        "agents",
        "workers",
        "µs/call",
        "µs/env step",
        "M env steps/s",
        "M agent steps/s",
        "spread",
        "x peer",
    ):
        table.add_column(name, justify="right")
    for row in rows:
        peers = [r for r in rows if r.world == row.world and r.num_envs == row.num_envs and r.system != "warpworld"]
        best = max((peer.env_steps_per_s for peer in peers), default=0.0)
        ratio = f"{row.env_steps_per_s / best:.1f}" if best and row.system == "warpworld" else ""
        table.add_row(
            row.world,
            row.system,
            f"{row.num_envs}",
            f"{row.agents}",
            f"{row.workers}",
            f"{row.seconds_per_call * 1e6:.2f}",
            f"{row.seconds_per_call / row.num_envs * 1e6:.4f}",
            f"{row.env_steps_per_s / 1e6:.3g}",
            f"{row.env_steps_per_s * row.agents / 1e6:.3g}",
            f"{row.spread:.0%}",
            ratio,
        )
    Console(width=140).print(table)


def thousands(number: float) -> str:
    """In thousands, with a decimal where there are few."""
    return f"{number / 1e3:,.{0 if number >= 1e4 else 1}f}"


def print_learning(rows: Iterable[LearningRow]) -> None:
    """Print rows, each with the speed of the first system of the same work and setting as a multiple of its own."""
    rows = list(rows)
    table = Table(title="training end to end, in env steps and ms of an iteration; medians")
    table.add_column("work")
    table.add_column("system")
    for name in (
        *("cores", "envs x steps", "epochs x parts", "ms", "CPU ms", "update"),
        *("k steps/s", "spread", "first / it", "GFLOP/s", "of product"),
    ):
        table.add_column(name, justify="right")
    for row in rows:
        first = next(each for each in rows if each.is_like(row))
        table.add_row(
            row.world,
            row.system,
            f"{row.cores}",
            f"{row.num_envs} x {row.num_steps}",
            f"{row.update_epochs} x {row.num_minibatches}",
            f"{row.seconds_per_iteration * 1e3:.1f}",
            f"{row.cpu_seconds_per_iteration * 1e3:.1f}",
            f"{row.seconds_per_update * 1e3:.1f}",
            thousands(row.env_steps_per_s),
            f"{row.spread:.0%}",
            f"{first.env_steps_per_s / row.env_steps_per_s:.2f}",
            f"{row.operations_per_s / 1e9:.0f}",
            f"{row.share_of_product:.0%}",
        )
    Console(width=160).print(table)
    for cores in sorted({row.cores for row in rows}):
        product = statistics.median(row.product for row in rows if row.cores == cores)
        print(f"a plain product makes {product / 1e9:.0f} GFLOP/s on {cores} core{'s' * (cores != 1)}, median")


def print_starts(rows: Iterable[StartRow]) -> None:
    """Print rows."""
    table = Table(title="`warpworld train` to its first update; medians")
    table.add_column("config")
    for name in ("cores", "s", "CPU s", "spread"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(row.config, f"{row.cores}", f"{row.seconds:.2f}", f"{row.cpu_seconds:.2f}", f"{row.spread:.0%}")
    Console(width=140).print(table)


def print_shares(rows: Iterable[ShareRow]) -> None:
    """Print rows."""
    table = Table(title="one env step of a rollout, on one core; medians")
    table.add_column("rollout")
    for name in ("envs", "agents", "our own µs", "policy µs", "spread"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.world,
            f"{row.num_envs}",
            f"{row.agents}",
            f"{row.own_seconds * 1e6:.3f}",
            f"{row.policy_seconds * 1e6:.3f}",
            f"{row.spread:.0%}",
        )
    Console(width=140).print(table)


def print_adapters(rows: Iterable[AdapterRow]) -> None:
    """Print rows, each with its CPU time as a multiple of the first system's on the same world and number of envs."""
    _print_calls(rows, "a call with new actions, one core; medians", ("world", "envs"))


def print_exported(rows: Iterable[AdapterRow]) -> None:
    """Print rows, each with its CPU time as a multiple of the first system's of the same policy and batch."""
    _print_calls(rows, "greedy actions of a policy, one core; medians", ("policy", "batch"))


def _print_calls(rows: Iterable[AdapterRow], title: str, headings: tuple[str, str]) -> None:
    rows = list(rows)
    table = Table(title=title)
    table.add_column(headings[0])
    table.add_column("system")
    for name in (headings[1], "µs/call", "CPU µs/call", "spread", "x first"):
        table.add_column(name, justify="right")
    for row in rows:
        first = next(r for r in rows if (r.world, r.num_envs) == (row.world, row.num_envs))
        table.add_row(
            row.world,
            row.system,
            f"{row.num_envs}",
            f"{row.seconds_per_call * 1e6:.2f}",
            f"{row.cpu_seconds_per_call * 1e6:.2f}",
            f"{row.spread:.0%}",
            f"{row.cpu_seconds_per_call / first.cpu_seconds_per_call:.2f}",
        )
    Console(width=140).print(table)


def print_replay(rows: Iterable[ReplayRow]) -> None:
    """Print rows, each with the first system's CPU time at the same task and size as a multiple of its own."""
    rows = list(rows)
    table = Table(title="replay, 512 transitions a draw, rows of 1024, one core; medians")
    table.add_column("task")
    table.add_column("system")
    for name in ("transitions", "µs/call", "CPU µs/call", "spread", "ours / it"):
        table.add_column(name, justify="right")
    for row in rows:
        first = next(r for r in rows if (r.task, r.items) == (row.task, row.items))
        table.add_row(
            row.task,
            row.system,
            f"{row.items:,}",
            f"{row.seconds_per_call * 1e6:.1f}",
            f"{row.cpu_seconds_per_call * 1e6:.1f}",
            f"{row.spread:.0%}",
            f"{first.cpu_seconds_per_call / row.cpu_seconds_per_call:.2f}",
        )
    Console(width=140).print(table)
