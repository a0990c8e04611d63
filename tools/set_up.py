"""Installs warpworld and what its tests need into the virtual environment that runs this; `make setup` calls it.

Prints a line for each part. What pip prints goes to a log, which an error names. On a machine without an NVIDIA GPU,
torch's CPU build is taken from PyTorch's own index if that can be reached: it is a fraction of the default download.
Uses the standard library only, since nothing is installed yet.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
SIGNS_OF_A_GPU = ("/proc/driver/nvidia/version", "/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg")  # the last: on WSL
REACHED_WITHIN = 5.0  # seconds that PyTorch's index has to answer
SHOWN_OF_THE_LOG = 12  # lines, when a part fails


class SetUpError(Exception):
    """A part that failed, with what to do."""


class Parts:
    """Runs commands part by part.

    Attributes:
        log: what they print is appended to it.

    Args:
        log: see above.
        count: how many parts there are.
    """

    def __init__(self, log: Path, count: int) -> None:
        self.log, self._count, self._done = log, count, 0

    def report(self, text: str) -> None:
        """Print the line of the next part."""
        self._done += 1
        print(f"[{self._done}/{self._count}] {text}", flush=True)

    def run(self, command: Sequence[str]) -> int:
        """Run a command, and print how long it took if that was long.

        Returns:
            Its exit status.
        """
        start = time.monotonic()
        with self.log.open("a", encoding="utf-8") as log:
            print(f"$ {' '.join(command)}", file=log, flush=True)
            status = _run_with_progress(command, log)
        seconds = time.monotonic() - start
        if seconds >= 10:
            print(f"      took {seconds:.0f} s", flush=True)
        return status

    def install(self, *arguments: str) -> None:
        """Run ``pip install``; bytecode is left to what is imported, a third of what is installed.

        Raises:
            SetUpError: pip failed; the error holds its last lines and names the log.
        """
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]
        if self.run([*command, "--constraint", str(CONSTRAINTS), *arguments]) != 0:
            last = self.log.read_text(encoding="utf-8").splitlines()[-SHOWN_OF_THE_LOG:]
            raise SetUpError(
                "\n".join(["pip failed:", *(f"    {line}" for line in last), f"its whole log: {self.log}"])
            )


def _run_with_progress(command: Sequence[str], log: TextIO) -> int:
    """Run a command into the log; a terminal shows its newest line in place."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    in_place = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns - 8
    for line in process.stdout:
        log.write(line)
        log.flush()
        if in_place:
            print(f"\r\033[K      {line.strip()[:width]}", end="", flush=True)
    if in_place:
        print("\r\033[K", end="", flush=True)
    return process.wait()


def has_gpu() -> bool:
    """Whether an NVIDIA driver shows itself."""
    return shutil.which("nvidia-smi") is not None or any(os.path.exists(sign) for sign in SIGNS_OF_A_GPU)


def reaches(index: str, seconds: float = REACHED_WITHIN) -> bool:
    """Whether an index answers in time; also bounds the look-up of its name, which has no limit of its own."""
    answered = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"{index.rstrip('/')}/torch/", timeout=seconds) as answer:
                answered.append(answer.status)
        except (OSError, ValueError):
            pass

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(answered)


def pinned(package: str) -> str:
    """The version in constraints.txt."""
    found = re.search(rf"^{package}==([^\s;]+)", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SetUpError(f"{CONSTRAINTS} has no line for {package}")
    return found[1]


def has_pinned_torch() -> bool:
    """Whether the pinned torch is installed, in whichever build."""
    try:
        return metadata.version("torch").partition("+")[0] == pinned("torch")
    except metadata.PackageNotFoundError:
        return False


def install_torch(parts: Parts, index: str, for_gpu: bool) -> None:
    """Install the CPU build where it suits the machine and can be had; otherwise leave torch to pip's default."""
    if has_pinned_torch():
        return parts.report(f"torch {metadata.version('torch')} is installed")
    if for_gpu or has_gpu():
        return parts.report("torch: the build for NVIDIA GPUs, with the other packages")
    if not index or not reaches(index):
        reason = f"{index} does not answer" if index else "no index of CPU builds is given"
        return parts.report(f"torch: the build that pip finds, with the other packages ({reason})")
    parts.report(f"torch: the CPU build from {index}, since there is no NVIDIA GPU here")
    once = ("--retries", "1", "--timeout", "15")
    try:
        # Without its requirements: PyTorch's index has other versions of them than constraints.txt.
        parts.install("--no-deps", "--index-url", index, *once, "torch")
    except SetUpError:
        print(
            f"      there is none of torch {pinned('torch')} for this Python: taking the build that pip finds",
            flush=True,
        )


def install_compiler(parts: Parts) -> None:
    """Install a C++ compiler from a wheel where there is none."""
    named = os.environ.get("CXX", "").split()[:1]
    for compiler in [*named, "g++", "clang++"]:
        if shutil.which(compiler):
            return parts.report(f"C++ compiler: {compiler}")
    parts.report("C++ compiler: none found (CXX, g++, clang++), so the ziglang wheel is installed")
    parts.install("ziglang")


def train_once(parts: Parts) -> None:
    """Train Tag for one iteration: that tries the installation, and `make train` then finds its kernels compiled."""
    parts.report("a first iteration of Tag, which compiles its kernels")
    with tempfile.TemporaryDirectory(prefix="warpworld-") as folder:
        budget = ("trainer.total_env_steps=40_000", f"saving.directory={folder}")
        if parts.run([sys.executable, "-m", "warpworld", "train", "tag_gridworld", *budget]) != 0:
            print(f"      it failed; `warpworld info` shows what was found, and {parts.log} why", flush=True)


def set_up(requirements: Path, log: Path, index: str) -> None:
    """Install everything.

    Raises:
        SetUpError: a part failed.
    """
    start = time.monotonic()
    log.write_text("", encoding="utf-8")
    parts = Parts(log, count=6)
    parts.report("build tools: setuptools, wheel, numpy")
    parts.install("setuptools", "wheel", "numpy")  # what PyCUDA is built with
    for_gpu = "pycuda" in requirements.read_text(encoding="utf-8").split()
    install_torch(parts, index, for_gpu)
    parts.report(f"packages of {requirements.name}; the first time this takes some minutes")
    parts.install("--no-build-isolation", "--requirement", str(requirements))
    parts.report("warpworld, from this folder")
    parts.install("--no-build-isolation", "--no-deps", "--editable", str(ROOT))
    install_compiler(parts)
    train_once(parts)
    print(f"ready after {time.monotonic() - start:.0f} s", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Set up; 1 if a part failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requirements", type=Path, default=ROOT / "requirements-cpu.txt")
    parser.add_argument("--log", type=Path, default=Path(sys.prefix) / "setup.log", help="where pip's lines go")
    parser.add_argument("--torch-index", default="", metavar="URL", help="index of torch's CPU builds; empty: none")
    arguments = parser.parse_args(argv)
    try:
        set_up(arguments.requirements, arguments.log, arguments.torch_index)
    except SetUpError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
