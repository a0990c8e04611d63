"""Reads the signature of every ``__global__`` function of a ``.cu`` file, with tree-sitter-cuda.

Names and lines come from here; that the compiler sees the same types is confirmed by a static_assert in the build.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.errors import BindError
from warpworld.managers.declarators import UnreadableError, read_declarator, read_type
from warpworld.managers.source_text import TEXTS, Excerpt, parse, source_text, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True)
class Parameter:
    """Parameter of a kernel, or field of a struct that a kernel takes.

    Attributes:
        name: what it is called.
        type: the C type without const and pointer, in one spelling for all: "unsigned int" for ``int unsigned``.
        pointer: whether it is a pointer (or written as an array).
        const: whether what it points to is const.
        line: in the file, from 1.
        struct: what the type is where it is a struct passed by value; None for all else.
    """

    name: str
    type: str
    pointer: bool
    const: bool
    line: int
    struct: Struct | None = None

    @property
    def declaration(self) -> str:
        """The type as a kernel author writes it."""
        return f"{'const ' if self.const and self.pointer else ''}{self.type}{'*' if self.pointer else ''}"


@dataclass(frozen=True)
class Struct:
    """A struct that kernels take by value: its name, its fields in order, its file and line."""

    name: str
    fields: tuple[Parameter, ...]
    path: Path
    line: int


@dataclass(frozen=True)
class ParameterLeaf:
    """A parameter, or a field of a struct among the parameters: it is bound to one array or number.

    Attributes:
        parameter: the parameter or field.
        path: its file.
        struct: name of the struct that it is a field of, or an empty string.
    """

    parameter: Parameter
    path: Path
    struct: str

    @property
    def owner(self) -> str:
        """The struct, in words that follow the field's name."""
        return f" of struct '{self.struct}'" if self.struct else ""

    def __str__(self) -> str:
        written = f"`{self.parameter.declaration} {self.parameter.name}`"
        return f"{'field' if self.struct else 'parameter'} {written}{self.owner}"


@dataclass(frozen=True)
class Signature:
    """A kernel's name, parameters, line and file, and the line on which its body ends."""

    name: str
    parameters: tuple[Parameter, ...]
    line: int
    path: Path
    last_line: int

    @functools.cached_property
    def leaves(self) -> tuple[ParameterLeaf, ...]:
        """The leaves, in order: the parameters, and the fields of each struct."""
        return tuple(_leaves(self.parameters, self.path, ""))


def _leaves(parameters: Sequence[Parameter], path: Path, struct: str) -> list[ParameterLeaf]:
    found: list[ParameterLeaf] = []
    for parameter in parameters:
        inner = parameter.struct
        found += (
            [ParameterLeaf(parameter, path, struct)] if inner is None else _leaves(inner.fields, inner.path, inner.name)
        )
    return found


def read_signatures(path: Path, source: str) -> dict[str, Signature]:
    """The kernels defined in ``source``, by name, in the order of the file.

    Only the file itself is read, not what it includes: ``structs.py`` looks structs up. Kernels that a macro makes are
    not seen.

    Raises:
        BindError: a kernel that cannot be bound by name: a template, one in a namespace, two of one name, a parameter
            list with macros, references or defaults in it; or dynamic shared memory.
    """
    return dict(_kernels(path, source))


@functools.lru_cache(TEXTS)
def _kernels(path: Path, source: str) -> Mapping[str, Signature]:
    """Read the kernels of a file once, as long as its contents are the same."""
    return _Reader(path, source).kernels()


# ---- the file -------------------------------------------------------------------------------------------------------
_GLOBAL = re.compile(r"\b__global__\b")
_DYNAMIC_SHARED = re.compile(r"\bextern\b[^;{}()]*\b__shared__\b|\b__shared__\b[^;{}()]*\bextern\b")


