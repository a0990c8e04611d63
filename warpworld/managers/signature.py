"""Reads the signature of every ``__global__`` function of a ``.cu`` file, with tree-sitter-cuda.

Names and lines come from here; that the compiler sees the same types is confirmed by a static_assert in the build.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.errors import BindError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_SCALARS = {
    "bool": ("bool",),
    "int8": ("int8_t", "signed char"),
    "uint8": ("uint8_t", "unsigned char"),
    "int16": ("int16_t", "short"),
    "uint16": ("uint16_t", "unsigned short"),
    "int32": ("int32_t", "int", "signed"),
    "uint32": ("uint32_t", "unsigned int", "unsigned"),
    "int64": ("int64_t", "long long", "long"),
    "uint64": ("uint64_t", "unsigned long long", "unsigned long", "size_t"),
    "float16": ("__half", "half"),
    "float32": ("float",),
    "float64": ("double",),
}
_VECTORS = {"float": "float32", "int": "int32", "uint": "uint32", "double": "float64"}

# C type in the spelling that Parameter.type has -> (dtype, components)
C_TYPES: dict[str, tuple[str, int]] = {name: (dtype, 1) for dtype, names in _SCALARS.items() for name in names}
C_TYPES |= {f"{name}{n}": (dtype, n) for name, dtype in _VECTORS.items() for n in (2, 3, 4)}

# dtype -> C type, for messages that tell an author what to write
C_NAMES = {dtype: names[0] for dtype, names in _SCALARS.items()} | {
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
}

_INTEGER_WORDS = ("signed", "unsigned", "char", "short", "long", "int")
_SHAPE = "write it as `type name` or `type* name`"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    Attributes:
        name: what it is called.
        type: the C type without const and pointer, in one spelling for all: "unsigned int" for ``int unsigned``.
        pointer: whether it is a pointer (or written as an array).
        const: whether what it points to is const.
        line: in the file, from 1.
    """

    name: str
    type: str
    pointer: bool
    const: bool
    line: int

    @property
    def declaration(self) -> str:
        """The type as a kernel author writes it."""
        return f"{'const ' if self.const and self.pointer else ''}{self.type}{'*' if self.pointer else ''}"


@dataclass(frozen=True)
class Signature:
    """A kernel's name, parameters, line and file, and the line on which its body ends."""

    name: str
    parameters: tuple[Parameter, ...]
    line: int
    path: Path
    last_line: int


def read_signatures(path: Path, source: str) -> dict[str, Signature]:
    """The kernels defined in ``source``, by name, in the order of the file.

    Only the file itself is read, not what it includes. Kernels that a macro makes are not seen.

    Raises:
        BindError: a kernel that cannot be bound by name: a template, one in a namespace, two of one name, a parameter
            list with macros, references or defaults in it; or dynamic shared memory.
    """
    return _Reader(path, source).kernels()


