"""State that kernels keep outside of the store, where a check cannot follow it.

A static variable of a function, or an object of the C++ library, keeps its value between launches, for all envs and
worlds of the process. Worlds that the check compares share it, and memory that the library allocates is no array. The
object that an env has of a class is its own: what it saves is compared, and its memory is not watched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpworld.checking.places import Place
from warpworld.checking.source_tree import FUNCTION, Sources, authors_files, first_line, read_sources
from warpworld.managers import KernelSource, SourceText, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

# Classes that are named without std:: after `using namespace std`.
_LIBRARY = re.compile(
    r"\bstd::|\b(?:vector|string|deque|list|forward_list|(?:unordered_)?(?:multi)?(?:map|set)|queue|stack|priority_queue"
    r"|function|unique_ptr|shared_ptr|mt19937(?:_64)?)\s*(?:<|\w|$)"
)
_CONSTANT = ("const", "constexpr")
_SHARED = "__shared__"
_RESIDENT = re.compile(r"\bRESIDENT\s*\(\s*([^()]+?)\s*\)\s*;")


@dataclass(frozen=True)
class OutsideState:
    """A variable, or a class of envs' objects, whose contents a check does not follow.

    Attributes:
        place: where it is declared.
        name: of the variable or the class.
        is_library: whether it is an object of the C++ library, and not a static variable of a function.
        is_shared: whether all envs share it, and each env does not have an object of its own.
    """

    place: Place
    name: str
    is_library: bool
    is_shared: bool = True

    def __str__(self) -> str:
        if not self.is_shared:
            return (
                f"{self.place}: the check compares what objects of '{self.name}' save, and does not watch their "
                "memory: try the class with AddressSanitizer"
            )
        what = "an object of the C++ library" if self.is_library else "a static variable of a function"
        return f"{self.place}: the check does not follow '{self.name}', {what}, which all envs share: declare an Array"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        place = {"file": self.place.file, "line": self.place.line}
        return {"place": place, "name": self.name, "is_library": self.is_library, "is_shared": self.is_shared}


def outside_state(source: KernelSource) -> tuple[OutsideState, ...]:
    """The variables of the author's files, and the class of envs' objects, that a check does not follow, in order."""
    sources = read_sources(authors_files(source))
    variables = (found for file, root in sources.roots.items() for found in _in_file(file, root, sources))
    return (*variables, *(_objects(source) if source.host else ()))


def _objects(source: KernelSource) -> Iterator[OutsideState]:
    """The class of the objects that envs have."""
    for path in authors_files(source):
        text = SourceText(path, path.read_text(encoding="utf-8", errors="replace")).code
        for found in _RESIDENT.finditer(text):
            yield OutsideState(Place(str(path), text.count("\n", 0, found.start()) + 1), found[1], False, False)


def _in_file(file: str, root: Node, sources: Sources) -> Iterator[OutsideState]:
    for node in walk(root):
        if node.type != "declaration" or (not (is_static := _is_static(node)) and _function(node) is not None):
            continue
        words = {text_of(child) for child in node.children if child.type != "init_declarator"}
        is_library, is_constant = _is_library(sources, node), bool(words & set(_CONSTANT))
        if _SHARED in words or "extern" in words or not (is_library or (is_static and not is_constant)):
            continue
        if is_library or _function(node) is not None:
            for name in _names(node):
                yield OutsideState(Place(file, first_line(node)), name, is_library)


def _is_static(declaration: Node) -> bool:
    return any(text_of(child) in ("static", "thread_local") for child in declaration.children)


def _function(node: Node) -> Node | None:
    """The function around a node."""
    around = node.parent
    while around is not None and around.type not in (FUNCTION, "lambda_expression"):
        around = around.parent
    return around


def _is_library(sources: Sources, declaration: Node) -> bool:
    """Whether a variable's type is of the C++ library, or a class of the author's that holds such."""
    kind = declaration.child_by_field_name("type")
    if kind is None:
        return False
    if _LIBRARY.search(text_of(kind)):
        return True
    return any(
        node.type in ("struct_specifier", "class_specifier")
        and (name := node.child_by_field_name("name")) is not None
        and text_of(name) == text_of(kind)
        and any(_LIBRARY.search(text_of(field)) for field in _members(node))
        for root in sources.roots.values()
        for node in walk(root)
    )


def _members(kind: Node) -> Iterable[Node]:
    """The types of a class's fields."""
    fields = (node for node in walk(kind) if node.type == "field_declaration")
    return (found for field in fields if (found := field.child_by_field_name("type")) is not None)


def _names(declaration: Node) -> Iterator[str]:
    """The names of the variables of a declaration; functions are none."""
    for child in declaration.children_by_field_name("declarator"):
        declarator: Node | None = child
        while declarator is not None and declarator.type not in ("identifier", "function_declarator"):
            below = declarator.child_by_field_name("declarator")
            declarator = below or next((each for each in declarator.children if each.type == "identifier"), None)
        if declarator is not None and declarator.type == "identifier":
            yield text_of(declarator)
