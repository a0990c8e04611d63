"""`warpworld demo`: trained policies at play, in the browser, before anything is trained."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import at_least
from warpworld.errors import RunError

if TYPE_CHECKING:
    from warpworld.report import Recording

FOLDER = Path("warpworld-demo")
SIZE, FRAMES = 320, 120  # of a GIF: longer side in pixels, and about how many frames
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")  # without either, a browser would take the terminal, or not open at all


@dataclass(frozen=True)
class Game:
    """A game that is shown.

    Attributes:
        pretrained: policies that play it.
        about: who does what.
        steps: that are recorded, at most.
    """

    pretrained: str
    about: str
    steps: int


GAMES = (
    Game("tag_continuous", "5 taggers hunt 20 runners", 200),
    Game("deathmatch", "two fighters shoot at each other, and see 64 pixels each", 300),
)


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    demo = commands.add_parser(
        "demo",
        help="trained policies at play in the browser, at once",
        description="Record Tag and Deathmatch, played by policies that come with warpworld, write a page of both into "
        "warpworld-demo, and open it in the browser. Without a browser, also GIFs. Nothing is trained or downloaded.",
    )
    demo.add_argument("--seed", type=at_least(0), default=0, help="seed of the episodes (default: 0)")
    demo.add_argument("--open", action=argparse.BooleanOptionalAction, default=True, help="open the page (default)")
    demo.add_argument("--output", metavar="DIR", help=f"write into this folder (default: {FOLDER})")
    demo.set_defaults(command=_demo)


def _demo(arguments: argparse.Namespace) -> int:
    """Record the games, and show them."""
    from warpworld.report import write_gif, write_replay

    folder = _folder(arguments.output)
    print("games by policies that come with warpworld, recorded here; nothing is trained or downloaded", flush=True)
    # the games, on a page of their own
    recordings = [_recorded(game, arguments.seed) for game in GAMES]
    first, *others = recordings
    page = write_replay(first, folder / "demo.html", *others)
    # in the browser, or else as pictures, too
    why = _why_not_opened(page) if arguments.open else "as --no-open says"
    if not why:
        print(f"{page}: opened in the browser")
    else:
        print(f"{page}: open it in a browser; it was not opened here, {why}", flush=True)
        for game, recording in zip(GAMES, recordings, strict=True):
            picture = write_gif(recording, folder / f"{game.pretrained}.gif", SIZE, FRAMES)
            print(f"{picture}: the same without a browser", flush=True)
    print("train one of your own: warpworld train tag_gridworld")
    return 0


def _recorded(game: Game, seed: int) -> Recording:
    """A game, recorded on the CPU: it is one env, and no device is looked for."""
    from warpworld.report import record_run
    from warpworld.runs import Run

    print(f"{game.pretrained}: {game.about}", flush=True)
    run = Run.open(f"pretrained:{game.pretrained}")
    return record_run(run, ["trainer.device=cpu"], seed=seed, steps=game.steps)


def _folder(given: str | None) -> Path:
    """The folder for pages and pictures, made where there is none.

    Raises:
        RunError: it cannot be made or written.
    """
    from warpworld.drawing import make_folder
    from warpworld.private_folder import is_writable

    try:
        folder = make_folder(Path(given) if given else FOLDER)
    except RunError as error:
        raise RunError(f"{error}; name another one with --output DIR") from error
    if not is_writable(folder):
        raise RunError(f"folder '{folder}' cannot be written; name another one with --output DIR")
    return folder


def _why_not_opened(page: Path) -> str:
    """Open a page in the user's browser; gives the reason where there is none, and "" where it is open."""
    if not os.environ.get("BROWSER") and sys.platform.startswith("linux") and not any(map(os.environ.get, DISPLAYS)):
        return "since there is no display"
    try:
        opened = webbrowser.open(page.resolve().as_uri())
    except webbrowser.Error:
        opened = False
    return "" if opened else "since there is no browser"
