"""Pages that stand alone: templates, styles and scripts of this folder put into one file."""

from __future__ import annotations

import html
import importlib.resources
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from string import Template

from warpworld.errors import RunError
from warpworld.files import reason, replacing_path
from warpworld.report.palette import css_variables


def fill(template: str, **parts: str) -> str:
    """A template of this folder with its ``$names`` replaced; the parts are HTML already."""
    return Template(asset(template)).substitute(parts)


def asset(name: str) -> str:
    """The text of a file of this folder."""
    return importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8").rstrip()


def style(*names: str) -> str:
    """Style sheets of this folder one after the other, behind the palette's colours."""
    return "\n".join([css_variables(), *(asset(name) for name in names)])


def script(*names: str) -> str:
    """Scripts of this folder one after the other, in a scope of their own: each uses what those before it define."""
    return "\n".join(['(() => {\n"use strict";', *(asset(name) for name in names), "})();"])


def escaped(value: object) -> str:
    """Text for HTML, also within quotes."""
    return html.escape(str(value), quote=True)


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file that appears complete or not at all.

    Raises:
        RunError: it cannot be written.
    """
    with replacing(path) as unfinished:
        unfinished.write_bytes(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name to write a file under; it gets its own name in the end, if nothing went wrong.

    Raises:
        RunError: it cannot be written.
    """
    try:
        with replacing_path(path) as unfinished:
            yield unfinished
    except OSError as error:
        raise RunError(f"'{path}' cannot be written: {reason(error)}") from error


def make_folder(path: Path) -> Path:
    """Make a folder, and those that it lies in, where there is none.

    Raises:
        RunError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"folder '{path}' cannot be made: {error.strerror or error}") from error
    return path
