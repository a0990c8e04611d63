"""Builds a wheel that brings kernels compiled, so that packaged configurations train without a compiler.

`make wheel` calls it. Each packaged configuration is trained for one rollout, each environment's own is checked, and
each pretrained policy is watched. What that asks the compiler for is compiled again for processors of each level,
into the folder ``warpworld/prebuilt`` of a copy of the tree, and the wheel is made of that copy. For another machine
than this one, name its compiler with --compiler.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from warpworld.cli import main as warpworld
from warpworld.config import load_config
from warpworld.managers.cpu import LEVELS, Level, LibrarySource, recorded_libraries
from warpworld.packaged import ENVIRONMENTS, PRETRAINED, packaged_configs, pretrained_runs

ROOT = Path(__file__).resolve().parents[1]
TREE = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "warpworld", "configs")
CHECKED_FOR = ("x86-64-v3", "aarch64")  # checks do not have to be fast: one level of each machine serves all


class WheelError(Exception):
    """The wheel cannot be built."""


@dataclass(frozen=True)
class Order:
    """What to compile for each configuration.

    Attributes:
        folder: of the compiled libraries.
        levels: processors.
        compiler: command of the compiler, if it is not the one that is found.
        checks: whether libraries for ``warpworld check`` are wanted, too.
    """

    folder: Path
    levels: tuple[Level, ...]
    compiler: str
    checks: bool


def compile_for(config: str, order: Order) -> tuple[str, int]:
    """Compile a configuration's libraries for all levels; its name, and how many files it was the first to need."""
    with tempfile.TemporaryDirectory(prefix="warpworld-prebuilt-") as scratch:
        libraries = libraries_of(config, Path(scratch), order.checks)
        made = [place(library, level, order) for library in libraries for level in order.levels]
    return config, sum(made)


def libraries_of(config: str, folder: Path, checks: bool) -> list[LibrarySource]:
    """The libraries that a configuration, or a pretrained policy, asks for by the commands below, run in a folder."""
    if config.startswith(PRETRAINED):
        commands = [["watch", config, "--episodes", "1"]]
    else:
        loaded = load_config(config)
        steps = loaded.trainer.num_envs * loaded.trainer.num_steps
        commands = [["train", config, f"trainer.total_env_steps={steps}"]]
        if checks and config == loaded.name:  # and no variant of it: libraries of checks are large
            commands.append(["check", config, "--steps", "2"])
    with recorded_libraries() as libraries, contextlib.chdir(folder):
        for words in commands:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                status = warpworld(words)
            if status not in (0, 1):  # 1 is of a check that found something, which the tests look at
                raise WheelError(f"`warpworld {shlex.join(words)}` failed:\n{printed.getvalue()[-2000:]}")
    return list({library.portable_key(): library for library in libraries}.values())


def place(library: LibrarySource, level: Level, order: Order) -> bool:
    """Compile a library for a level, unless it is there; whether it was compiled."""
    if library.kind == "check" and level.name not in CHECKED_FOR:
        return False
    target = order.folder / level.folder(library.is_native) / f"{library.portable_key()}.so"
    if target.is_file():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=order.folder) as scratch:
        built = Path(scratch) / target.name
        library.build_for(level, built, Path(scratch), order.compiler)
        os.replace(built, target)
    return True


def compile_all(configs: Sequence[str], order: Order, jobs: int) -> None:
    """Compile all configurations' libraries, each configuration in a process of its own.

    Raises:
        WheelError: a configuration does not train.
        BuildError: a library does not compile.
    """
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(compile_for, name, order) for name in configs]):
            name, count = done.result()
            print(f"{name}: {count} files", flush=True)


def drop_repeated(folder: Path) -> int:
    """Remove each library that is the same file for a lower level, which processors of both levels run; how many."""
    count = 0
    for machine in {level.machine for level in LEVELS}:
        levels = [folder / level.name for level in LEVELS if level.machine == machine]  # the best one first
        for better, lower in itertools.pairwise(levels):
            for file in sorted(better.glob("*.so")):
                if (lower / file.name).is_file() and filecmp.cmp(file, lower / file.name, shallow=False):
                    file.unlink()
                    count += 1
    return count


def needed_c_library(files: Collection[Path]) -> tuple[int, int]:
    """The newest version of the C library that some libraries ask for."""
    words = subprocess.run(["readelf", "-V", "-W", *map(str, files)], capture_output=True, text=True, check=True).stdout
    return max((int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", words))


@contextlib.contextmanager
def copied_tree() -> Iterator[Path]:
    """Make a copy of what a wheel is made of, without what was compiled."""
    with tempfile.TemporaryDirectory(prefix="warpworld-wheel-") as folder:
        for name in TREE:
            ignored = shutil.ignore_patterns("__pycache__", "prebuilt")
            source, target = ROOT / name, Path(folder) / name
            shutil.copytree(source, target, ignore=ignored) if source.is_dir() else shutil.copy(source, target)
        yield Path(folder)


def build_wheel(tree: Path, machine: str, dist: Path) -> Path:
    """Make the wheel of a tree with compiled libraries, whose tag names the machine and the C library.

    Raises:
        CalledProcessError: pip or wheel failed.
    """
    files = sorted((tree / "warpworld" / "prebuilt").rglob("*.so"))
    major, minor = needed_c_library(files)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    with tempfile.TemporaryDirectory() as made:
        subprocess.run([*pip, "--no-build-isolation", "--wheel-dir", made, str(tree)], check=True, cwd=made)
        (pure,) = Path(made).glob("*.whl")
        tag = f"manylinux_{major}_{minor}_{machine}"
        tags = [sys.executable, "-m", "wheel", "tags", "--platform-tag", tag, "--remove", str(pure)]
        subprocess.run(tags, check=True, capture_output=True)
        (tagged,) = Path(made).glob("*.whl")
        dist.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(tagged, dist))


def main() -> int:
    """Build the wheel into a folder, and print its size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("configs", nargs="*", help="configurations and pretrained:NAME (default: all)")
    parser.add_argument("--levels", nargs="+", choices=[level.name for level in LEVELS], help="default: all of x86-64")
    parser.add_argument("--compiler", default="", help="a cross compiler, such as aarch64-linux-gnu-g++")
    parser.add_argument("--no-checks", action="store_true", help="leave out what `warpworld check` runs")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="configurations at a time (default: one a core)"
    )
    parser.add_argument("--dist", type=Path, default=Path("dist"), help="folder of the wheel (default: dist)")
    asked = parser.parse_args()
    names = asked.levels or [level.name for level in LEVELS if level.machine == "x86_64"]
    levels = tuple(level for level in LEVELS if level.name in names)
    (machine,) = {level.machine for level in levels}
    trained = [PRETRAINED + name for name in pretrained_runs()]
    configs = asked.configs or [
        *(name for name in packaged_configs() if load_config(name).name in ENVIRONMENTS),
        *trained,
    ]
    with copied_tree() as tree:
        order = Order(tree / "warpworld" / "prebuilt", levels, asked.compiler, not asked.no_checks)
        compile_all(configs, order, asked.jobs)
        print(f"{drop_repeated(order.folder)} files that a lower level has, too, are left out", flush=True)
        wheel = build_wheel(tree, machine, asked.dist)
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
