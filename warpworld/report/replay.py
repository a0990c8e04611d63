"""A recording as an HTML page that plays it, with nothing to load from elsewhere."""

from __future__ import annotations

from pathlib import Path

from warpworld.report.encoding import encode_text
from warpworld.report.pages import asset, escaped, fill, style, write_whole
from warpworld.report.recording import Recording

STYLES = ("page.css", "replay.css")
SCRIPT = "replay.js"


def write_replay(recording: Recording, path: str | Path) -> Path:
    """Write the page that plays a recording: picture, slider, play, speed, returns so far.

    Args:
        recording: what it plays.
        path: the page; it appears complete or not at all.

    Returns:
        ``path``.

    Raises:
        RunError: it cannot be written.
    """
    parts = {"title": escaped(recording.title), "style": style(*STYLES), "script": asset(SCRIPT)}
    return write_whole(Path(path), fill("replay.html", replay=replay_element(recording), **parts) + "\n")


def replay_element(recording: Recording) -> str:
    """The element that replay.js turns into a player."""
    return f'<div class="replay"><script type="application/json">{encode_text(recording)}</script></div>'
