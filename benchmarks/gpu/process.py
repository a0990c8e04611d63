"""A part's process: started, given its time, ended with all that it started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from warpworld.managers.build_cache import cache_folder

from .part import FAILED, PARTIAL, UNFINISHED, Part

ROOT = Path(__file__).resolve().parents[2]
TAIL = 2000  # characters of the output of a part that did not come to a good end


def run_part(part: Part, device: str, quick: bool, limit: float) -> dict[str, Any]:
    """Run a part and say how it ended.

    All parts keep compiled kernels in the same folder, also those that would choose another.

    Returns:
        ``status``, ``reason``, ``seconds``, ``figures``, and ``output``, the last words of one that did not come to a
        good end.
    """
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="warpworld-gpu-") as folder:
        place = Path(folder)
        command = [sys.executable, "-m", f"{__package__}.child", part.function, folder]
        command += ["--device", device, "--limit", str(limit), *(["--quick"] if quick else [])]
        environment = {"WARPWORLD_CACHE": str(cache_folder()), **part.environment}
        code, output = run_limited(command, limit, place / "output.txt", environment, own_group=True)
        seconds = round(time.perf_counter() - began, 1)
        end = _read(place / "end.json") or _end_of(code, limit)
        result = {**end, "seconds": seconds, "figures": _read(place / "figures.json") or {}}
        return {**result, "output": output[-TAIL:]} if end["status"] in (FAILED, PARTIAL, UNFINISHED) else result


def run_limited(
    command: list[str], limit: float, log: Path, environment: dict[str, str] | None = None, own_group: bool = False
) -> tuple[int | None, str]:
    """Run a command for at most ``limit`` seconds, in the checkout and with its packages before all others.

    A package of another distribution may be called ``tests``, as that in WarpDrive's wheel is.

    Args:
        command: what to run.
        limit: seconds.
        log: where its output goes.
        environment: variables for it.
        own_group: end all that it started with it. A command that a part runs leaves that to the part's own end.

    Returns:
        Its exit status, None if its time was over, and what it printed.
    """
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=_with_root_first({**os.environ, **(environment or {})}),
            start_new_session=own_group,
        )
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process, own_group)
    return code, log.read_text(errors="replace")


def _with_root_first(environment: dict[str, str]) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    return {**environment, "PYTHONPATH": path}


def _end(process: subprocess.Popen[bytes], group: bool) -> None:
    """End the process, and with ``group`` all that it started."""
    with contextlib.suppress(ProcessLookupError):
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _end_of(code: int | None, limit: float) -> dict[str, str]:
    """Status and reason of a part that did not say them itself."""
    if code is None:
        reason = f"was ended after its {limit:.0f} s; the figures are those that it had by then"
        return {"status": UNFINISHED, "reason": reason}
    if code < 0:
        return {"status": FAILED, "reason": f"its process was ended by {signal.Signals(-code).name}"}
    return {"status": FAILED, "reason": f"its process ended with status {code}"}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
