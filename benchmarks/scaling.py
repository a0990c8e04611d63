"""What processes send each other, what that costs, and up to how many of them a run gains from more.

``python -m benchmarks.scaling [--save FILE] [CONFIG ...]`` prints three tables:

- what one process sends in an iteration, counted while a config's own trainer makes it;
- how long a sum takes on this machine, measured between one and two processes on the CPU;
- a model of 8 to 1024 GPUs. No GPU was measured: every number of the interconnect is an assumption, see ``Network``.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpworld.cli.bench.conditions import conditions

from .all_reduce import seconds_per_sum
from .traffic import Traffic, traffic

CONFIGS = ("cartpole", "tag_gridworld", "skirmish", "deathmatch", "cartpole_dqn")
NUM_GPUS = (8, 16, 32, 64, 128, 256, 512, 1024)
OWN_SECONDS = (0.01, 0.1, 1.0)  # assumed: an iteration of one GPU with all envs, without communication
GAIN = 1.5  # doubling the GPUs pays where it makes a run at least this much faster


# ---- what it costs ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Network:
    """What the model assumes of a cluster; none of it was measured.

    Attributes:
        gpus_per_node: that are joined by the faster links.
        seconds_inside: of a message between two GPUs of a node, however small.
        seconds_between: of one between two nodes.
        bytes_inside: per second and GPU, in a node.
        bytes_between: per second and GPU, between nodes.
        seconds_per_call: that the host takes to start a sum.
    """

    gpus_per_node: int = 8
    seconds_inside: float = 5e-6
    seconds_between: float = 20e-6
    bytes_inside: float = 200e9
    bytes_between: float = 25e9
    seconds_per_call: float = 10e-6

    def seconds(self, size: int, gpus: int) -> float:
        """Of a sum of ``size`` bytes over ``gpus`` GPUs: up and down a tree, first in nodes, then between them.

        Each GPU sends and receives 2 (n - 1) / n times its bytes in a group of n; inside a node all of them, between
        nodes its part of them.
        """
        inside = min(gpus, self.gpus_per_node)
        nodes = math.ceil(gpus / self.gpus_per_node)
        hops = 2 * (math.ceil(math.log2(inside)) * self.seconds_inside)
        hops += 2 * (math.ceil(math.log2(nodes)) * self.seconds_between)
        sent = 2 * (inside - 1) / inside * size / self.bytes_inside
        sent += 2 * (nodes - 1) / nodes * size / inside / self.bytes_between
        return self.seconds_per_call + hops + sent

    def per_iteration(self, sent: Traffic, gpus: int) -> float:
        """Of all sums of an iteration, one after the other; the bytes are taken to be spread evenly over them."""
        return sent.calls * self.seconds(sent.total // sent.calls, gpus) if gpus > 1 else 0.0


def speedup(own: float, together: Callable[[int], float], gpus: int) -> float:
    """Of a run whose envs are divided among GPUs.

    Args:
        own: seconds of an iteration of one GPU, all of which divides evenly.
        together: seconds of an iteration's communication, by the number of GPUs.
        gpus: how many.
    """
    return own / (own / gpus + together(gpus))


def pays_up_to(own: float, together: Callable[[int], float], most: int = NUM_GPUS[-1]) -> int:
    """The number of GPUs, a power of two, beyond which twice as many make a run less than ``GAIN`` times as fast."""
    gpus = 1
    while gpus < most and speedup(own, together, 2 * gpus) >= GAIN * speedup(own, together, gpus):
        gpus *= 2
    return gpus


# ---- tables ----------------------------------------------------------------------------------------------------------
def _print_traffic(found: Sequence[Traffic]) -> None:
    print("| config | parameters | calls an iteration | bytes an iteration and process | largest call |")
    print("|---|---|---|---|---|")
    for each in found:
        print(f"| `{each.config}` | {each.parameters:,} | {each.calls:,} | {each.total:,} | {each.largest:,} |")


def _print_measured(found: dict[int, dict[int, float]]) -> None:
    print("\n| bytes of a sum | " + " | ".join(f"µs, {n} process{'es' * (n > 1)}" for n in found) + " |")
    print("|---" * (1 + len(found)) + "|")
    for size in next(iter(found.values())):
        print(f"| {size:,} | " + " | ".join(f"{seconds[size] * 1e6:,.0f}" for seconds in found.values()) + " |")


def _print_model(network: Network, found: Sequence[Traffic]) -> None:
    print("\n" + ", ".join(f"{name} {value:g}" for name, value in dataclasses.asdict(network).items()))
    print("\n| config | " + " | ".join(f"ms, {gpus} GPUs" for gpus in (8, 64, 1024)) + " | ", end="")
    print(" | ".join(f"pays up to, own {own:g} s" for own in OWN_SECONDS) + " |")
    print("|---" * (4 + len(OWN_SECONDS)) + "|")
    for row in _modelled(network, found):
        shown = [f"{row['seconds'][gpus] * 1e3:.2g}" for gpus in (8, 64, 1024)]
        print(f"| `{row['config']}` | {' | '.join([*shown, *map(str, row['pays_up_to'].values())])} |")


def _modelled(network: Network, found: Sequence[Traffic]) -> list[dict[str, Any]]:
    rows = []
    for each in found:

        def together(gpus: int, sent: Traffic = each) -> float:
            return network.per_iteration(sent, gpus)

        pays = {own: pays_up_to(own, together) for own in OWN_SECONDS}
        rows.append({"config": each.config, "seconds": {n: together(n) for n in NUM_GPUS}, "pays_up_to": pays})
    return rows


def main(words: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling")
    parser.add_argument("configs", metavar="CONFIG", nargs="*", default=CONFIGS)
    parser.add_argument("--save", metavar="FILE", help="write the tables to a JSON file, too")
    given = parser.parse_args(words)
    network, found = Network(), [traffic(name) for name in given.configs]
    _print_traffic(found)
    measured = {processes: seconds_per_sum(processes) for processes in (1, 2)}
    _print_measured(measured)
    _print_model(network, found)
    if given.save:
        rows = {"traffic": [dataclasses.asdict(each) for each in found], "seconds_per_sum": measured}
        rows |= {"network": dataclasses.asdict(network), "model": _modelled(network, found)}
        Path(given.save).write_text(json.dumps({**conditions(), **rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
