"""``python -m benchmarks``: the tables beside peers, or one of them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from warpworld.cli.argument_types import seconds
from warpworld.errors import WarpworldError

SECONDS = 0.2  # of a window
USER_ERROR, INTERRUPTED = 2, 130  # exit statuses, as the command line has them


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 2 for a word that selects nothing, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Speed of stepping the package's environments and of learning in them, beside the peers that are "
        "installed.",
    )
    parser.add_argument(
        "--only",
        metavar="WORD",
        help="only environments whose name contains this; leaves the peers out; adapters, export, gallery, learning, "
        "off-policy, replay and rollout are tables of their own. learning takes about ten minutes; learning:WORK "
        "measures one of its works, which are plain, mingru, lstm, gaussian, deathmatch, tag_gridworld and start",
    )
    parser.add_argument("--seconds", type=seconds, default=SECONDS, help=f"length of a window (default: {SECONDS})")
    parser.add_argument("--save", metavar="FILE", help="also write the rows, with machine, date and commit, as JSON")
    given = parser.parse_args(argv)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as the command line does, before torch is loaded
    from .main import run

    try:
        run(given.only, given.seconds, given.save)
    except WarpworldError as error:
        print(f"error: {error}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
