"""Syntax trees of kernel files, and where a line lies in one."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.checking.places import Place
from warpworld.managers import INCLUDE_FOLDER, KernelSource, SourceText, parse, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
FUNCTION = "function_definition"
_LAST_NAME = re.compile(r"::|\.|->")


def first_line(node: Node) -> int:
    """The line on which a node starts."""
    return node.start_point[0] + 1


def last_line(node: Node) -> int:
    """The line on which a node ends."""
    return node.end_point[0] + 1


def covers(node: Node, *lines: int) -> bool:
    """Whether all of some lines lie within a node."""
    return all(first_line(node) <= line <= last_line(node) for line in lines)


def ancestors(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield each node around a node up to its function, with the child of it that the node lies in."""
    part, around = node, node.parent
    while around is not None and part.type != FUNCTION:
        yield around, part
        part, around = around, around.parent


class Sources:
    """The syntax trees of an author's kernel files.

    Args:
        texts: of the files, by path.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.roots = {file: parse(SourceText(Path(file), text).code) for file, text in texts.items()}
        self._files = {root.id: file for file, root in self.roots.items()}
        nodes = [node for root in self.roots.values() for node in walk(root)]
        self._functions = [node for node in nodes if node.type == FUNCTION]
        self._calls = [node for node in nodes if node.type == "call_expression"]

    def place(self, node: Node) -> Place:
        """The place where a node starts."""
        root = node
        while root.parent is not None:
            root = root.parent
        return Place(self._files[root.id], first_line(node))

    def on_line(self, place: Place, *types: str) -> list[Node]:
        """The nodes of some types that start at a place."""
        root = self.roots.get(place.file)
        nodes = walk(root) if root is not None else ()
        return [node for node in nodes if node.type in types and first_line(node) == place.line]

    def function_at(self, file: str, *lines: int) -> Node | None:
        """The innermost function of a file that all of some lines lie in."""
        inside = (node for node in reversed(self._functions) if covers(node, *lines))
        return next((node for node in inside if self.place(node).file == file), None)

    def functions_named(self, name: str) -> list[Node]:
        """The functions of a name."""
        return [node for node in self._functions if function_name(node) == name]

    def calls_of(self, name: str) -> list[Node]:
        """The calls of a function."""
        return [call for call in self._calls if callee(call) == name]


def authors_files(source: KernelSource) -> list[Path]:
    """The author's kernel file, and the author's files that it includes."""
    others = (*source.includes, *source.behind)
    own = (path for path, _ in source.included() if path not in others and INCLUDE_FOLDER not in path.parents)
    return [source.path, *own]


def read_sources(files: Iterable[str | Path]) -> Sources:
    """The trees of some files, parsed once; a file that cannot be read is empty."""
    return _parsed(tuple((str(file), _read(Path(file))) for file in files))


@functools.lru_cache(maxsize=8)
def _parsed(texts: tuple[tuple[str, str], ...]) -> Sources:
    return Sources(dict(texts))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def callee(call: Node) -> str:
    """The name of the function that is called."""
    function = call.child_by_field_name("function")
    return _LAST_NAME.split(text_of(function).partition("<")[0])[-1] if function is not None else ""


def function_name(function: Node) -> str:
    """The name of a function that is defined."""
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    name = declarator.child_by_field_name("declarator") if declarator is not None else None
    return text_of(name).rpartition("::")[2] if name is not None else ""


def is_kernel(function: Node) -> bool:
    """Whether a function is a kernel."""
    return "__global__" in text_of(function).partition("{")[0]
