"""Settings on the command line: options that stand for overrides, and what to answer to words that are neither."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpworld.cli.argument_types import at_least
from warpworld.errors import ConfigError
from warpworld.managers.devices import device_names

if TYPE_CHECKING:
    from warpworld.config import RunConfig
    from warpworld.runs import Run


def add_device(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--device``, which says ``what`` happens there."""
    parser.add_argument("--device", choices=device_names(), help=f"where to {what} (default: as configured)")


def opened_run(arguments: argparse.Namespace, overrides: Sequence[str] = ()) -> Run:
    """The run that the words name, with its configuration on the device that they name and with overrides.

    Raises:
        RunError: it is no run folder.
        ConfigError: its configuration or an override is wrong.
    """
    from warpworld.config import load_config
    from warpworld.runs import Run

    run = Run.open(arguments.run)
    device = [f"trainer.device={arguments.device}"] if arguments.device else []
    if device or overrides:
        run.config = load_config(run.config_path, [*overrides, *device])
    return run


def played_config(run: Run, overrides: Sequence[str]) -> RunConfig:
    """The run's configuration with other parameters of its environment.

    Raises:
        ConfigError: a setting is not the environment's or is wrong, or the policies could not play with it.
    """
    from warpworld.config import check_in_force, check_playable, full_overrides, load_config

    if not overrides:
        return run.config
    full = full_overrides(run.config_path, overrides)
    for text in full:
        if not text.startswith("env."):
            raise ConfigError(
                f"command line, {text}: expected a parameter of the environment, such as env.plan_seed=1000; the rest "
                "of a run stays as it was trained"
            )
    played = load_config(run.config_path, [*full, f"trainer.device={run.config.trainer.device}"])
    check_playable(run.config, played, full, "command line")
    check_in_force(played, [text.removeprefix("env.").partition("=")[0] for text in full], "command line")
    return played


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a new run that are short for overrides of its config."""
    add_device(parser, "train")
    parser.add_argument("--seed", type=at_least(0), help="seed of the run: trainer.seed")
    parser.add_argument("--name", help="what the run folder's name begins with: saving.name")
    parser.add_argument(
        "--tag", action="append", metavar="TAG", help="a word to find the run by: saving.tags; may be repeated"
    )


def option_overrides(arguments: argparse.Namespace) -> list[str]:
    """The overrides that the options stand for."""
    keys = {"device": "trainer.device", "seed": "trainer.seed", "name": "saving.name", "tag": "saving.tags"}
    given = {key: getattr(arguments, option, None) for option, key in keys.items()}
    return [f"{key}={json.dumps(value)}" for key, value in given.items() if value is not None]
