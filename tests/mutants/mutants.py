"""Puts small faults into a copy of the code, one at a time, and says which of them the tests find.

``faults.yaml`` lists them by file: ``before`` occurs once in the file, ``after`` replaces it, and ``tests`` are the
arguments of pytest that must find the fault: by default the tests of the folder that mirrors the file's own.
``result.txt`` holds the last result of the whole list, or of a sample of it.
"""

from __future__ import annotations

import argparse
import datetime
import os
import queue
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TREES = ROOT / ".pytest_cache" / "mutants"  # always the same place: a kernel's path is part of its key in the cache
SECONDS = 300  # that the tests of one fault may take; a fault that makes them hang is found
NOT_RUN = (4, 5)  # exit codes of pytest: wrong arguments, no tests


@dataclass(frozen=True)
class Fault:
    """A change of ``file`` (relative to the root) that ``tests`` must find."""

    file: str
    before: str
    after: str
    tests: str

    def __str__(self) -> str:
        return f"{self.file}: {_line(self.before)} -> {_line(self.after)}"


@dataclass(frozen=True)
class Outcome:
    """What the tests said of a fault: ``stale`` means that the fault no longer fits the code."""

    fault: Fault
    verdict: str  # found, survived or stale
    detail: str = ""


def _line(text: str) -> str:
    return "`" + " ".join(text.split()) + "`"


def read_faults(path: Path, root: Path) -> list[Fault]:
    """The faults of a list; those that name no tests get the folder of their file. A file has one entry."""
    text = path.read_text(encoding="utf-8")
    listed = yaml.safe_load(text)
    if twice := [file for file in listed if f"\n{text}".count(f"\n{file}:\n") > 1]:
        raise ValueError(
            f"{path.name}: {twice[0]} is listed twice, and its first entry would be ignored; merge the two"
        )
    return [
        Fault(file, entry["before"], entry["after"], entry.get("tests") or own_folder(file, root))
        for file, entries in listed.items()
        for entry in entries
    ]


def own_folder(file: str, root: Path) -> str:
    """The deepest folder of ``tests/`` that mirrors the file's."""
    folder = Path("tests", *Path(file).parent.parts[1:])
    while not (root / folder).is_dir():
        folder = folder.parent
    return str(folder)


def copy_tree(root: Path, tree: Path) -> None:
    """A copy of what git knows or would add, as it stands in the working tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    shutil.rmtree(tree, ignore_errors=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, tree / name)


def run_tests(tree: Path, tests: str, seconds: float = SECONDS) -> tuple[int | None, str]:
    """Run pytest on the tree's package until a test fails; its exit code, None beyond the time, and its output."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    environment.setdefault("WARPWORLD_CACHE", str(ROOT / ".pytest_cache" / "kernels"))
    shutil.rmtree(tree / ".hypothesis", ignore_errors=True)  # no fault is found by an example of the last one
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
    process = subprocess.Popen(
        [*command, *shlex.split(tests)],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]
    return process.returncode, output


def try_fault(tree: Path, fault: Fault, seconds: float = SECONDS) -> Outcome:
    """Put the fault into the tree, run its tests, and restore the file."""
    path = tree / fault.file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text.count(fault.before) != 1:
        return Outcome(fault, "stale", f"the text occurs {text.count(fault.before)} times")
    written = path.stat()
    path.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
    try:
        code, output = run_tests(tree, fault.tests, seconds)
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))  # its bytecode is valid again
    if code is None:
        return Outcome(fault, "found", f"no end within {seconds:g} s")
    if code in NOT_RUN:
        return Outcome(fault, "stale", f"no tests run in {fault.tests}")
    return Outcome(fault, "survived" if code == 0 else "found", first_failure(output) or fault.tests)


def first_failure(output: str) -> str:
    """The name of the test that failed first, from pytest's summary."""
    lines = (line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    return next(lines, "").partition(" - ")[0]


def check_tests(tree: Path, faults: Sequence[Fault]) -> None:
    """See that the tests pass without a fault, and compile what they need.

    Raises:
        SystemExit: they fail.
    """
    each = dict.fromkeys(fault.tests for fault in faults)
    plain = (tests for tests in each if (tree / tests).exists())  # one run of all is quicker than a run of each
    for tests in filter(None, (" ".join(plain), *(tests for tests in each if not (tree / tests).exists()))):
        code, output = run_tests(tree, tests, seconds=3600)
        if code not in (0, *NOT_RUN):
            raise SystemExit(f"{output}\nsome tests fail without a fault")


def outcomes(root: Path, folder: Path, faults: Sequence[Fault], jobs: int) -> Iterator[Outcome]:
    """Try the faults in fresh copies of the tree, one for each of so many jobs; each is printed as it is known.

    Raises:
        SystemExit: tests fail without a fault.
    """
    free: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for number in range(jobs):
        copy_tree(root, folder / str(number))
        free.put(folder / str(number))
    check_tests(folder / "0", faults)

    def attempt(fault: Fault) -> tuple[Outcome, float]:
        tree, begin = free.get(), time.monotonic()
        try:
            return try_fault(tree, fault), time.monotonic() - begin
        finally:
            free.put(tree)

    with ThreadPoolExecutor(jobs) as pool:
        for outcome, seconds in pool.map(attempt, faults):
            print(f"{outcome.verdict:9}{seconds:6.1f} s  {outcome.fault}  [{outcome.detail}]", flush=True)
            yield outcome


def summary(results: Sequence[Outcome], listed: int, commit: str, date: str) -> str:
    """The text of ``result.txt``."""
    count = {verdict: [each for each in results if each.verdict == verdict] for verdict in ("survived", "stale")}
    tried = len(results) - len(count["stale"])
    part = "" if len(results) == listed else f", out of the {listed} that are listed"
    lines = [f"{date}, commit {commit}: {tried - len(count['survived'])} of {tried} faults found{part}."]
    for verdict, title in (("survived", "Not found:"), ("stale", "Not tried, since they no longer fit the code:")):
        if count[verdict]:
            lines += ["", title, *(f"  {each.fault}  [{each.detail}]" for each in count[verdict])]
    return "\n".join(lines) + "\n"


def chosen(faults: list[Fault], only: str, sample: int | None, seed: int) -> list[Fault]:
    """Those whose file, text or tests contain ``only``, and of these ``sample`` random ones."""
    faults = [fault for fault in faults if only in f"{fault} {fault.tests}"]
    return faults if sample is None else random.Random(seed).sample(faults, min(sample, len(faults)))


def main() -> int:
    """Try the faults that the arguments choose; the exit status is 1 if one was not found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, metavar="N", help="try N random faults")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--only", default="", metavar="TEXT", help="those whose file, text or tests contain TEXT")
    parser.add_argument("--list", type=Path, default=HERE / "faults.yaml", help="another list of faults")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="faults to try at once")
    arguments = parser.parse_args()
    everything = read_faults(arguments.list, ROOT)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    faults = chosen(everything, arguments.only, arguments.sample, arguments.seed)
    results = list(outcomes(ROOT, TREES, faults, arguments.jobs))
    text = summary(results, len(everything), commit.strip(), datetime.date.today().isoformat())
    print(text, end="")
    if not arguments.only and arguments.list == HERE / "faults.yaml":
        (HERE / "result.txt").write_text(text, encoding="utf-8")
    return int(any(outcome.verdict != "found" for outcome in results))


if __name__ == "__main__":
    sys.exit(main())
