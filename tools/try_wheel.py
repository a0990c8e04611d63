"""Installs a wheel with its dependencies into an empty virtual environment elsewhere, and trains with it for a moment.

`make wheel` calls it. It finds what the tests of a checkout cannot: a file or a dependency that a wheel lacks, and
kernels that it should bring compiled: the training finds no compiler.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from set_up import CONSTRAINTS, has_gpu, reaches

TRAINING = ("train", "cartpole", "trainer.num_envs=8", "trainer.num_steps=32", "trainer.total_env_steps=1024")
LEFT = ("config.yaml", "metrics.jsonl", "curve.png", "checkpoints")


class WheelError(Exception):
    """The wheel cannot be installed, or does not work."""


def run(command: Sequence[str | Path], folder: Path, **more: str) -> None:
    """Run a command in a folder, with more variables, without this process's Python path, with no kernels in the cache.

    Raises:
        WheelError: it failed; the error holds its last lines.
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WARPWORLD_"))}
    variables = variables | {"WARPWORLD_CACHE": str(folder / "cache")} | more
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()[-12:]
        raise WheelError("\n".join([f"`{' '.join(words)}` failed:", *(f"    {line}" for line in lines)]))


def try_wheel(wheel: Path, torch_index: str, folder: Path) -> None:
    """Install and train in an empty folder.

    Raises:
        WheelError: an installation or a training failed, or the run lacks a file.
    """
    print(f"installing {wheel.name} into an empty virtual environment; this takes some minutes", flush=True)
    venv.create(folder / "venv", with_pip=True)
    commands = folder / "venv" / "bin"
    index = ["--extra-index-url", torch_index] if torch_index and not has_gpu() and reaches(torch_index) else []
    pip = [commands / "python", "-m", "pip", "install", "--disable-pip-version-check", "--constraint", CONSTRAINTS]
    run([*pip, *index, wheel.resolve()], folder)
    run([commands / "warpworld", *TRAINING], folder, PATH=str(commands), CXX="")
    (left,) = (folder / "runs").iterdir()
    missing = [name for name in LEFT if not (left / name).exists()]
    if missing:
        raise WheelError(f"the run has no {', '.join(missing)}")
    print(f"{wheel.name} installs, and trains without a compiler", flush=True)


def main() -> int:
    """Try a wheel; 1 if it does not work."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--torch-index", default="", metavar="URL", help="index of torch's CPU builds; empty: none")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warpworld-wheel-") as folder:
        try:
            try_wheel(arguments.wheel, arguments.torch_index, Path(folder))
        except WheelError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
