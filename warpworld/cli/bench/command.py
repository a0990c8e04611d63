"""`warpworld bench`: speed of environments and of training on this machine."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import at_least, seconds
from warpworld.cli.environments import configured, read_params
from warpworld.errors import ConfigError, DeclarationError, suggest
from warpworld.managers.devices import device_names
from warpworld.text import print_columns

if TYPE_CHECKING:
    from warpworld.cli.bench.checkout import Checkout
    from warpworld.cli.bench.sides import Measured, Side

ROUNDS = 7
ENVS = 1024
SECONDS = {"step": 0.2, "train": 1.0}  # of a round


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    bench = commands.add_parser(
        "bench",
        help="measure speed on this machine",
        description="Speed of environments, stepped with random actions, or of training, in turn, each in a process of "
        "its own. The tables beside other libraries are in the repository: python -m benchmarks.",
    )
    bench.add_argument(
        "words",
        metavar="NAME key=value",
        nargs="*",
        help="environments, each a packaged name, module:Class or a file, and parameters that all of them get; with "
        "--train configs and overrides",
    )
    bench.add_argument("--train", action="store_true", help="measure training: iterations of rollout and update")
    bench.add_argument("--against", metavar="COMMIT", help="compare with the code of another commit of this repository")
    bench.add_argument("--vary", metavar="KEY=A,B", help="compare values of a parameter; with --train of a setting")
    bench.add_argument(
        "--envs", type=at_least(1), help=f"envs of each world (default: {ENVS}; with --train as configured)"
    )
    bench.add_argument("--device", choices=device_names(), help="where (default: auto; with --train as configured)")
    bench.add_argument("--only", help=argparse.SUPPRESS)  # formerly the tables that are in the repository
    bench.add_argument(
        "--seconds",
        type=seconds,
        help=f"length of each window (default: {SECONDS['step']}; with --train {SECONDS['train']})",
    )
    bench.add_argument("--save", metavar="FILE", help="also write the rows, with machine, date and commit, as JSON")
    bench.set_defaults(command=_bench, settings="words", error=bench.error)


def _bench(arguments: argparse.Namespace) -> int:
    if arguments.only is not None:
        raise ConfigError(
            f"--only {arguments.only}: the tables beside other libraries are not in the installed package; in a "
            f"checkout of the repository run: python -m benchmarks --only {arguments.only}"
        )
    names = [word for word in arguments.words if "=" not in word]
    if not names:
        arguments.error(
            "expected the name of an environment or a config: warpworld bench cartpole; the tables beside other "
            "libraries are in the repository: python -m benchmarks"
        )
    _compare(arguments, names)
    return 0


def _compare(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    from contextlib import ExitStack

    from warpworld.cli.bench.checkout import checked_out
    from warpworld.cli.bench.conditions import conditions
    from warpworld.cli.bench.sides import measured

    # options that exclude each other, and the folder to save in
    if arguments.against and arguments.vary:
        arguments.error("--against and --vary are two comparisons; take one of them")
    if arguments.save:
        Path(arguments.save).parent.mkdir(parents=True, exist_ok=True)  # better refused before measuring than after
    # sizes of the measurement
    words = [word for word in arguments.words if "=" in word]
    envs, device, what = arguments.envs, arguments.device, "train" if arguments.train else "step"
    if not arguments.train:
        envs, device = envs or ENVS, device or "auto"
    # all sides, in turn
    with ExitStack() as stack:
        there = stack.enter_context(checked_out(arguments.against, Path.cwd())) if arguments.against else None
        sides = [side for name in names for side in _sides(name, words, arguments, there)]
        rows = measured(sides, envs, arguments.seconds or SECONDS[what], ROUNDS, device)
    # results, on screen and in a file
    _print(rows, len(sides) // len(names))
    if arguments.save:
        saved = [{**vars(row), **_described(row.side)} for row in rows]
        Path(arguments.save).write_text(json.dumps({**conditions(), "rows": saved}, indent=1) + "\n")


def _sides(name: str, words: Sequence[str], arguments: argparse.Namespace, there: Checkout | None) -> Iterator[Side]:
    """The sides of one environment or config, which are compared with its first."""
    made = _trained if arguments.train else _stepped
    for word in _varied(arguments.vary):
        yield made(name, [*words, *word], ", ".join([name, *word]))
    if there is not None:
        yield dataclasses.replace(made(name, words, f"{name} at {arguments.against}"), checkout=there)


def _stepped(name: str, words: Sequence[str], label: str) -> Side:
    """An environment with parameters.

    Raises:
        DeclarationError: there is no such environment or parameter.
    """
    from warpworld.cli.bench.sides import Side

    cls, given = configured(name)
    params, known = read_params(words), list(cls.Params.__dataclass_fields__)
    for key in params:
        if key not in known:
            raise DeclarationError(f"{name} has no parameter '{key}'.{suggest(key, known)}")
    return Side(label, _environment_of(name), {**given, **params})


def _trained(name: str, words: Sequence[str], label: str) -> Side:
    """A config with overrides.

    Raises:
        ConfigError: there is no such config or key.
    """
    from warpworld.cli.bench.sides import Side
    from warpworld.config import load_endless

    load_endless(name, words)  # better refused before another is measured than after
    return Side(label, name, dict(word.split("=", 1) for word in words), is_trained=True)


def _described(side: Side) -> dict[str, Any]:
    """A side in a file; its commit is that of the file where it has none."""
    commit = {} if side.checkout is None else {"commit": side.checkout.commit}
    return {"side": side.label, "params": dict(side.params), **commit}


def _environment_of(name: str) -> str:
    """The name of the environment, of a packaged config too."""
    from warpworld.config import load_config
    from warpworld.packaged import packaged_configs

    return load_config(name).name if name in packaged_configs() else name


def _varied(given: str | None) -> list[list[str]]:
    """The words that each side has besides; none where nothing is varied."""
    if given is None:
        return [[]]
    key, _, listed = given.partition("=")
    values = [value for value in listed.split(",") if value]
    if not key or len(values) < 2:
        raise ConfigError(f"--vary {given}: expected a key and at least two values, such as num_taggers=4,9")
    return [[f"{key}={value}"] for value in values]


def _print(rows: Sequence[Measured], per_name: int) -> None:
    """A line for each side; those of one environment or config are compared with the first of them."""
    from warpworld.cli.bench.rounds import Middle, ratios
    from warpworld.managers import amount

    # headings
    are_trained = bool(rows[0].rollouts)
    first_columns = ["config" if are_trained else "environment", "agents", "env steps/s", "agent steps/s"]
    measured = ["ms per iteration", "min to max", "rollout"] if are_trained else ["ns per agent step", "min to max"]
    lines = [[*first_columns, *measured, "store", ""]]
    # a line for each side
    for place, row in enumerate(rows):
        one = Middle.of(row.seconds)
        unit = 1e3 if are_trained else 1e9 / (row.env_steps * row.num_agents)
        first = rows[place - place % per_name]
        by = ratios(_per_env_step(row), _per_env_step(first))
        of_first = f"{by.median:.2f} times as fast ({by.least:.2f} to {by.most:.2f})" if row is not first else ""
        rollout = [f"{sum(row.rollouts) / sum(row.seconds):.0%}"] if are_trained else []
        lines.append(
            [
                row.side.label,
                f"{row.num_agents:,}",
                f"{row.env_steps / one.median:,.0f}",
                f"{row.env_steps * row.num_agents / one.median:,.0f}",
                f"{unit * one.median:.3g}",
                f"{unit * one.least:.3g} to {unit * one.most:.3g}",
                *rollout,
                amount(row.nbytes),
                of_first,
            ]
        )
    # the table, and conditions of the measurement
    print_columns(lines)
    where = ", ".join(sorted({row.device for row in rows}))
    what = "an iteration is a rollout and an update" if are_trained else f"{rows[0].env_steps:,} envs"
    print(f"{what} on {where}; {ROUNDS} rounds, in each of which all are measured in turn")


def _per_env_step(row: Measured) -> list[float]:
    """Seconds of an env step in each round: sides may have different numbers of envs."""
    return [seconds / row.env_steps for seconds in row.seconds]
