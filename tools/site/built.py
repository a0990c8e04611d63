"""The built pages' faults: what a page would load from a network, and files that it leads to and that are not there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

_LOADED = re.compile(r"""<(script|img|iframe|source|video|audio|embed|link|a)\b[^>]*?\s(?:src|href)=["']?([^"'\s>]+)""")
_NETWORK = re.compile(r"(?:https?:)?//")
_SCHEME = re.compile(r"[a-z]+:")


def faults(site: Path) -> list[str]:
    """A line for each fault of a built site's pages."""
    # A server shows 404.html at any address, so that its own addresses start at the server's root.
    pages = [page for page in sorted(site.rglob("*.html")) if page.name != "404.html"]
    return [f"{page.relative_to(site)} {fault}" for page in pages for fault in _faults(page)]


def _faults(page: Path) -> Iterator[str]:
    for element, address in dict.fromkeys(_LOADED.findall(page.read_text(encoding="utf-8"))):
        if _NETWORK.match(address):
            if element != "a":
                yield f"loads {address}: a page of the site must load nothing from a network"
        elif not _SCHEME.match(address) and not _target(page, address).exists():
            yield f"leads to {address}, which is not there: mend the link in the page's source"


def _target(page: Path, address: str) -> Path:
    path = unquote(re.sub(r"[?#].*", "", address))
    return Path(posixpath.normpath(page.parent / path)) if path else page
