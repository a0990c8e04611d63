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
            f"{row.env_steps_per_s / 1e6:.2f}",
            f"{row.env_steps_per_s * row.agents / 1e6:.1f}",
            f"{row.spread:.0%}",
            ratio,
        )
    Console(width=140).print(table)
