"""Notebooks become pages, with the outputs that they hold; nothing is run."""

from __future__ import annotations

import posixpath
import re
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter

LINK = re.compile(r"(\]\((?!\w+://)[^)#\s]+)\.ipynb(?=[)#])")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let the nav name the pages that notebooks become."""
    config.nav = _pages(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page, and its pictures, for each notebook; the notebook stays for those who download it."""
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        stem = notebook.src_uri.removesuffix(".ipynb")
        name = posixpath.basename(stem)
        body, resources = MarkdownExporter().from_notebook_node(
            nbformat.reads(notebook.content_string, as_version=4), {"output_files_dir": f"{name}-files"}
        )
        for picture, content in resources["outputs"].items():
            path = posixpath.join(posixpath.dirname(stem), picture)
            files.append(File.generated(config, path, content=content))
        files.append(File.generated(config, f"{stem}.md", content=body))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links between notebooks to their pages, and offer the notebook itself."""
    markdown = LINK.sub(r"\1.md", markdown)
    notebook = page.file.src_uri.removesuffix(".md") + ".ipynb"
    if files.get_file_from_path(notebook) is None:
        return markdown
    title, _, rest = markdown.lstrip().partition("\n")
    return f"{title}\n\n[Download this notebook]({posixpath.basename(notebook)})\n{rest}"


def _pages(nav: Any) -> Any:
    if isinstance(nav, list):
        return [_pages(entry) for entry in nav]
    if isinstance(nav, dict):
        return {title: _pages(entry) for title, entry in nav.items()}
    return re.sub(r"\.ipynb$", ".md", nav) if isinstance(nav, str) else nav
