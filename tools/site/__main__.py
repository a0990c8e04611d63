"""Builds the documentation site into site/, or serves it while pages are written.

Zensical has no hooks: pages that are made of other files are prepared in build/site-docs, which mkdocs.yml names as the
folder of its pages.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

import yaml

from tools.site.built import faults
from tools.site.files import read_files, write_files
from tools.site.llms import with_llms
from tools.site.notebooks import with_notebooks
from tools.site.sources import with_sources

ROOT = Path(__file__).resolve().parents[2]
ZENSICAL = (sys.executable, "-m", "zensical")


def prepare(root: Path) -> None:
    """Write the site's source into build/site-docs of a repository."""
    pages = with_notebooks(read_files(root / "docs"))
    listed = with_llms(pages, yaml.safe_load((root / "mkdocs.yml").read_text(encoding="utf-8")))
    write_files(with_sources(listed, root), root / "build" / "site-docs")


def build(root: Path = ROOT) -> int:
    """Build the site anew, and return the exit status: a broken link, or a load from a network, is an error."""
    prepare(root)
    shutil.rmtree(root / "site", ignore_errors=True)
    built = subprocess.run([*ZENSICAL, "build", "--strict", "--clean"], cwd=root, check=False)
    found = faults(root / "site")
    for fault in found:
        print(f"error: {fault}", file=sys.stderr)
    return built.returncode or int(bool(found))


def serve(address: str, root: Path = ROOT) -> int:
    """Serve the site at an address, and prepare it again after each change of docs/, until interrupted."""
    prepare(root)
    with subprocess.Popen([*ZENSICAL, "serve", "--dev-addr", address], cwd=root) as server:
        seen = _times(root / "docs")
        try:
            while server.poll() is None:
                time.sleep(0.5)
                if (now := _times(root / "docs")) != seen:
                    seen = now
                    prepare(root)
        except KeyboardInterrupt:
            server.terminate()
            return 0
    return server.returncode


def _times(docs: Path) -> dict[Path, int]:
    """Times at which the files of a folder were changed, in nanoseconds."""
    return {path: path.stat().st_mtime_ns for path in docs.rglob("*") if path.is_file()}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("command", choices=("build", "serve"))
    parser.add_argument("--address", default="127.0.0.1:8000", help="where to serve (default: %(default)s)")
    arguments = parser.parse_args()
    return build() if arguments.command == "build" else serve(arguments.address)


if __name__ == "__main__":
    sys.exit(main())