@functools.cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def _walk(root: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the text."""
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(node.children))


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def canonical_type(words: list[str]) -> str:
    """One spelling for a type: C++ allows its words in any order, and "int" beside "long"."""
    if not words or any(word not in _INTEGER_WORDS for word in words):
        return " ".join(words).removeprefix("std::").removeprefix("::std::").removeprefix("::")
    kind = next((word for word in ("char", "short") if word in words), "long " * words.count("long") or "int").strip()
    if "unsigned" in words:
        return f"unsigned {kind}"
    return "signed char" if kind == "char" and "signed" in words else kind


# ---- the file -------------------------------------------------------------------------------------------------------
_TEXTUAL = re.compile(  # comments, raw strings, strings, characters (but not the ' in 1'000)
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/|R"([^()\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_GLOBAL = re.compile(r"\b__global__\b")
_DYNAMIC_SHARED = re.compile(r"\bextern\b[^;{}()]*\b__shared__\b|\b__shared__\b[^;{}()]*\bextern\b")
_BRACKETS = re.compile(r"[()\[\]{};]")


def without_comments(source: str) -> str:
    """C++ text without its comments, strings and characters."""
    return _TEXTUAL.sub(" ", source)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


class _Reader:
    """Reads one file; every refusal names file and line.

    The header of a kernel, up to its ``{``, is parsed by itself: macros in a function's body, for instance
    ``ENV_SHARED(int, cells, 4)``, make a parser lose the functions around them.
    """

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source = path, source
        without_text = _TEXTUAL.sub(_blank, source)
        self.directive_ends = [match.end() for match in _DIRECTIVE.finditer(without_text)]
        self.code = _DIRECTIVE.sub(_blank, without_text)  # as long as the source, character by character

    def refuse(self, position: int, reason: str) -> BindError:
        line = self.source.count("\n", 0, position) + 1
        return BindError(f"{self.path}:{line}: {reason}")

    def kernels(self) -> dict[str, Signature]:
        shared = _DYNAMIC_SHARED.search(self.code)
        if shared:
            raise self.refuse(
                shared.start(),
                "shared memory of a size set at launch is not offered; give it a size, or use ENV_SHARED",
            )
        found: dict[str, Signature] = {}
        for match in _GLOBAL.finditer(self.code):
            end = self.header_end(match.end())
            if self.code[end : end + 1] != "{":
                continue  # a declaration
            if _GLOBAL.search(self.code, match.end(), end):
                raise self.refuse(
                    match.start(), "two kernel headers share a body under an #if; keep one, and put the #if inside it"
                )
            signature = self.signature(match.start(), end)
            if signature.name in found:
                raise self.refuse(
                    match.start(),
                    f"kernel '{signature.name}' is defined here and at line {found[signature.name].line}; keep one, "
                    "and put the #if inside it",
                )
            found[signature.name] = signature
        return found

    def header_end(self, position: int) -> int:
        """Where the ``{`` of a definition or the ``;`` of a declaration is."""
        depth = 0
        for match in _BRACKETS.finditer(self.code, position):
            bracket = match.group()
            if bracket in "([":
                depth += 1
            elif bracket in ")]":
                depth -= 1
            elif depth <= 0 or bracket == ";":
                return match.start()
        return len(self.code)

    def signature(self, position: int, end: int) -> Signature:
        before = [self.code.rfind(mark, 0, position) + 1 for mark in ";{}"]
        before += [place for place in self.directive_ends if place <= position]
        for start in (max(before), position):  # with what stands before __global__; where that is a macro, without
            found = self.definition(start, end)
            if found is not None:
                return _Header(self, start, *found).signature(self.body_end(end))
        raise self.refuse(
            position,
            'a kernel whose header cannot be read; write it as `extern "C" __global__ void name(type name, ...)`',
        )

    def body_end(self, position: int) -> int:
        """The line on which the body that begins behind a header ends; the file's last where a brace is missing."""
        depth = 0
        for match in re.finditer(r"[{}]", self.code[position:]):
            depth += 1 if match.group() == "{" else -1
            if depth <= 0:
                return self.code.count("\n", 0, position + match.start()) + 1
        return self.code.count("\n") + 1

    def definition(self, start: int, end: int) -> tuple[Node, Node] | None:
        """The function that a header defines, and its declarator."""
        root = _parser().parse(f"{self.source[start:end]}{{}}".encode()).root_node
        for node in _walk(root):
            declarator = node.child_by_field_name("declarator") if node.type == "function_definition" else None
            if declarator is not None and declarator.type == "function_declarator":
                return node, declarator
        return None

    @functools.cached_property
    def root(self) -> Node:
        """The whole file as the parser sees it; what is around macros may be wrong."""
        return _parser().parse(self.source.encode()).root_node

    def surroundings(self, position: int) -> list[Node]:
        """The syntax nodes around a place of the file, from the inside."""
        byte = len(self.source[:position].encode())
        node = self.root.descendant_for_byte_range(byte, byte)
        found: list[Node] = []
        while node is not None:
            found.append(node)
            node = node.parent
        return found


class _Header:
    """Reads the header of one kernel: ``definition`` was parsed from the file's text at ``start``."""

    def __init__(self, reader: _Reader, start: int, definition: Node, declarator: Node) -> None:
        self.reader, self.start, self.definition, self.declarator = reader, start, definition, declarator
        self.name = "?"

    def position(self, node: Node) -> int:
        """Where a node starts, in the file."""
        header = self.reader.source[self.start :].encode()[: node.start_byte]
        return self.start + len(header.decode(errors="replace"))

    def line(self, node: Node) -> int:
        return self.reader.source.count("\n", 0, self.position(node)) + 1

    def refuse(self, node: Node, reason: str) -> BindError:
        return self.reader.refuse(self.position(node), f"kernel '{self.name}'{reason}")

    def signature(self, last_line: int) -> Signature:
        name = self.declarator.child_by_field_name("declarator")
        parameters = self.declarator.child_by_field_name("parameters")
        if name is None or parameters is None:
            raise self.refuse(self.declarator, " has no name or no parameters")
        self.name = _text(name)
        self.check_surroundings(name)
        returned = self.definition.child_by_field_name("type")
        if returned is not None and _text(returned) not in ("void", "auto"):
            raise self.refuse(returned, f" returns `{_text(returned)}`; kernels return void")
        for node in _walk(parameters):
            if node.is_error or node.is_missing or node.type.startswith("preproc"):
                raise self.refuse(
                    node,
                    ": its parameter list has a macro or an #if in it, or a syntax error; write the parameters out",
                )
            if node.type == "...":
                raise self.refuse(node, " takes `...`; write the parameters out")
        named = [child for child in parameters.named_children if child.type != "comment"]
        if len(named) == 1 and _text(named[0]) == "void":
            named = []
        parameters_read = tuple(self.parameter(child) for child in named)
        return Signature(self.name, parameters_read, self.line(name), self.reader.path, last_line)

    def check_surroundings(self, name: Node) -> None:
        if name.type == "template_function":
            raise self.refuse(name, " is a template; write one kernel per type")
        around = self.reader.surroundings(self.position(name))
        for kind in (node.type for node in around):
            if kind == "template_declaration":
                raise self.refuse(name, " is a template; write one kernel per type")
            if kind in ("namespace_definition", "class_specifier", "struct_specifier") or name.type != "identifier":
                raise self.refuse(name, " is in a namespace or a class; move it to file scope")

    def parameter(self, node: Node) -> Parameter:
        written = " ".join(_text(node).split())
        where = f": parameter `{written}`"
        if node.type != "parameter_declaration":
            raise self.refuse(node, f"{where} has a default value or stands for several; write `type name`")
        type_node, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        if type_node is None or declarator is None or declarator.type == "abstract_pointer_declarator":
            raise self.refuse(node, f"{where} has no name; if it is a macro, write the parameter out")
        words = _TEXTUAL.sub(" ", _text(type_node)).split()
        qualifiers = [_text(child) for child in node.children if child.type == "type_qualifier"]
        if "volatile" in (*words, *qualifiers):
            raise self.refuse(node, f"{where} is volatile; leave that out")
        name, pointers = self.declared(declarator, node, where)
        return Parameter(
            name=name,
            type=canonical_type([word for word in words if word != "const"]),
            pointer=pointers == 1,
            const="const" in (*words, *qualifiers),
            line=self.line(node),
        )

    def declared(self, declarator: Node | None, node: Node, where: str) -> tuple[str, int]:
        """Name of a parameter, and 1 if it is a pointer."""
        pointers = 0
        while declarator is not None and declarator.type != "identifier":
            if declarator.type in ("pointer_declarator", "array_declarator"):
                pointers += 1
            elif declarator.type != "attributed_declarator":
                raise self.refuse(node, f"{where} is a reference, a function or a macro; {_SHAPE}")
            declarator = declarator.child_by_field_name("declarator") or next(
                (child for child in declarator.named_children if child.type.endswith(("identifier", "declarator"))),
                None,
            )
        if declarator is None:
            raise self.refuse(node, f"{where} has no name; {_SHAPE}")
        if pointers > 1:
            raise self.refuse(node, f"{where} is a pointer to a pointer; arrays are flat")
        return _text(declarator), pointers
