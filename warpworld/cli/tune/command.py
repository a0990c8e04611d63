"""`warpworld tune`: numbers of envs, workers and minibatches that are fast on this machine."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import seconds
from warpworld.cli.override_options import add_device, option_overrides
from warpworld.cli.tune.choice import KINDS, chosen
from warpworld.text import print_columns

if TYPE_CHECKING:
    from warpworld.cli.tune.search import Found, Tried
    from warpworld.config import RunConfig

OF_TRAINER = ("num_envs", "num_steps", "num_workers", "graph_steps", "envs_per_warp")


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    tune = commands.add_parser(
        "tune",
        help="find a config's fastest sizes on this machine",
        description="Double the number of envs until nothing gets faster, then try numbers of workers (on cuda, of "
        "captured steps and of envs that share a warp) and of minibatches. Prints what to train with; writes nothing.",
    )
    tune.add_argument(
        "words", metavar="CONFIG key=value", nargs="+", help="a YAML file or a packaged config, and overrides"
    )
    tune.add_argument("--seconds", type=seconds, default=60.0, help="that it may take, about (default: 60)")
    tune.add_argument(
        "--keep-batch", action="store_true", help="divide num_steps as num_envs grows: an update learns from as much"
    )
    tune.add_argument("--json", action="store_true", help="print all measurements for other programs")
    tune.add_argument("--draw", type=Path, metavar="FILE", help="also draw the speeds as a PNG")
    add_device(tune, "train")
    tune.set_defaults(command=_tune, settings="words")


def _tune(arguments: argparse.Namespace) -> int:
    from warpworld.cli.tune.picture import draw_search
    from warpworld.cli.tune.search import Search
    from warpworld.config import load_config
    from warpworld.managers.cpu import available_cores
    from warpworld.managers.devices import open_backend
    from warpworld.trainers import tune_for_cpu

    # the config
    name, *overrides = arguments.words
    config = load_config(name, [*overrides, *option_overrides(arguments)])
    tune_for_cpu(open_backend(config.device).device)
    # the search
    search = Search(config, arguments.seconds, arguments.keep_batch, available_cores())
    for tried in search.run():
        if not arguments.json:
            print(_progress(tried), flush=True)
    # results, as JSON or as text, and a picture
    found = search.found
    if arguments.json:
        print(json.dumps(_as_json(found)))
    else:
        device = [] if arguments.device is None else ["--device", arguments.device]
        _show(found, config, arguments.words, device)
    if arguments.draw is not None:
        draw_search(found, config.name, arguments.draw)
    return 0


def _progress(tried: Tried) -> str:
    return f"{_named(tried.changes)}: {tried.speeds.training:,.0f} env steps/s in training"


def _show(found: Found, config: RunConfig, words: Sequence[str], device: Sequence[str]) -> None:
    """Print the tables and the words to train with."""
    # numbers of envs
    print()
    print_columns(_table("num_envs", found.sizes, found.best))
    print(f"no more envs were tried: {found.ending}; {_enough(found)}")
    if found.untried:
        print(f"there was no time for all values of {', '.join(found.untried)}; --seconds gives more")
    # other sizes
    for name, row in found.others.items():
        if row:
            print()
            print_columns(_table(name, row, found.best))
    # the command to train with
    best, trainer = found.best, config.trainer
    steps, before = best["num_envs"] * best.get("num_steps", trainer.num_steps), trainer.num_envs * trainer.num_steps
    print(f"\nwarpworld train {' '.join([*words, *overrides_of(best), *device])}")
    if steps != before:
        print(
            f"an iteration has {steps:,} env steps then, where the config has {before:,}: what is learnt changes with "
            "that, and --keep-batch keeps it"
        )


def _enough(found: Found) -> str:
    """Sentence on the number of envs from which each kind of work is nearly as fast as it gets."""
    parts = []
    for kind in KINDS:
        place = chosen([getattr(tried.speeds, kind) for tried in found.sizes])
        parts.append(f"{kind} is as fast as it gets from {found.sizes[place].changes['num_envs']:,} on")
    return ", ".join(parts)


def _table(name: str, row: Sequence[Tried], best: Mapping[str, Any]) -> list[list[str]]:
    """Lines of a table: one setting's values, env steps per second of each kind, the gain of training, memory."""
    from warpworld.managers import amount

    lines = [[name, *KINDS, "gain", "agent steps/s", "store", ""]]
    for tried in row:
        speeds = tried.speeds
        rates = [f"{getattr(speeds, kind):,.0f}" for kind in KINDS]
        agents = f"{speeds.training * speeds.num_agents:,.0f}"
        gain = f"{speeds.training / row[0].speeds.training:.2f}"
        mark = "<- take this" if tried.changes[name] == best.get(name) else ""
        lines.append([f"{tried.changes[name]:,}", *rates, gain, agents, amount(speeds.nbytes), mark])
    return lines


def overrides_of(best: Mapping[str, Any]) -> list[str]:
    """The words that set what was found."""
    return [f"trainer.{name}={best[name]}" for name in OF_TRAINER if name in best]


def _named(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value:,}" for key, value in changes.items())


def _as_json(found: Found) -> dict[str, Any]:
    def rows(tried: Sequence[Tried]) -> list[dict[str, Any]]:
        return [{"settings": dict(each.changes), **vars(each.speeds)} for each in tried]

    return {
        "num_envs": rows(found.sizes),
        "ending": found.ending,
        **{name: rows(row) for name, row in found.others.items()},
        "overrides": overrides_of(found.best),
    }
