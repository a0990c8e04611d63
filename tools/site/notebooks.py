"""Notebooks become pages, with the outputs that they hold; nothing is run."""

from __future__ import annotations

import posixpath
import re

import nbformat
from nbconvert import MarkdownExporter

from tools.site.files import Files

_LINK = re.compile(r"(\]\((?!\w+://)[^)#\s]+)\.ipynb(?=[)#])")


def with_notebooks(files: Files) -> Files:
    """Add a page, and its pictures, for each notebook; the notebook stays for those who download it."""
    pages = {path: _led(content) if path.endswith(".md") else content for path, content in files.items()}
    for path in files:
        if path.endswith(".ipynb"):
            pages |= _page(path, files[path].decode())
    return pages


def _led(page: bytes) -> bytes:
    """A page whose links to notebooks lead to their pages."""
    return _LINK.sub(r"\1.md", page.decode()).encode()


def _page(path: str, notebook: str) -> Files:
    """A notebook's page, which offers the notebook itself under the title, and the pictures of its outputs."""
    stem = path.removesuffix(".ipynb")
    folder, name = posixpath.split(stem)
    body, resources = MarkdownExporter().from_notebook_node(
        nbformat.reads(notebook, as_version=4), {"output_files_dir": f"{name}-files"}
    )
    title, _, rest = _led(body.encode()).decode().lstrip().partition("\n")
    page = f"{title}\n\n[Download this notebook]({name}.ipynb)\n{rest}"
    pictures = {posixpath.join(folder, picture): content for picture, content in resources["outputs"].items()}
    return {f"{stem}.md": page.encode(), **pictures}
