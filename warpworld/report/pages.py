"""Pages that stand alone: templates, styles and scripts of this folder put into one file."""

from __future__ import annotations

import importlib.resources
from string import Template

from warpworld.drawing import css_variables


def fill(template: str, **parts: str) -> str:
    """A template of this folder with its ``$names`` replaced; the parts are HTML already."""
    return Template(asset(template)).substitute(parts)


def asset(name: str, folder: str = __package__) -> str:
    """The text of a file of this folder, or of another package's."""
    return importlib.resources.files(folder).joinpath(name).read_text(encoding="utf-8").rstrip()


def style(*names: str) -> str:
    """Style sheets of this folder one after the other, behind the palette's colours."""
    return "\n".join([css_variables(), *(asset(name) for name in names)])


def script(*names: str) -> str:
    """Scripts of this folder one after the other, in a scope of their own: each uses what those before it define."""
    return "\n".join(['(() => {\n"use strict";', *(asset(name) for name in names), "})();"])
