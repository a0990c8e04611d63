"""`warpworld bench`: speed on this machine, of the package's own benchmarks or of anybody's environments."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.commands.argument_types import at_least, seconds
from warpworld.commands.environments import configured, read_params
from warpworld.errors import ConfigError, DeclarationError, suggest
from warpworld.managers.devices import device_names
from warpworld.report.columns import print_columns

if TYPE_CHECKING:
    from warpworld.benching.checkout import Checkout
    from warpworld.benching.sides import Measured, Side

ROUNDS = 7
SECONDS = 0.2


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    bench = commands.add_parser(
        "bench",
        help="measure speed on this machine",
        description="Speed of environments, stepped with random actions in turn, each in a process of its own. Without "
        "a name: the package's own benchmarks, of stepping and of learning, beside peers that are installed.",
    )
    bench.add_argument(
        "words",
        metavar="NAME key=value",
        nargs="*",
        help="environments, each a packaged name, module:Class or a file, and parameters that all of them get",
    )
    bench.add_argument("--against", metavar="COMMIT", help="compare with the code of another commit of this repository")
    bench.add_argument("--vary", metavar="KEY=A,B", help="compare values of a parameter")
    bench.add_argument("--envs", type=at_least(1), default=1024, help="envs of each world (default: 1024)")
    bench.add_argument("--device", choices=device_names(), default="auto", help="where to step (default: auto)")
    bench.add_argument(
        "--only",
        metavar="WORLD",
        help="without a name: only worlds whose name contains this; leaves the peers out; adapters, export, "
        "off-policy, ppo, replay and rollout are tables of their own",
    )
    bench.add_argument("--seconds", type=seconds, default=SECONDS, help="length of each window (default: 0.2)")
    bench.add_argument("--save", metavar="FILE", help="also write the rows, with machine, date and commit, as JSON")
    bench.set_defaults(command=_bench, settings="words", error=bench.error)


def _bench(arguments: argparse.Namespace) -> int:
    names = [word for word in arguments.words if "=" not in word]
    if names:
        _compare(arguments, names)
        return 0
    if arguments.words or arguments.against or arguments.vary:
        arguments.error("expected the name of an environment: warpworld bench cartpole")
    from warpworld.benchmarks.main import run

    run(only=arguments.only, seconds=arguments.seconds, save=arguments.save)
    return 0


# ---- anybody's environments ------------------------------------------------------------------------------------------
def _compare(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    from contextlib import ExitStack

    from warpworld.benching.checkout import checked_out
    from warpworld.benching.sides import measured

    if arguments.only is not None:
        arguments.error("--only is of the package's own benchmarks; leave it or the names out")
    if arguments.against and arguments.vary:
        arguments.error("--against and --vary are two comparisons; take one of them")
    if arguments.save:
        Path(arguments.save).parent.mkdir(parents=True, exist_ok=True)  # better refused before measuring than after
    params = read_params([word for word in arguments.words if "=" in word])
    with ExitStack() as stack:
        there = stack.enter_context(checked_out(arguments.against, Path.cwd())) if arguments.against else None
        sides = [side for name in names for side in _sides(name, params, arguments, there)]
        rows = measured(sides, arguments.envs, arguments.seconds, ROUNDS, arguments.device)
    per_name = len(sides) // len(names)
    _print(rows, arguments.envs, per_name)
    if arguments.save:
        from warpworld.benchmarks.main import conditions

        saved = [{**vars(row), **_told(row.side), "num_envs": arguments.envs} for row in rows]
        Path(arguments.save).write_text(json.dumps({**conditions(), "rows": saved}, indent=1) + "\n")


def _sides(
    name: str, params: Mapping[str, Any], arguments: argparse.Namespace, there: Checkout | None
) -> Iterator[Side]:
    """The sides of one environment, which are compared with its first."""
    from warpworld.benching.sides import Side

    cls, given = configured(name)
    known = list(cls.Params.__dataclass_fields__)
    for key, values in _varied(arguments.vary):
        for each in (key, *params):
            if each is not None and each not in known:
                raise DeclarationError(f"{name} has no parameter '{each}'.{suggest(each, known)}")
        for value in values:
            chosen = {} if key is None else {key: value}
            label = name if key is None else f"{name}, {key}={value}"
            yield Side(label, _named(name), {**given, **params, **chosen})
    if there is not None:
        yield Side(f"{name} at {arguments.against}", _named(name), {**given, **params}, there)


def _told(side: Side) -> dict[str, Any]:
    """A side in a file; its commit is that of the file where it has none."""
    commit = {} if side.checkout is None else {"commit": side.checkout.commit}
    return {"side": side.label, "params": dict(side.params), **commit}


def _named(name: str) -> str:
    """The name of the environment, of a packaged config too."""
    from warpworld.config import load_config
    from warpworld.packaged import packaged_configs

    return load_config(name).name if name in packaged_configs() else name


def _varied(words: str | None) -> list[tuple[str | None, list[Any]]]:
    """A parameter and the values to compare; no parameter and one value where nothing is varied."""
    if words is None:
        return [(None, [None])]
    key, _, listed = words.partition("=")
    given = [read_params([f"{key}={value}"]) for value in listed.split(",")] if key and listed else []
    values = [value for each in given for value in each.values()]
    if len(values) < 2:
        raise ConfigError(f"--vary {words}: expected a parameter and at least two values, such as num_taggers=4,9")
    return [(next(iter(given[0])), values)]


def _print(rows: Sequence[Measured], num_envs: int, per_name: int) -> None:
    """A line for each side; those of one environment are compared with the first of them."""
    from warpworld.benching.rounds import Middle, ratios
    from warpworld.managers.shortage import amount

    compared = per_name > 1
    lines = [["environment", "agents", "env steps/s", "agent steps/s", "ns per agent step", "min to max", "store", ""]]
    for place, row in enumerate(rows):
        step = Middle.of(row.seconds)
        nanoseconds = [1e9 * each / (num_envs * row.num_agents) for each in (step.median, step.least, step.most)]
        first = rows[place - place % per_name]
        by = ratios(row.seconds, first.seconds)
        of_first = f"{by.median:.2f} times as fast ({by.least:.2f} to {by.most:.2f})" if row is not first else ""
        lines.append(
            [
                row.side.label,
                f"{row.num_agents:,}",
                f"{num_envs / step.median:,.0f}",
                f"{num_envs * row.num_agents / step.median:,.0f}",
                f"{nanoseconds[0]:.3g}",
                f"{nanoseconds[1]:.3g} to {nanoseconds[2]:.3g}",
                amount(row.nbytes),
                of_first if compared else "",
            ]
        )
    print_columns(lines)
    where = {row.device for row in rows}
    print(f"{num_envs:,} envs on {', '.join(sorted(where))}; {ROUNDS} rounds, in each of which all are stepped in turn")
