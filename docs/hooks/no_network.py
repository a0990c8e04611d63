"""A built page loads nothing from a network: no font, script, style or picture."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

LOADED = re.compile(r"""<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)""")
log = logging.getLogger("mkdocs.hooks.no_network")


def on_post_build(config: MkDocsConfig) -> None:
    """Warn of what a page would load, which a strict build takes for an error."""
    site = Path(config.site_dir)
    for page in sorted(site.rglob("*.html")):
        for address in LOADED.findall(page.read_text(encoding="utf-8")):
            log.warning("%s loads %s", page.relative_to(site), address)
