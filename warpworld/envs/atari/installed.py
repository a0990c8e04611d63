"""The Arcade Learning Environment that is installed: its library, its games, and what they take."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpworld.errors import DeclarationError, suggest

SUPPORTED = "0.12"  # of ale-py; arcade.hpp has its sizes
UNRESTORED = ("miniature_golf",)  # games whose states the library does not restore exactly


@dataclass(frozen=True)
class Rom:
    """A game.

    Attributes:
        path: of its file.
        minimal: its actions that do something, as the library numbers them.
        legal: all actions, likewise.
        names: of all actions, by the library's number.
        height: of its screen, pixels.
        width: of its screen, pixels.
    """

    path: str
    minimal: tuple[int, ...]
    legal: tuple[int, ...]
    names: dict[int, str]
    height: int
    width: int


class LinkFlags:
    """Words that link a kernel file with the library, found where they are read."""

    def __get__(self, instance: object, owner: type[Any] | None = None) -> tuple[str, ...]:
        """Path of the library and the flag that finds it again; raises DeclarationError without ale-py."""
        library = Path(_ale()._ale_py.__file__)
        return str(library), f"-Wl,-rpath,{library.parent}"


@functools.lru_cache
def rom_of(game: str) -> Rom:
    """Read a game.

    Raises:
        DeclarationError: there is no such game, no ale-py, or none of the version that is supported.
    """
    ale, known = _ale(), known_games()
    if game in UNRESTORED:
        raise DeclarationError(
            f"atari: game={game!r}: the library does not restore its states exactly. `name: external` plays it with "
            "`library: ale`"
        )
    if game not in known:
        raise DeclarationError(
            f"atari: game={game!r} is no game of ale-py for one player.{suggest(game, known)} It has {len(known)}: "
            f"{', '.join(known)}"
        )
    path = _path(game)
    ale.ALEInterface.setLoggerMode(ale.LoggerMode.Error)
    emulator = ale.ALEInterface()
    emulator.loadROM(path)
    legal, (height, width) = emulator.getLegalActionSet(), emulator.getScreenDims()
    minimal = tuple(int(action.value) for action in emulator.getMinimalActionSet())
    names = {int(action.value): action.name.lower() for action in legal}
    return Rom(str(path), minimal, tuple(names), names, height, width)


@functools.lru_cache
def known_games() -> list[str]:
    """Names of the games that the library can run for one player, sorted."""
    supported = _ale().ALEInterface.isSupportedROM
    found = {name: _path(name) for name in importlib.import_module("ale_py.roms").get_all_rom_ids()}
    playable = {name for name, path in found.items() if path is not None and supported(path) == name}
    return sorted(playable - {*UNRESTORED})


def _path(game: str) -> Path | None:
    """File of a game; None where the package has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that it has no file for
        path: Path | None = importlib.import_module("ale_py.roms").get_rom_path(game)
    return path


def _ale() -> Any:
    """The module of ale-py."""
    try:
        ale = importlib.import_module("ale_py")
    except ImportError as error:
        raise DeclarationError("atari needs ale-py; install it: pip install 'ale-py>=0.12,<0.13'") from error
    version = importlib.metadata.version("ale-py")
    if not version.startswith(f"{SUPPORTED}."):
        raise DeclarationError(
            f"atari: ale-py {version} is installed, expected {SUPPORTED}; install it: pip install 'ale-py>=0.12,<0.13'."
            " Any version will do for `name: external` with `library: ale`"
        )
    return ale
