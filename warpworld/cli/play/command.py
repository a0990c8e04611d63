"""`warpworld play`: play an agent of an environment in the browser."""

from __future__ import annotations

import argparse
import contextlib
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import CHECKPOINT, at_least
from warpworld.cli.override_options import add_device
from warpworld.errors import RunError
from warpworld.packaged import packaged_configs

if TYPE_CHECKING:
    from warpworld.cli.play.game import Game
    from warpworld.config import RunConfig

PORT, LAST_PORT = 8310, 65535


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    play = commands.add_parser(
        "play",
        help="play an agent in the browser, with or against policies",
        description="Play an agent of an environment in the browser, by keyboard and touch. Policies, scripts or "
        "random actions play the others. Needs pip install 'warpworld[board]'.",
    )
    play.add_argument(
        "name", metavar="NAME", help="a packaged config, a YAML file, or a run folder, whose policies play"
    )
    play.add_argument("overrides", metavar="key=value", nargs="*", default=[], help="overrides, such as env.players=2")
    play.add_argument(
        "--policy",
        metavar="RUN",
        help="who plays the other agents: a run folder, a script of the environment, or random",
    )
    play.add_argument(
        "--as", dest="seat", metavar="AGENT", help="a group, group:index, or an agent's number (default: the first)"
    )
    play.add_argument("--greedy", action="store_true", help="policies take the likeliest actions")
    play.add_argument("--checkpoint", **CHECKPOINT)
    play.add_argument("--seed", type=at_least(0), default=0, help="seed of the games (default: 0)")
    play.add_argument("--save", metavar="FOLDER", help="save each game here when it ends, as a replay and as arrays")
    play.add_argument(
        "--port",
        type=at_least(0, LAST_PORT),
        default=PORT,
        help=f"port on 127.0.0.1, or the next free one (default: {PORT}; 0: any)",
    )
    play.add_argument("--open", action=argparse.BooleanOptionalAction, default=True, help="open a browser (default)")
    add_device(play, "play")
    play.set_defaults(command=_play, settings="overrides")


def _play(arguments: argparse.Namespace) -> int:
    """Serve a game until Ctrl-C."""
    # packages that servers alone need
    try:
        from warpworld.cli.local_server import bind, make_server
        from warpworld.cli.play.app import make_app
    except ImportError as error:
        missing = error.name or "a package"
        raise RunError(f"playing needs {missing}, which is not installed: pip install 'warpworld[board]'") from error
    from warpworld.cli.play.saving import Folder

    # the game, its address, and a browser
    game = _game(arguments)
    folder = Folder(Path(arguments.save)) if arguments.save else None
    with contextlib.closing(game), bind(arguments.port) as bound:
        port = bound.getsockname()[1]
        if arguments.port not in (0, port):
            print(f"port {arguments.port} is in use, taking {port}")
        address = f"http://127.0.0.1:{port}/"
        print("\n".join([f"{game.title}: you play {game.seat.name}", *game.others()]))
        print(f"{address} (Ctrl-C ends it)", flush=True)
        if arguments.open and not _open(address):
            print("no browser was found: open the address above", flush=True)
        # served until Ctrl-C
        with contextlib.suppress(KeyboardInterrupt):  # how it is meant to end
            make_server(make_app(game, folder)).run(sockets=[bound])
    return 0


def _game(arguments: argparse.Namespace) -> Game:
    """The game that the words describe."""
    from warpworld.cli.play.game import Game
    from warpworld.cli.play.others import find_others

    config, own_run = _configured(arguments)
    source = arguments.policy if arguments.policy is not None else own_run
    if source is None and (arguments.greedy or arguments.checkpoint is not None):
        raise RunError("--greedy and --checkpoint are for policies of a run: name one with --policy RUN")
    others = find_others(config, source, arguments.greedy, arguments.checkpoint)
    return Game(config, others, arguments.seat, arguments.seed)


def _configured(arguments: argparse.Namespace) -> tuple[RunConfig, str | None]:
    """The configuration that is played, and the run folder that it is of, if that has policies."""
    from warpworld.config import load_config
    from warpworld.runs import Run, found_folder

    name, overrides = arguments.name, [f"trainer.device={arguments.device or 'cpu'}", *arguments.overrides]
    if not Path(name).is_dir() and (name in packaged_configs() or Path(name).is_file()):
        return load_config(name, overrides), None
    run = Run.open(found_folder(name, packaged_configs()))
    has_policies = run.checkpoints() or arguments.checkpoint is not None
    return load_config(run.path / "config.yaml", overrides), name if has_policies else None


def _open(address: str) -> bool:
    """Open a page in a browser with windows; False where there is none, so that none takes over the terminal."""
    try:
        browser = webbrowser.get()
        if type(browser) is webbrowser.GenericBrowser:  # such as w3m and lynx
            return False
        return browser.open(address)
    except webbrowser.Error:
        return False
