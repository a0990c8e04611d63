"""Runs the parts one after the other, each in a process of its own, and writes the results after every one."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpworld.cli.profile.rates import device_rates
from warpworld.errors import suggest

from . import forecast, page
from .floors import PART as RATES
from .floors import add_floors
from .part import FAILED, RUNNING, SKIPPED, UNFINISHED, Part
from .parts import PARTS
from .process import run_part
from .results import DEFAULT_PATH, adopt_parts, keep_parts, new_results, put, put_skipped, read_results, write
from .stop import Stop
from .summary import print_summary

BUDGET = 520.0  # seconds of the whole run
NOT_FINISHED = 3  # exit status: nothing failed, but a part that checks results was not finished
SIGNALLED = 128  # exit status, to which shells add the number of the signal


def main(arguments: Sequence[str] | None = None, began: float | None = None) -> int:
    """Run; returns the exit status.

    It is 1 if a part that checks results failed, 3 if none failed but one was begun and not finished, 2 for a wrong
    command line, 130 after SIGINT and 143 after SIGTERM. What was skipped does not count; the table says why it was.

    Args:
        arguments: of the command line.
        began: since when the budget counts, as ``time.perf_counter()`` has it; from now by default.
    """
    began = time.perf_counter() if began is None else began
    given = _parser().parse_args(arguments)
    if given.forecast:
        return forecast.main(given.forecast)
    path = given.save
    if path is None and given.device == "cuda" and not given.quick:
        path = DEFAULT_PATH
    if given.page:
        return page.main(path or DEFAULT_PATH, given.page)
    if given.adopt:
        return _adopt(path or DEFAULT_PATH, given.adopt)
    chosen = _chosen(given.only)
    results = new_results(given.device, given.quick, given.commit)
    if given.only and path is not None:
        keep_parts(results, read_results(path))
    with Stop() as stop:
        _run(chosen, given, results, path, began + given.budget, stop)
    print_summary(results)
    if stop.signal is not None:
        print(f"stopped by {stop.signal.name}; details: {path}")
        return SIGNALLED + stop.signal
    if _is_missing(results):
        print(f"{results['parts']['machine']['reason']}. To see that the parts run: --device cpu --quick")
        return 1
    if path is not None:
        print(f"details: {path}")
    return _exit_status([part for part in chosen if part.correctness], results)


def _adopt(path: Path, other: Path) -> int:
    results, earlier = (read_results(each) for each in (path, other))
    if results is None or earlier is None:
        raise SystemExit(f"{other if results else path} holds no results of the GPU suite")
    print(f"taken from {other}: {', '.join(adopt_parts(results, earlier)) or 'nothing'}")
    write(results, path)
    return 0


def _exit_status(checks: Sequence[Part], results: dict[str, Any]) -> int:
    """That of parts which check results; says which were not finished."""
    ended = {part.name: results["parts"][part.name]["status"] for part in checks}
    unfinished = [name for name, status in ended.items() if status == UNFINISHED]
    if unfinished:
        print(f"not finished, neither passed nor failed: {', '.join(unfinished)}. By itself: --only {unfinished[0]}")
    if FAILED in ended.values():
        return 1
    return NOT_FINISHED if unfinished else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu shows that the parts run")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: nothing that this measures means anything")
    parser.add_argument("--only", metavar="PART,...", help="parts, by name; others are as FILE has them")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of the whole run (default: %(default)g)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="JSON with all figures")
    parser.add_argument("--commit", help="commit to name in the results, where there is no git")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="keep all that parts print, a folder for each part")
    parser.add_argument(
        "--page", type=Path, nargs="?", const=page.DEFAULT_PAGE, help="write docs/performance.md from FILE; run nothing"
    )
    parser.add_argument(
        "--adopt",
        type=Path,
        metavar="OTHER",
        help="take the parts that FILE lacks from a run of another commit; run nothing",
    )
    parser.add_argument("--forecast", type=device_rates, metavar="DEVICE|RATES", help=forecast.HELP)
    return parser


def _chosen(only: str | None) -> tuple[Part, ...]:
    if only is None:
        return PARTS
    known = {part.name: part for part in PARTS}
    for name in (names := only.split(",")):
        if name not in known:
            raise SystemExit(f"--only: no part '{name}'.{suggest(name, known)} Known: {', '.join(known)}")
    needed = {"machine", *names}
    if any(not known[name].correctness for name in names if name != "machine"):
        needed.add(RATES)  # speeds stand beside their floors
    return tuple(part for part in PARTS if part.name in needed)


def _run(
    parts: Sequence[Part],
    given: argparse.Namespace,
    results: dict[str, Any],
    path: Path | None,
    end: float,
    stop: Stop,
) -> None:
    """Run the parts until ``end``, a time of ``time.perf_counter()``, or until a signal comes."""
    for part in parts:
        left = max(0.0, end - time.perf_counter())
        if reason := _why_not(part, given, left, results, stop):
            put_skipped(results, part.name, part.title, reason)
            write(results, path)
            continue
        print(f"{part.name}: {part.title} ...", flush=True)
        put(results, part.name, part.title, {"status": RUNNING, "reason": "", "figures": {}})
        write(results, path)
        result = run_part(part, given.device, given.quick, min(part.limit, left), given.logs, stop)
        print(f"{part.name}: {result['status']} after {result['seconds']} s", flush=True)
        put(results, part.name, part.title, result)
        add_floors(results)
        write(results, path)


def _why_not(part: Part, given: argparse.Namespace, left: float, results: dict[str, Any], stop: Stop) -> str | None:
    """Reason for which a part is not begun; None if it is."""
    if stop.signal is not None:
        return f"the suite was stopped by {stop.signal.name} before"
    if part.needs_cuda and given.device != "cuda":
        return "needs CUDA"
    if left < part.least:
        budget = f"of the {given.budget:g} only {left:.0f} were left"
        return f"needs {part.least:g} s, {budget}; by itself: --only {part.name}"
    if part.name != "machine" and _is_missing(results):
        return "there is no CUDA device"
    return None


def _is_missing(results: dict[str, Any]) -> bool:
    """Whether the first part found no device."""
    return results["parts"].get("machine", {}).get("status") == SKIPPED
