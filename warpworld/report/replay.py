"""A recording as an HTML page that plays it, with nothing to load from elsewhere; and such a page read back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.drawing import escaped, write_whole
from warpworld.errors import RunError
from warpworld.files import read_file, reason
from warpworld.report.pages import fill, script, style

if TYPE_CHECKING:
    from warpworld.report.recording import Recording

STYLES = ("page.css", "replay.css")
SCRIPTS = ("elements.js", "marks.js", "timeline.js", "agents.js", "replay.js")
LARGEST_IN_NOTEBOOK = 2_000_000  # characters, which are saved with it
ARRAYS_IN_NOTEBOOK = 500_000  # characters of arrays among them
_ELEMENT = '<div class="replay"><script type="application/json">{}</script></div>'
_SAVED = re.compile(re.escape(_ELEMENT).replace(r"\{\}", "(.*?)"), re.DOTALL)


def write_replay(recording: Recording, path: str | Path, *others: Recording) -> Path:
    """Write the page that plays a recording: picture, returns so far, and what each agent sees, does and gets.

    Args:
        recording: what it plays.
        path: the page; it appears complete or not at all.
        others: what it plays below.

    Returns:
        ``path``.

    Raises:
        RunError: it cannot be written.
    """
    texts = [replay_text(each) for each in (recording, *others)]
    return write_whole(Path(path), replay_page_of(recording.title, *texts) + "\n")


def notebook_player(recording: Recording) -> str | None:
    """The page in a frame of its own, as HTML; None where it has more than ``LARGEST_IN_NOTEBOOK`` characters."""
    text = replay_page_of(recording.title, replay_text(recording, ARRAYS_IN_NOTEBOOK))
    if len(text) > LARGEST_IN_NOTEBOOK:
        return None
    return f'<iframe srcdoc="{escaped(text)}" style="width: 100%; height: 640px; border: 0"></iframe>'


def replay_page_of(title: str, *texts: str) -> str:
    """The page that plays the JSON of replays one below the other, see ``replay_text``."""
    parts = {"title": escaped(title), "style": style(*STYLES), "script": script(*SCRIPTS)}
    return fill("replay.html", replay="\n".join(map(replay_element, texts)), **parts)


def replay_text(recording: Recording, most: int | None = None) -> str:
    """A recording as JSON that may stand inside a ``<script>`` of an HTML page.

    Args:
        recording: what it holds.
        most: characters that its arrays may take; None takes ``column_encoding.MOST_CHARACTERS``.
    """
    from warpworld.report.encoding import encode

    return _for_script(encode(recording) if most is None else encode(recording, most))


def read_replay(path: str | Path) -> str:
    """Read the replay of a page that ``write_replay`` wrote, as ``replay_text``; the page's scripts are ignored.

    Raises:
        RunError: the page cannot be read, or holds no replay.
    """
    try:
        found = _SAVED.search(read_file(path).decode())
        replay = json.loads(found[1]) if found else None
        if isinstance(replay, dict) and "frames" in replay:
            return _for_script(replay)
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"'{path}' cannot be read: {reason(error)}") from error
    raise RunError(f"'{path}' holds no replay, expected a page that `warpworld watch` wrote")


def replay_element(text: str) -> str:
    """The element that replay.js turns into a player of a replay's JSON."""
    return _ELEMENT.format(text)


def _for_script(replay: dict[str, Any]) -> str:
    text = json.dumps(replay, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
