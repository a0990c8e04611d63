"""The board's own page, style and script, and replays with a script that is the board's and not the run's."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache, partial
from pathlib import Path
from string import Template

from warpworld.drawing import escaped
from warpworld.files import readable
from warpworld.report import asset, read_replay, replay_page_of, style
from warpworld.runs import RunFolder

SCRIPTS = ("lines.js", "runs.js", "details.js", "board.js")
_asset = partial(asset, folder=__package__)


def board_page(folder: Path) -> str:
    """The page, which then asks for the runs of the folder."""
    return Template(_asset("board.html")).substitute(folder=escaped(readable(folder)))


@cache
def board_style() -> str:
    """The page's style sheet."""
    return f"{style('page.css', 'report.css')}\n{_asset('board.css')}"


@cache
def board_script() -> str:
    """The page's script: files that use what those before them define, in a scope of their own."""
    return "\n".join(["(() => {", '"use strict";', asset("charts.js"), *(_asset(name) for name in SCRIPTS), "})();"])


def replay_page(name: str, run: RunFolder, iteration: int | None = None) -> tuple[str, str]:
    """A page that plays a run's replay, of which only the recording is taken, and its security policy.

    Args:
        name: heads the page.
        run: whose replay it is.
        iteration: after which it was recorded while the run trained; None for ``replay.html``.

    Raises:
        RunError: it cannot be read, or holds no replay.
    """
    page = replay_page_of(name, read_replay(run.replay_path if iteration is None else run.recorded.page(iteration)))
    scripts = " ".join(_hashes(page, "script"))
    styles = " ".join(_hashes(page, "style"))
    policy = f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; frame-ancestors 'self'"
    return page, policy


def _hashes(page: str, tag: str) -> list[str]:
    """Hashes of the page's own scripts or styles for its content security policy; browsers refuse any other."""
    texts = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    digests = (hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest() for text in texts)
    return [f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests]
