"""What the board takes with many long runs: ``python -m benchmarks.board``, with Chromium on PATH or as ``BROWSER``.

Runs are made in a temporary folder, of about 4 GB by default. Reported are the seconds until a browser has painted the
page, until it lists all runs and until it shows curves, until the server has read every run, and the server's memory.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def make_runs(folder: Path, runs: int, points: int) -> None:
    """Folders of runs that are finished: configuration, metrics and timing."""
    from warpworld.config import load_config

    steps = 2000
    lines = [metrics_line(i, steps) for i in range(1, points + 1)]
    metrics = "".join(json.dumps(line) + "\n" for line, _ in lines)
    timing = "".join(json.dumps(line) + "\n" for _, line in lines)
    for number in range(runs):
        path = folder / f"tag_gridworld-{number:05d}"
        path.mkdir()
        config = load_config("tag_gridworld", [f"trainer.seed={number}", f"trainer.total_env_steps={points * steps}"])
        (path / "config.yaml").write_text(config.to_yaml())
        (path / "metrics.jsonl").write_text(metrics)
        (path / "timing.jsonl").write_text(timing)


def metrics_line(i: int, steps: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What iteration ``i`` logs, and its timing."""
    head = {"iteration": i, "env_steps": i * steps}
    learnt = 10.0 * i / (i + 1000.0)
    charts = {"charts/episodic_length": 100.0 - learnt, "charts/tagger/episodic_return": learnt}
    losses = {"charts/runner/episodic_return": -0.5 * learnt, "losses/tagger/entropy": 1.6 - 0.1 * learnt}
    return {**head, **charts, **losses}, {**head, "time": 0.07 * i, "perf/env_steps_per_s": 28_000.0 + i % 100}


def memory(process: int) -> float:
    """The process's resident memory at its highest, MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def measure(address: str) -> dict[str, float]:
    """Seconds from the start of loading, in a browser of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = shutil.which(os.environ.get("BROWSER", "chromium"))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        began = time.perf_counter()
        page.goto(address)
        found = {"first paint": page.wait_for_function(PAINT).json_value() / 1000}
        page.wait_for_selector("#runs li")
        found["all runs listed"] = time.perf_counter() - began
        page.wait_for_selector("#panels polyline")
        found["curves shown"] = time.perf_counter() - began
        found["page's scripts, MB"] = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
        browser.close()
    return found


def wait_until_read(address: str) -> float:
    """Seconds until no run is left to be read."""
    began = time.perf_counter()
    while True:
        with urllib.request.urlopen(f"{address}api/runs") as answer:
            states = [run["state"] for run in json.load(answer)["runs"]]
        if "reading" not in states:
            return time.perf_counter() - began
        time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--points", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="board-") as folder:
        make_runs(Path(folder), arguments.runs, arguments.points)
        command = [sys.executable, "-m", "warpworld", "board", folder, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as board:
            began = time.perf_counter()
            assert board.stdout is not None
            address = board.stdout.readline().split("http://")[1].split()[0]
            found = {"command started": time.perf_counter() - began, **measure(f"http://{address}")}
            found["server at that time, MB"] = memory(board.pid)
            found["all runs read, after that"] = wait_until_read(f"http://{address}")
            found["server at its highest, MB"] = memory(board.pid)
            board.terminate()
    print(f"{arguments.runs:,} runs of {arguments.points:,} points; load {os.getloadavg()[0]:.1f}")
    for name, value in found.items():
        print(f"{name:<28}{value:8.2f}")


if __name__ == "__main__":
    main()
