"""A part's process: started, given its time, ended with all that it started."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from warpworld.managers.build_cache import cache_folder

from .leftovers import MARK, end_marked
from .part import FAILED, PARTIAL, PASSED, SKIPPED, UNFINISHED, Part, judged
from .stop import Stop
from .wrong import read_wrong

ROOT = Path(__file__).resolve().parents[2]
TAIL = 2000  # characters of the output of a part that did not come to a good end
STATUSES = (PASSED, FAILED, SKIPPED, PARTIAL, UNFINISHED)  # that a part may report
LOOK = 0.05  # seconds between two looks at a process
ENDING = 10.0  # seconds that a killed process is waited for: one that hangs in a driver does not end
# What a part prints is in its file at once, and a crash prints where it happened.
PRINTING = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}


def run_part(
    part: Part, device: str, quick: bool, limit: float, logs: Path | None = None, stop: Stop | None = None
) -> dict[str, Any]:
    """Run a part and report how it ended.

    All parts keep compiled kernels in the same folder, also those that would choose another.

    Args:
        part: what is run.
        device: "cuda" or "cpu".
        quick: tiny sizes.
        limit: seconds after which the part is ended.
        logs: folder in which the part's own folder is kept; without it that is deleted.
        stop: ends the part when a signal comes.

    Returns:
        ``status``, ``reason``, ``seconds``, ``figures``, and ``output``, the last words of one that did not come to a
        good end.
    """
    began = time.perf_counter()
    stop = stop or Stop()
    with _folder(part.name, logs) as place:
        command = [sys.executable, "-m", f"{__package__}.child", part.function, str(place), "--device", device]
        command += ["--limit", str(limit), "--parent", str(os.getpid()), *(["--quick"] if quick else [])]
        environment = {"WARPWORLD_CACHE": str(cache_folder()), **PRINTING, **part.environment, MARK: str(place)}
        process = _start(command, place / "output.txt", environment, new_session=True)
        try:
            code = _wait(process, limit, stop)
        finally:
            _end_all(process, str(place))
        end = _said(place / "end.json") or judged(_end_of(code, limit, stop), read_wrong(place))
        figures, output = _read(place / "figures.json") or {}, _tail(place / "output.txt")
    result = {**end, "seconds": round(time.perf_counter() - began, 1), "figures": figures}
    return {**result, "output": output} if end["status"] in (FAILED, PARTIAL, UNFINISHED) else result


def run_limited(
    command: list[str], limit: float, log: Path, environment: Mapping[str, str] | None = None
) -> tuple[int | None, str]:
    """Run a command of a part for at most ``limit`` seconds; what it started ends with the part at the latest.

    Args:
        command: what to run.
        limit: seconds.
        log: where its output goes.
        environment: variables for it.

    Returns:
        Its exit status, None if its time was over, and what it printed.
    """
    process = _start(command, log, environment or {})
    try:
        code = _wait(process, limit, Stop())
    finally:
        process.kill()
        process.wait()
    return code, log.read_text(errors="replace")


@contextlib.contextmanager
def _folder(name: str, logs: Path | None) -> Iterator[Path]:
    """An empty folder for a part: the next free one of its name below ``logs``, or one that is deleted."""
    if logs is None:
        with tempfile.TemporaryDirectory(prefix="warpworld-gpu-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
        return
    number, place = 1, logs.absolute() / name
    while place.exists():
        number += 1
        place = logs.absolute() / f"{name}-{number}"
    place.mkdir(parents=True)
    yield place


def _start(
    command: list[str], log: Path, environment: Mapping[str, str], new_session: bool = False
) -> subprocess.Popen[bytes]:
    """Start a command in the checkout, with its packages before all others.

    A package of another distribution may be called ``tests``, as that in WarpDrive's wheel is.
    """
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=_with_root_first({**os.environ, **environment}),
            start_new_session=new_session,
        )


def _with_root_first(environment: dict[str, str]) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    return {**environment, "PYTHONPATH": path}


def _wait(process: subprocess.Popen[bytes], limit: float, stop: Stop) -> int | None:
    """The exit status; None if the time was over or a signal came."""
    end = time.perf_counter() + limit
    while time.perf_counter() < end and stop.signal is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(LOOK)
    return process.poll()


def _end_all(process: subprocess.Popen[bytes], mark: str) -> None:
    """End a part's process and all that it started; SIGKILL cannot be ignored."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    end_marked(mark)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(ENDING)


def _end_of(code: int | None, limit: float, stop: Stop) -> dict[str, str]:
    """Status and reason of a part that did not report them itself."""
    if code is None:
        why = f"after its {limit:.0f} s" if stop.signal is None else f"as the suite was stopped by {stop.signal.name}"
        return {"status": UNFINISHED, "reason": f"was ended {why}; the figures are those that it had by then"}
    if code < 0:
        return {"status": FAILED, "reason": f"its process was ended by {signal_name(-code)}"}
    return {"status": FAILED, "reason": f"its process ended with status {code} and did not report how the part ended"}


def signal_name(number: int) -> str:
    """Such as SIGKILL."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def _said(path: Path) -> dict[str, str] | None:
    """Status and reason as a part reported them; None if it did not, or not in these words."""
    end = _read(path)
    return end if end and end.get("status") in STATUSES and isinstance(end.get("reason"), str) else None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _tail(path: Path) -> str:
    """The end of a text file, which may be gone, without the folders that the project and packages are in."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4 * TAIL))
            text = file.read().decode(errors="replace")
            return re.sub(r'(?<=")/[^"\n]*/(?=site-packages/)', "", text.replace(f"{ROOT}/", ""))[-TAIL:]
    except OSError:
        return ""
