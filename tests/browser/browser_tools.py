"""Installs what the tests of pages need: Playwright, and a Chromium where none is here; `make browser-tools` runs it.

Chromium comes from the system's packages where this user may install them, else from Playwright. Playwright rather than
Selenium: it needs no driver that matches the browser, it waits for elements by itself, and it emulates dark pages and
phones. What cannot be had is reported; tests that need it are then skipped.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CONSTRAINTS = Path(__file__).resolve().parents[2] / "constraints.txt"
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


class CannotBeHadError(Exception):
    """Something is missing on this machine, or cannot be fetched."""


def find_chromium() -> str | None:
    """The browser that tests drive: the one that ``BROWSER`` names, one on PATH, or Playwright's own; None without."""
    wanted = os.environ.get("BROWSER")
    for name in (wanted,) if wanted else NAMES:
        found = shutil.which(name)
        if found:
            return found
    return _playwrights_own()


def _playwrights_own() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def report(text: str) -> None:
    print(f"browser-tools: {text}", flush=True)


def run(command: Sequence[str]) -> None:
    """Run a command quietly; if it fails, its last lines are in the error."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=environment)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()[-6:]
        raise CannotBeHadError("\n  ".join([f"`{' '.join(command)}` failed:", *lines]))


def install_playwright() -> None:
    if importlib.util.find_spec("playwright") is None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-compile"]
        run([*pip, "--constraint", str(CONSTRAINTS), "playwright"])
        importlib.invalidate_caches()
    report("Playwright is installed")


def install_chromium() -> None:
    if find_chromium() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        report("installing Chromium from the system's packages")
        run(["apt-get", "update"])
        run(["apt-get", "install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"])
    if find_chromium() is None:
        report("installing Playwright's Chromium")
        run([sys.executable, "-m", "playwright", "install", "chromium"])
    report(f"Chromium: {find_chromium()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stamp", type=Path, help="a file to touch when all is installed")
    stamp = parser.parse_args().stamp
    try:
        install_playwright()
        install_chromium()
    except (CannotBeHadError, OSError) as error:
        return report(f"tests of pages in a browser will be skipped: {error}")
    if stamp:
        stamp.touch()


if __name__ == "__main__":
    main()
