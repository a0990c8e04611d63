"""Installs a wheel into an empty virtual environment of each Python: trains, checks, and shows the demo.

`make wheel` calls it. It finds what the tests of a checkout cannot: a file or a dependency that a wheel lacks, kernels
that it should bring compiled, and what one version of Python does not have. No command finds a compiler or a display.
With --launcher, uvx or pipx starts the demo as a reader of the README would.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from set_up import CONSTRAINTS, has_gpu, reaches

TRAINING = ("train", "cartpole", "trainer.num_envs=8", "trainer.num_steps=32", "trainer.total_env_steps=1024")
LEFT_BY_TRAINING = ("config.yaml", "metrics.jsonl", "curve.png", "checkpoints")
LEFT_BY_DEMO = ("demo.html", "tag_continuous.gif", "deathmatch.gif")
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
NEEDED = ("sh", "realpath", "dirname")  # by the scripts that uv writes for commands
LAUNCHERS: Mapping[str, Callable[[Path, Path], list[str | Path]]] = {
    "uvx": lambda python, wheel: ["uvx", "--python", python, "--from", wheel],
    "pipx": lambda python, wheel: ["pipx", "run", "--python", python, "--spec", wheel],
}


class WheelError(Exception):
    """The wheel cannot be installed, or does not work."""


@dataclass(frozen=True)
class Took:
    """Seconds that a command took.

    Attributes:
        wall: by the clock.
        processor: of it and of what it started.
    """

    wall: float
    processor: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.processor:.1f})"


def run(command: Sequence[str | Path], folder: Path, **more: str) -> Took:
    """Run a command in a folder, with more variables, without this process's Python path, with no kernels in the cache.

    Raises:
        WheelError: it failed; the error holds its last lines.
    """
    dropped = ("PYTHON", "WARPWORLD_", *DISPLAYS)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    variables = variables | {"WARPWORLD_CACHE": str(folder / "cache"), "CXX": ""} | more
    words = [str(word) for word in command]
    began, before = time.monotonic(), _processor_seconds()
    done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()[-12:]
        raise WheelError("\n".join([f"`{' '.join(words)}` failed:", *(f"    {line}" for line in lines)]))
    return Took(time.monotonic() - began, _processor_seconds() - before)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def version_of(python: Path) -> str:
    """The version of a Python, such as "3.12.1".

    Raises:
        WheelError: it does not start.
    """
    asked = "import platform; print(platform.python_version())"
    try:
        return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise WheelError(f"'{python}' is no Python that starts: {error}") from error


def install(wheel: Path, python: Path, torch_index: str, folder: Path) -> Path:
    """Install a wheel into a virtual environment below a folder, by uv where it is found.

    Returns:
        The folder of the environment's commands.

    Raises:
        WheelError: the installation failed.
    """
    environment = folder / "environment"
    commands = environment / "bin"
    index = ["--extra-index-url", torch_index] if torch_index and not has_gpu() and reaches(torch_index) else []
    if shutil.which("uv"):
        run(["uv", "venv", "--python", python, environment], folder)
        pip = ["uv", "pip", "install", "--python", commands / "python"]
    else:
        run([python, "-m", "venv", environment], folder)
        pip = [commands / "python", "-m", "pip", "install", "--disable-pip-version-check"]
    run([*pip, "--constraint", CONSTRAINTS, *index, wheel], folder)
    return commands


def offline() -> list[str]:
    """Words before a command that take its network away; none where the system does not let this user do so."""
    words = [shutil.which("unshare") or "unshare", "--map-root-user", "--net"]
    try:
        subprocess.run([*words, "true"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        print("this system lets no command run without a network: the demo has one", flush=True)
        return []
    return words


def try_python(wheel: Path, python: Path, torch_index: str, compiles: bool, folder: Path) -> None:
    """Install for a Python, train, check, and show the demo twice; with what else is on the path where kernels compile.

    Raises:
        WheelError: a command failed, or left no file that it should leave.
    """
    version = version_of(python)
    print(f"Python {version}: installing {wheel.name}; this takes some minutes", flush=True)
    commands = install(wheel, python, torch_index, folder)
    warpworld, path = commands / "warpworld", str(commands)
    if compiles:
        path = os.pathsep.join((path, os.environ["PATH"]))
    alone = {"HOME": "/dev/null", "WARPWORLD_CACHE": "", "TMPDIR": str(folder)}
    took = {
        "train": run([warpworld, *TRAINING], folder, PATH=path),
        "check": run([warpworld, "check", "cartpole"], folder, PATH=path),
        "demo": run([warpworld, "demo"], folder, PATH=path),
        "again without network or home": run([*offline(), warpworld, "demo"], folder, PATH=path, **alone),
    }
    (left,) = (folder / "runs").iterdir()
    _find(left, LEFT_BY_TRAINING)
    _find(folder / "warpworld-demo", LEFT_BY_DEMO)
    print(f"Python {version}: {', '.join(f'{name} {each}' for name, each in took.items())}", flush=True)


def try_launcher(launcher: str, wheel: Path, python: Path, folder: Path) -> None:
    """Start the demo by a launcher from an empty folder, once its packages are downloaded, and once more.

    Each copy of the wheel is another package to the launcher, which makes an environment for it.

    Raises:
        WheelError: the demo failed, or left no file that it should leave.
    """
    path = folder / "path"
    path.mkdir()
    for name in (*NEEDED, "uv", launcher):
        if found := shutil.which(name):
            (path / name).symlink_to(found)
    copies = [folder / name / wheel.name for name in ("first", "second")]
    for copy in copies:
        copy.parent.mkdir()
        shutil.copy(wheel, copy)
    first, second = (LAUNCHERS[launcher](python, copy) for copy in copies)
    print(f"{launcher}: downloading what {wheel.name} needs; this takes some minutes", flush=True)
    run([*first, "warpworld", "--version"], folder, PATH=str(path))
    cold, warm = (run([*second, "warpworld", "demo", "--no-open"], folder, PATH=str(path)) for _ in range(2))
    _find(folder / "warpworld-demo", LEFT_BY_DEMO)
    print(f"{launcher}: demo {cold} with an environment to make, {warm} with that at hand", flush=True)


def _find(folder: Path, names: Sequence[str]) -> None:
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        raise WheelError(f"'{folder}' has no {', '.join(missing)}")


def main() -> int:
    """Try a wheel; 1 if it does not work."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument(
        "--python",
        type=Path,
        nargs="+",
        default=[Path(sys.executable)],
        metavar="PATH",
        help="Pythons to try (default: this one)",
    )
    parser.add_argument(
        "--launcher",
        nargs="+",
        default=[],
        choices=LAUNCHERS,
        help="also start the demo by these, with the first Python",
    )
    parser.add_argument("--compile", action="store_true", help="let kernels compile, as those of a source distribution")
    parser.add_argument("--torch-index", default="", metavar="URL", help="index of torch's CPU builds; empty: none")
    asked = parser.parse_args()
    print("seconds by the clock, and in brackets of the processor", flush=True)
    with tempfile.TemporaryDirectory(prefix="warpworld-wheel-") as name:
        folder = Path(name)
        try:
            wheel = asked.wheel.resolve(strict=True)
            pythons = [Path(shutil.which(python) or python).absolute() for python in asked.python]
            for i, python in enumerate(pythons):
                (folder / f"{i}").mkdir()
                try_python(wheel, python, asked.torch_index, asked.compile, folder / f"{i}")
                shutil.rmtree(folder / f"{i}")  # several GB with torch
            for launcher in asked.launcher:
                (folder / launcher).mkdir()
                try_launcher(launcher, wheel, pythons[0], folder / launcher)
        except (OSError, WheelError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
