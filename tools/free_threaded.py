"""Prints which of warpworld's dependencies lack a wheel for free-threaded Pythons: `python -m tools.free_threaded`.

The names are those of what is installed here. pip asks its index, and installs nothing.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import subprocess
import sys
import tempfile
from collections.abc import Iterable

from tools.weigh import required, weights

PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64")


def has_wheel(package: str, version: str) -> bool:
    """Whether a release of a package has a wheel that a free-threaded Python installs.

    Args:
        package: name on the index.
        version: of Python, such as "3.14".
    """
    asked = ["--dry-run", "--ignore-installed", "--no-deps", "--only-binary=:all:", "--quiet"]
    python = ["--python-version", version, "--implementation", "cp", "--abi", f"cp{version.replace('.', '')}t"]
    platforms = [word for name in PLATFORMS for word in ("--platform", name)]
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", *asked, *python, *platforms, "--target", folder, package]
        return subprocess.run(pip, capture_output=True, check=False).returncode == 0


def needed() -> set[str]:
    """Names of all that warpworld needs, directly or not, as it is installed here."""
    return set(weights(required(importlib.metadata.distribution("warpworld")), ()))


def lacking(packages: Iterable[str], version: str) -> list[str]:
    """Those of some packages that have no wheel."""
    return [name for name in sorted(packages) if not has_wheel(name, version)]


def main() -> int:
    """Print a line for each version; 1 where the index has no package at all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("versions", nargs="*", default=["3.13", "3.14"], help="of Python (default: 3.13 3.14)")
    versions, packages = parser.parse_args().versions, needed()
    for version in versions:
        missing = lacking(packages, version)
        if len(missing) == len(packages):
            print(f"error: pip finds no wheel at all for Python {version}t; does its index answer?", file=sys.stderr)
            return 1
        print(
            f"Python {version}t: {', '.join(missing) or 'none'} of {len(packages)} packages without a wheel", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