class _Reader:
    """Reads one file.

    The header of a kernel, up to its ``{``, is parsed by itself: macros in a function's body, for instance
    ``ENV_SHARED(int, cells, 4)``, make a parser lose the functions around them.
    """

    def __init__(self, path: Path, source: str) -> None:
        self.file = source_text(path, source)

    def kernels(self) -> dict[str, Signature]:
        file = self.file
        # shared memory that a launch would have to size
        shared = _DYNAMIC_SHARED.search(file.code)
        if shared:
            raise file.refuse(
                shared.start(),
                "shared memory of a size set at launch is not offered; give it a size, or use ENV_SHARED",
            )
        # definitions, one of each name
        found: dict[str, Signature] = {}
        for match in _GLOBAL.finditer(file.code):
            end = file.header_end(match.end())
            if file.code[end : end + 1] != "{":
                continue  # a declaration
            if _GLOBAL.search(file.code, match.end(), end):
                raise file.refuse(
                    match.start(), "two kernel headers share a body under an #if; keep one, and put the #if inside it"
                )
            signature = self.signature(match.start(), end)
            if signature.name in found:
                raise file.refuse(
                    match.start(),
                    f"kernel '{signature.name}' is defined here and at line {found[signature.name].line}; keep one, "
                    "and put the #if inside it",
                )
            found[signature.name] = signature
        return found

    def signature(self, position: int, end: int) -> Signature:
        file = self.file
        before = [file.code.rfind(mark, 0, position) + 1 for mark in ";{}"]
        before += [place for _, place in file.directives if place <= position]
        for start in (max(before), position):  # with what stands before __global__; where that is a macro, without
            header = Excerpt(file, start, f"{file.source[start:end]}{{}}")
            found = _definition(header.root)
            if found is not None:
                return _Header(self, header, *found).signature(file.line(file.body_end(end)))
        raise file.refuse(
            position,
            'a kernel whose header cannot be read; write it as `extern "C" __global__ void name(type name, ...)`',
        )

    @functools.cached_property
    def root(self) -> Node:
        """The whole file as the parser sees it; what is around macros may be wrong."""
        return parse(self.file.source)

    def surroundings(self, position: int) -> list[Node]:
        """The syntax nodes around a place of the file, from the inside."""
        byte = len(self.file.source[:position].encode())
        node = self.root.descendant_for_byte_range(byte, byte)
        found: list[Node] = []
        while node is not None:
            found.append(node)
            node = node.parent
        return found


def _definition(root: Node) -> tuple[Node, Node] | None:
    """The function that a header defines, and its declarator."""
    for node in walk(root):
        declarator = node.child_by_field_name("declarator") if node.type == "function_definition" else None
        if declarator is not None and declarator.type == "function_declarator":
            return node, declarator
    return None


class _Header:
    """Reads the header of one kernel."""

    def __init__(self, reader: _Reader, header: Excerpt, definition: Node, declarator: Node) -> None:
        self.reader, self.header, self.definition, self.declarator = reader, header, definition, declarator
        self.name = "?"

    def refuse(self, node: Node, reason: str) -> BindError:
        return self.reader.file.refuse(self.header.position(node), f"kernel '{self.name}'{reason}")

    def signature(self, last_line: int) -> Signature:
        # the name, where a kernel may stand
        name = self.declarator.child_by_field_name("declarator")
        parameters = self.declarator.child_by_field_name("parameters")
        if name is None or parameters is None:
            raise self.refuse(self.declarator, " has no name or no parameters")
        self.name = text_of(name)
        self.check_surroundings(name)
        # the type of the result
        returned = self.definition.child_by_field_name("type")
        if returned is not None and text_of(returned) not in ("void", "auto"):
            raise self.refuse(returned, f" returns `{text_of(returned)}`; kernels return void")
        # a list of parameters without macros
        for node in walk(parameters):
            if node.is_error or node.is_missing or node.type.startswith("preproc"):
                raise self.refuse(
                    node,
                    ": its parameter list has a macro or an #if in it, or a syntax error; write the parameters out",
                )
            if node.type == "...":
                raise self.refuse(node, " takes `...`; write the parameters out")
        # the parameters; (void) has none
        named = [child for child in parameters.named_children if child.type != "comment"]
        if len(named) == 1 and text_of(named[0]) == "void":
            named = []
        parameters_read = tuple(self.parameter(child) for child in named)
        return Signature(self.name, parameters_read, self.header.line(name), self.reader.file.path, last_line)

    def check_surroundings(self, name: Node) -> None:
        if name.type == "template_function":
            raise self.refuse(name, " is a template; write one kernel per type")
        around = self.reader.surroundings(self.header.position(name))
        for kind in (node.type for node in around):
            if kind == "template_declaration":
                raise self.refuse(name, " is a template; write one kernel per type")
            if kind in ("namespace_definition", "class_specifier", "struct_specifier") or name.type != "identifier":
                raise self.refuse(name, " is in a namespace or a class; move it to file scope")

    def parameter(self, node: Node) -> Parameter:
        where = f": parameter `{' '.join(text_of(node).split())}`"
        if node.type != "parameter_declaration":
            raise self.refuse(node, f"{where} has a default value or stands for several; write `type name`")
        declarator = node.child_by_field_name("declarator")
        if declarator is None or declarator.type == "abstract_pointer_declarator":
            raise self.refuse(node, f"{where} has no name; if it is a macro, write the parameter out")
        try:
            c_type, const = read_type(node)
            name, pointer = read_declarator(declarator)
        except UnreadableError as reason:
            raise self.refuse(node, f"{where} {reason}") from None
        return Parameter(name, c_type, pointer, const, self.header.line(node))
