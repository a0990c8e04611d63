"""Pieces of HTML: escaped text, and the cards, tables and images that objects show of themselves in a notebook."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence


def escaped(value: object) -> str:
    """Text for HTML, also within quotes."""
    return html.escape(str(value), quote=True)


def card(heading: str, body: str) -> str:
    """A heading, which is escaped, over HTML."""
    return f"<div><p><b>{escaped(heading)}</b></p>{body}</div>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Escaped cells, to the left as text is read; no heads leave out that row."""
    top = "".join(f'<th style="text-align: left">{escaped(head)}</th>' for head in heads)
    lines = ("".join(f'<td style="text-align: left">{escaped(cell)}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{f'<tr>{top}</tr>' if heads else ''}{body}</table>"


def image(png: bytes, about: str) -> str:
    """A PNG within the page, and the text for those who do not see it."""
    return f'<img alt="{escaped(about)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
