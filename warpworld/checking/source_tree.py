"""Syntax trees of kernel files, and where a line lies in one."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.managers.source_text import SourceText, parse, text_of, walk

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
    """Each node around a node up to its function, with the part of it that the node lies in."""
    part, around = node, node.parent
    while around is not None and part.type != FUNCTION:
        yield around, part
        part, around = around, around.parent


class SourceTree:
    """One kernel file.

    Args:
        path: the file; one that cannot be read is empty.
    """

    def __init__(self, path: Path) -> None:
        try:
            source = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            source = ""
        self.root = parse(SourceText(path, source).code)
        self._nodes = list(walk(self.root))
        self.functions = [node for node in self._nodes if node.type == FUNCTION]
        self.calls = [node for node in self._nodes if node.type == "call_expression"]

    def on_line(self, line: int, *types: str) -> list[Node]:
        """The nodes of some types that start on a line."""
        return [node for node in self._nodes if node.type in types and first_line(node) == line]

    def function_at(self, *lines: int) -> Node | None:
        """The innermost function that all of some lines lie in."""
        return next((node for node in reversed(self.functions) if covers(node, *lines)), None)

    def functions_named(self, name: str) -> list[Node]:
        """The functions of a name."""
        return [node for node in self.functions if function_name(node) == name]

    def calls_of(self, name: str) -> list[Node]:
        """The calls of a function."""
        return [call for call in self.calls if callee(call) == name]


@functools.lru_cache(maxsize=16)
def source_tree(file: str) -> SourceTree:
    """The tree of a file, read once."""
    return SourceTree(Path(file))


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
