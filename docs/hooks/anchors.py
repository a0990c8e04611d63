"""Headings get the anchors that GitHub gives them, so that a link to one works in both places."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from pymdownx.slugs import slugify


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name anchors as GitHub does."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config
