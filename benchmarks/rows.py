"""What a measurement says, and how the table shows it."""

from __future__ import annotations

import dataclasses
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
        num_envs: envs that step together.
        num_steps: steps of each between two updates.
        update_epochs: passes over them.
        num_minibatches: gradient steps of a pass.
        threads: of networks and envs.
        seconds_per_iteration: of a rollout and its update, median.
        rollout_share: part of it that the rollout takes.
        spread: between the quartiles, relative to the median.
    """

    world: str
    system: str
    num_envs: int
    num_steps: int
    update_epochs: int
    num_minibatches: int
    threads: int
    seconds_per_iteration: float
    rollout_share: float
    spread: float

    @property
    def env_steps_per_s(self) -> float:
        """Envs included, and all that learning from their steps costs."""
        return self.num_envs * self.num_steps / self.seconds_per_iteration

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {**dataclasses.asdict(self), "env_steps_per_s": self.env_steps_per_s}


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
class CourseRow:
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


def print_courses(rows: Iterable[CourseRow]) -> None:
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


def print_learning(rows: Iterable[LearningRow]) -> None:
    """Print rows, each with its speed as a multiple of the first system's in the same setting."""
    rows = list(rows)
    table = Table(title="PPO end to end, envs included, two tanh networks 2 x 64; medians")
    table.add_column("learning")
    table.add_column("system")
    for name in (
        "envs x steps",
        "epochs x parts",
        "threads",
        "ms/iteration",
        "rollout",
        "M env steps/s",
        "spread",
        "x",
    ):
        table.add_column(name, justify="right")
    for row in rows:
        same = [r for r in rows if (r.num_envs, r.update_epochs) == (row.num_envs, row.update_epochs)]
        table.add_row(
            row.world,
            row.system,
            f"{row.num_envs} x {row.num_steps}",
            f"{row.update_epochs} x {row.num_minibatches}",
            f"{row.threads}",
            f"{row.seconds_per_iteration * 1e3:.1f}",
            f"{row.rollout_share:.0%}",
            f"{row.env_steps_per_s / 1e6:.3g}",
            f"{row.spread:.0%}",
            f"{row.env_steps_per_s / same[0].env_steps_per_s:.1f}",
        )
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
