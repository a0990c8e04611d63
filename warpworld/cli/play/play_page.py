"""The page on which a game is played: drawn by the same script as a replay."""

from __future__ import annotations

from functools import cache, partial
from string import Template

from warpworld.drawing import escaped
from warpworld.report import asset, style

DRAWING = ("elements.js", "marks.js")  # of replays
SCRIPTS = ("controls.js", "play.js")
_asset = partial(asset, folder=__package__)


def play_page(title: str) -> str:
    """The page, which then asks for the game."""
    return Template(_asset("play.html")).substitute(title=escaped(title))


@cache
def play_style() -> str:
    """The page's style sheet."""
    return f"{style('page.css')}\n{_asset('play.css')}"


@cache
def play_script() -> str:
    """The page's script: files that use what those before them define, in a scope of their own."""
    files = [*map(asset, DRAWING), *map(_asset, SCRIPTS)]
    return "\n".join(["(() => {", '"use strict";', *files, "})();"])
