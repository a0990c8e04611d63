"""An iteration on a GPU that need not be there: the nodes of a rollout and of updates, and their least times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.cli.profile.nodes import Node
from warpworld.cli.profile.planned_iteration import planned_nodes
from warpworld.cli.profile.rates import Rates
from warpworld.config import RunConfig
from warpworld.trainers.spans import Span

WARM_UP = 2  # iterations, in which graphs are made


@dataclass(frozen=True)
class Line:
    """Equal nodes of a part.

    Attributes:
        part: the rollout, or a policy's update.
        node: one of them.
        count: how many there are.
        seconds: the least time of all.
    """

    part: Span
    node: Node
    count: int
    seconds: float


@dataclass(frozen=True)
class Forecast:
    """An iteration.

    Attributes:
        lines: equal nodes together, part by part, in the order in which each came first.
        env_steps: that it takes.
    """

    lines: list[Line]
    env_steps: int

    def parts(self) -> list[Span]:
        """The parts, in order."""
        return list(dict.fromkeys(line.part for line in self.lines))

    def of(self, part: Span) -> list[Line]:
        """The lines of a part."""
        return [line for line in self.lines if line.part == part]

    @property
    def seconds(self) -> float:
        """The least time of all nodes, one behind the other."""
        return sum(line.seconds for line in self.lines)


def forecast(config: RunConfig, rates: Rates) -> Forecast:
    """Forecast what an iteration of a config asks of a GPU, and the least time of each node at given rates.

    The program is the one that runs on cuda, at the config's sizes: its kernels are noted and not run, and torch's
    operations are carried out on the host, on zeros. No GPU is needed, and nothing is compiled or written.

    Raises:
        WarpworldError: the config cannot be trained on cuda.
    """
    nodes = planned_nodes(config, WARM_UP)
    sizes = config.trainer
    return Forecast(_lines(nodes, rates), sizes.num_envs * sizes.num_steps)


def _lines(nodes: dict[Span, list[Node]], rates: Rates) -> list[Line]:
    lines = []
    for part, of_part in nodes.items():
        counts = Counter(of_part)
        lines += [Line(part, node, count, count * _seconds(node, rates)) for node, count in counts.items()]
    return lines


def _seconds(node: Node, rates: Rates) -> float:
    return rates.seconds(node.read + node.written, node.flop, node.is_bf16)


def totals(lines: Sequence[Line]) -> tuple[int, float, float, float, float]:
    """Nodes, bytes read and written, operations, and seconds of some lines."""
    count = sum(line.count for line in lines)
    read = sum(line.count * line.node.read for line in lines)
    written = sum(line.count * line.node.written for line in lines)
    return count, read, written, sum(line.count * line.node.flop for line in lines), sum(each.seconds for each in lines)
