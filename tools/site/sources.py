"""Links from a page to the code lead to pages that show it: the site is whole without a repository's address."""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path

from tools.site.files import Files

_LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
_LANGUAGES = {".cu": "cuda", ".cuh": "cuda", ".cff": "yaml", ".cpp": "cpp", ".hpp": "cpp", ".py": "python"}
_UNSEARCHED = "---\nsearch: {exclude: true}\n---\n\n"


def with_sources(files: Files, root: Path) -> Files:
    """Add a page for each file and folder of the repository at ``root`` that a page links to, and lead links to it."""
    made, wanted = dict(files), set[str]()
    for page in [path for path in files if path.endswith(".md")]:

        def led(match: re.Match[str], page: str = page) -> str:
            target = _outside(page, match[1], root)
            if target is None:
                return match[0]
            wanted.add(target)
            return f"]({posixpath.relpath(_page_of(target), posixpath.dirname(page) or '.')})"

        made[page] = _LINK.sub(led, files[page].decode()).encode()
    return made | {_page_of(target): (_UNSEARCHED + _shown(target, root)).encode() for target in sorted(wanted)}


def _outside(page: str, link: str, root: Path) -> str | None:
    """The path from the repository's root, of an existing target outside of docs/."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return None if path.startswith(("docs/", "..")) or not (root / path).exists() else path


def _page_of(target: str) -> str:
    return f"source/{target}.md"


def _shown(target: str, root: Path) -> str:
    path = root / target
    if path.is_dir():
        rows = [f"| `{name}` | {about} |" for name, about in _entries(path)]
        return "\n".join([f"# {target}/", "", "| file | |", "|---|---|", *rows, ""])
    language = _LANGUAGES.get(path.suffix, "text")
    return f"# {target}\n\n``````{language}\n{path.read_text(encoding='utf-8')}\n``````\n"


def _entries(folder: Path) -> list[tuple[str, str]]:
    """Names of a folder's files and folders, each with what its first line says of it."""
    return [
        (f"{entry.name}/" if entry.is_dir() else entry.name, _first_line(entry))
        for entry in sorted(folder.iterdir(), key=lambda entry: (entry.is_file(), entry.name))
        if not entry.name.startswith(("__", "."))
    ]


def _first_line(entry: Path) -> str:
    module = entry / "__init__.py" if entry.is_dir() else entry
    if module.suffix != ".py" or not module.is_file():
        return ""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return text.partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")
