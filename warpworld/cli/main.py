"""The command line: ``warpworld COMMAND``; each command is a file of this folder, or a folder of its own."""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from warpworld.cli.about import version
from warpworld.cli.garbage import left_at_exit
from warpworld.cli.wrong_words import Parser, asks_for_json, print_error, unknown_words
from warpworld.errors import WarpworldError, suggest
from warpworld.managers.cuda import explain_torch_error
from warpworld.packaged import packaged_configs

# Modules of this folder, in the order of --help.
COMMANDS = (
    *(
        "train",
        "sweep.command",
        "reproduce.command",
        "tune.command",
        "profile.command",
        "evaluate.command",
        "league",
        "watch",
        "play.command",
        "demo",
        "trace.command",
    ),
    *(
        "runs",
        "compare",
        "report.command",
        "board.command",
        "export",
        "rollout.command",
        "new.command",
        "params",
        "check",
        "plans",
    ),
    *("run.command", "about", "completion", "bench.command"),
)
USER_ERROR = 2  # exit statuses
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the words after ``warpworld``; None takes those of the process.

    Returns:
        The exit status: 0, 2 for a mistake that the user can mend, 130 after Ctrl-C.
    """
    _print_every_path()
    left_at_exit()
    words = list(sys.argv[1:] if argv is None else argv)
    parser, commands = _parser()
    if words and words[0] not in commands and not words[0].startswith("-"):
        parser.error(_unknown_command(words[0], commands))
    arguments, behind = parser.parse_known_args(words)
    _take_settings(commands.get(words[0], parser) if words else parser, arguments, behind)
    if arguments.command is None:
        parser.print_help()
        return 0
    # Torch's threads would otherwise spin between two operations, and take the cores from other programs: beside one
    # busy process a training run was ten times slower. Read when torch is loaded, which is later.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())  # so that `name: my_module:MyEnvironment` finds the user's module
    try:
        with _log_to_stderr(), _without_noise():
            status: int = arguments.command(arguments)
            if sys.stdout is not None:  # it is None where it was closed from the start: >&-
                sys.stdout.flush()
            return status
    except WarpworldError as error:
        if asks_for_json(words):
            print_error(type(error).__name__, f"{error}", USER_ERROR)
        print(f"error: {error}", file=sys.stderr)
        return USER_ERROR
    except RuntimeError as error:  # torch waits for the GPU where it likes, and meets what kernels did there
        explained = explain_torch_error(error)
        if explained is None:
            raise
        if asks_for_json(words):
            print_error("KernelError", f"{explained}", USER_ERROR)
        print(f"error: {explained}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        if asks_for_json(words):
            print_error("KeyboardInterrupt", "interrupted", INTERRUPTED)
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `warpworld list | head`: the reader has gone
        _leave_stdout()
        return 1
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        _leave_stdout()
        print(f"error: standard output cannot be written: {error.strerror}", file=sys.stderr)
        return USER_ERROR


def _print_every_path() -> None:
    """Let standard output escape what its encoding lacks, as standard error does: a path may be no text at all."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def _without_noise() -> Iterator[None]:
    """Leave out what libraries warn of in the middle of a run that calls for no action; -W shows it again.

    Spaces of other libraries have bounds in float64, and what a policy sees is float32.
    """
    with warnings.catch_warnings():
        if not sys.warnoptions:
            lowered = r".*Box (low|high)'s precision lowered by casting"
            warnings.filterwarnings("ignore", lowered, UserWarning, r"gymnasium\.spaces\.box")
        yield


def _leave_stdout() -> None:
    """Let what is still to be printed go nowhere, so that the interpreter's end does not fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> tuple[Parser, dict[str, Parser]]:
    """The whole command line, and each command's part of it by name."""
    parser = Parser(
        prog="warpworld", description="Multi-agent reinforcement learning on one device, with a GPU or without."
    )
    parser.add_argument("--version", action="version", version=f"warpworld {version('warpworld')}")
    # settings: where a command keeps its key=value words
    parser.set_defaults(command=None, settings=None, parser=parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in COMMANDS:
        importlib.import_module(f"warpworld.cli.{name}").add_parsers(commands)
    return parser, commands.choices


def _unknown_command(word: str, commands: Iterable[str]) -> str:
    hint = suggest(word, commands)
    if not hint and word in packaged_configs():
        hint = f" Did you mean 'warpworld train {word}'?"
    return f"unknown command '{word}'.{hint} Known: {', '.join(commands)}"


def _take_settings(parser: argparse.ArgumentParser, arguments: argparse.Namespace, behind: Sequence[str]) -> None:
    """Add key=value words that stand behind options to those before, which argparse does not do by itself."""
    words = getattr(arguments, arguments.settings, None) if arguments.settings else None
    wrong = [word for word in behind if words is None or word.startswith("-") or "=" not in word]
    if wrong:
        parser.error(unknown_words(wrong, parser, words is not None))
    if words is not None:
        words.extend(behind)


class _StderrHandler(logging.Handler):
    """Logs to whatever ``sys.stderr`` is at the moment, so that a live display can stand below the lines; each once."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        if line not in self._said:
            self._said.add(line)
            print(line, file=sys.stderr)


@contextmanager
def _log_to_stderr() -> Iterator[None]:
    """Show what the library has to say (a build, the device it took) while a command runs."""
    logger = logging.getLogger("warpworld")
    handler, level = _StderrHandler(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
