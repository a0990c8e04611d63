"""Links from a page to the code lead to pages that show it: the site is whole without a repository's address."""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
LANGUAGES = {".cu": "cuda", ".cuh": "cuda", ".cff": "yaml", ".cpp": "cpp", ".hpp": "cpp", ".py": "python"}
UNSEARCHED = "---\nsearch: {exclude: true}\n---\n\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file and folder of the repository that a page links to."""
    wanted = {
        target
        for page in files.documentation_pages()
        for link, _ in LINK.findall(page.content_string)
        if (target := _outside(page.src_uri, link))
    }
    for target in sorted(wanted):
        content = UNSEARCHED + _shown(target)
        files.append(File.generated(config, _page_of(target), content=content, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead such links to these pages."""

    def led(match: re.Match[str]) -> str:
        target = _outside(page.file.src_uri, match[1])
        if target is None:
            return match[0]
        return f"]({posixpath.relpath(_page_of(target), posixpath.dirname(page.file.src_uri))})"

    return LINK.sub(led, markdown)


def _outside(page: str, link: str) -> str | None:
    """The path from the repository's root, of an existing target outside of docs/."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return None if path.startswith(("docs/", "..")) or not (ROOT / path).exists() else path


def _page_of(target: str) -> str:
    return f"source/{target}.md"


def _shown(target: str) -> str:
    path = ROOT / target
    if path.is_dir():
        rows = [f"| `{name}` | {about} |" for name, about in _entries(path)]
        return "\n".join([f"# {target}/", "", "| file | |", "|---|---|", *rows, ""])
    language = LANGUAGES.get(path.suffix, "text")
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
