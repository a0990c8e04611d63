"""`warpworld list` and `warpworld info`: what there is to train, and what it would run on."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from typing import Any

from warpworld.errors import BuildError
from warpworld.packaged import catalogue, config_summaries, pretrained_runs
from warpworld.text import print_columns
from warpworld.version import __version__

ITSELF = "policies as trained"  # in the description of a trained policy


def add_parsers(commands: Any) -> None:
    """Add both commands to the command line."""
    listing = commands.add_parser(
        "list",
        help="environments, packaged configs and trained policies",
        description="Environments by family, with their agents, observations and actions, and the configs that come "
        "with warpworld. `warpworld train NAME` trains a config; `warpworld params NAME` shows its settings. Then the "
        "policies that come trained: `warpworld watch --pretrained NAME` plays one.",
    )
    listing.add_argument(
        "--json", action="store_true", help="as JSON: environments, configs and trained policies by name"
    )
    listing.set_defaults(command=_list)
    info = commands.add_parser(
        "info",
        help="what is installed, and which device would be used",
        description="Versions of warpworld and its libraries, the C++ compiler, and for each device whether it can be "
        "used. Put this into a report of a fault.",
    )
    info.set_defaults(command=_info)


def version(distribution: str) -> str:
    """The installed version of a distribution, or "not installed"."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        if distribution == "warpworld":  # run from a checkout
            return __version__
        return "not installed"


def _list(arguments: argparse.Namespace) -> int:
    environments, configs, trained = catalogue(), config_summaries(), _pretrained()
    if arguments.json:
        print(json.dumps({"environments": environments, "configs": configs, "pretrained": trained}, indent=2))
        return 0
    _print_families(environments)
    print("packaged configs (warpworld train NAME)")
    print_columns([(f"  {name}", about) for name, about in configs.items()])
    print("\ntrained policies (warpworld watch --pretrained NAME)")
    print_columns([(f"  {name}", about) for name, about in trained.items()])
    return 0


def _pretrained() -> dict[str, str]:
    """Scores of each policy that comes with the package, in a line."""
    from warpworld.runs.pretrained import check_format

    return {name: ", ".join(map(_score, check_format(folder)["scores"])) for name, folder in pretrained_runs().items()}


def _score(score: Mapping[str, Any]) -> str:
    """A score of a description; who is met is left out where it is who was trained with."""
    against = "" if score["against"] == ITSELF else f" against {score['against']}"
    return f"{score['policy']}: {score['metric']} {score['mean']:g}{against}"


def _print_families(environments: Mapping[str, Mapping[str, str]]) -> None:
    """A line for each environment: name, agents, observation, action; one that declares none has what it is."""
    rows = {
        name: [f"  {name}", *(entry[key] for key in ("agents", "observation", "action") if key in entry)]
        for name, entry in environments.items()
    }
    widths = [max(map(len, cells)) for cells in zip(*(row for row in rows.values() if len(row) > 1), strict=True)]
    for family in dict.fromkeys(entry["family"] for entry in environments.values()):
        print(family)
        for name, entry in environments.items():
            if entry["family"] == family:
                cells = rows[name] if len(rows[name]) > 1 else [*rows[name], entry["about"]]
                print_columns([[cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]])
        print()


def _info(_: argparse.Namespace) -> int:
    rows = [("warpworld", version("warpworld")), ("python", f"{platform.python_version()} on {platform.platform()}")]
    rows += [
        (name, version(name)) for name in ("torch", "numpy", "gymnasium", "pydantic", "tree-sitter-cuda", "pycuda")
    ]
    from warpworld.managers.devices import describe_devices
    from warpworld.managers.products import describe_products

    rows += [("compiler", _compiler()), *((name, describe_products(name)) for name in ("tf32", "bf16"))]
    rows.append(("cache", _cache()))
    print_columns(rows)
    print("\n".join(describe_devices()))
    return 0


def _cache() -> str:
    """The folder of compiled kernels, and whether it can be written."""
    from warpworld.managers import cache_folder
    from warpworld.private_folder import is_writable

    try:
        folder = cache_folder()
    except BuildError as error:
        return f"none: {error}"
    if is_writable(folder):
        return str(folder)
    return f"{folder} (cannot be written: set WARPWORLD_CACHE to a folder you may write)"


def _compiler() -> str:
    from warpworld.managers.cpu import find_compiler

    try:
        compiler = find_compiler()
    except BuildError as error:
        return f"none: {error}"
    return f"{' '.join(compiler.command)} ({compiler.version})"
