"""`warpworld list` and `warpworld info`: what there is to train, and what it would run on."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import platform
from typing import Any

from warpworld.errors import BuildError
from warpworld.packaged import config_summaries, environment_summaries
from warpworld.report.columns import print_columns


def add_parsers(commands: Any) -> None:
    """Add both commands to the command line."""
    listing = commands.add_parser("list", help="environments and packaged configs")
    listing.add_argument("--json", action="store_true", help="as JSON: what each is, by name")
    listing.set_defaults(command=_list)
    commands.add_parser("info", help="what is installed, and which device would be used").set_defaults(command=_info)


def version(distribution: str) -> str:
    """The installed version of a distribution, or "not installed"."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        if distribution == "warpworld":  # run from a checkout
            return str(getattr(importlib.import_module("warpworld"), "__version__", "unknown"))
        return "not installed"


def _list(arguments: argparse.Namespace) -> int:
    environments, configs = environment_summaries(), config_summaries()
    if arguments.json:
        print(json.dumps({"environments": environments, "configs": configs}, indent=2))
        return 0
    print("environments")
    print_columns([(f"  {name}", about) for name, about in environments.items()])
    print("\npackaged configs (warpworld train NAME)")
    print_columns([(f"  {name}", about) for name, about in configs.items()])
    return 0


def _info(_: argparse.Namespace) -> int:
    rows = [("warpworld", version("warpworld")), ("python", f"{platform.python_version()} on {platform.platform()}")]
    rows += [
        (name, version(name)) for name in ("torch", "numpy", "gymnasium", "pydantic", "tree-sitter-cuda", "pycuda")
    ]
    rows.append(("compiler", _compiler()))
    print_columns(rows)
    from warpworld.managers.devices import describe_devices

    print("\n".join(describe_devices()))
    return 0


def _compiler() -> str:
    from warpworld.managers.cpu.host_compiler import find_compiler

    try:
        compiler = find_compiler()
    except BuildError as error:
        return f"none: {error}"
    return f"{' '.join(compiler.command)} ({compiler.version})"
