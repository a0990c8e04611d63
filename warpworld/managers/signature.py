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
    "int16": ("int16_t", "short", "short int"),
    "uint16": ("uint16_t", "unsigned short", "unsigned short int"),
    "int32": ("int32_t", "int", "signed", "signed int"),
    "uint32": ("uint32_t", "unsigned", "unsigned int"),
    "int64": ("int64_t", "long long", "long long int", "long", "long int"),
    "uint64": ("uint64_t", "unsigned long long", "unsigned long long int", "unsigned long", "size_t"),
    "float16": ("__half", "half"),
    "float32": ("float",),
    "float64": ("double",),
}
_VECTORS = {"float": "float32", "int": "int32", "uint": "uint32", "double": "float64"}

# C type as written -> (dtype, components)
C_TYPES: dict[str, tuple[str, int]] = {name: (dtype, 1) for dtype, names in _SCALARS.items() for name in names}
C_TYPES |= {f"{name}{n}": (dtype, n) for name, dtype in _VECTORS.items() for n in (2, 3, 4)}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    Attributes:
        name: what it is called.
        type: the C type without const and pointer, for instance "unsigned int".
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
    """A kernel's name, parameters and line."""

    name: str
    parameters: tuple[Parameter, ...]
    line: int


@functools.cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _line(node: Node) -> int:
    return node.start_point[0] + 1


class _Reader:
    """Reads one file; every refusal names file and line."""

    def __init__(self, path: Path, source: str) -> None:
        self.path = path
        self.root = _parser().parse(source.encode()).root_node

    def refuse(self, line: int, reason: str) -> BindError:
        return BindError(f"{self.path}:{line}: {reason}")

    def kernels(self) -> dict[str, Signature]:
        found: dict[str, Signature] = {}
        for node in _walk(self.root):
            if node.type != "function_definition" or not any(child.type == "__global__" for child in node.children):
                continue
            signature = self.signature(node)
            if signature.name in found:
                raise self.refuse(
                    signature.line,
                    f"kernel '{signature.name}' is defined here and at line {found[signature.name].line}; keep one, "
                    "and put the #if inside it",
                )
            found[signature.name] = signature
        return found

    def signature(self, node: Node) -> Signature:
        declarator = next((n for n in _walk(node) if n.type == "function_declarator"), None)
        if declarator is None:
            raise self.refuse(_line(node), "a __global__ function whose parameters cannot be read")
        name_node, parameters = declarator.child_by_field_name("declarator"), declarator.child_by_field_name("parameters")
        if name_node is None or parameters is None:
            raise self.refuse(_line(node), "a __global__ function without a name or parameters")
        name = _text(name_node)
        self.check_surroundings(node, name)
        if any(n.is_error or n.is_missing or n.type.startswith("preproc") for n in _walk(parameters)):
            raise self.refuse(
                _line(parameters),
                f"kernel '{name}': its parameter list has a macro or an #if in it, or a syntax error; write the parameters out",
            )
        read = tuple(
            self.parameter(name, child) for child in parameters.named_children if child.type != "comment" and _text(child) != "void"
        )
        return Signature(name, read, _line(node))

    def check_surroundings(self, node: Node, name: str) -> None:
        parent = node.parent
        while parent is not None:
            if parent.type == "template_declaration":
                raise self.refuse(_line(node), f"kernel '{name}' is a template; write one kernel per type")
            if parent.type == "namespace_definition":
                raise self.refuse(_line(node), f"kernel '{name}' is in a namespace; move it to file scope")
            parent = parent.parent

    def parameter(self, kernel: str, node: Node) -> Parameter:
        where, line = f"kernel '{kernel}'", _line(node)
        if node.type != "parameter_declaration":
            raise self.refuse(line, f"{where}: parameter `{_text(node)}` has a default value or is variadic; write `type name`")
        type_node, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        if type_node is None or declarator is None:
            raise self.refuse(line, f"{where}: parameter `{_text(node)}` has no name; if it is a macro, write the parameter out")
        const = any(child.type == "type_qualifier" and _text(child) == "const" for child in node.children)
        pointers = 0
        while declarator is not None and declarator.type != "identifier":
            if declarator.type in ("pointer_declarator", "array_declarator"):
                pointers += 1
            elif declarator.type != "attributed_declarator":
                raise self.refuse(line, f"{where}: parameter `{_text(node)}` is a reference or a function; pass a pointer or a value")
            declarator = declarator.child_by_field_name("declarator") or next(
                (child for child in declarator.named_children if child.type in ("identifier", "pointer_declarator", "array_declarator")),
                None,
            )
        if declarator is None:
            raise self.refuse(line, f"{where}: parameter `{_text(node)}` has no name")
        if pointers > 1:
            raise self.refuse(line, f"{where}: parameter `{_text(node)}` is a pointer to a pointer; arrays are flat")
        return Parameter(_text(declarator), " ".join(_text(type_node).split()), pointers == 1, const, line)


_DYNAMIC_SHARED = re.compile(r"\bextern\s+__shared__|\b__shared__\s+extern\b")


def read_signatures(path: Path, source: str) -> dict[str, Signature]:
    """The kernels defined in ``source``, by name, in the order of the file.

    Only the file itself is read, not what it includes. Kernels that a macro makes are not seen.

    Raises:
        BindError: a kernel that cannot be bound by name: a template, one in a namespace, two of one name, a parameter list
            with macros, references or defaults in it; or dynamic shared memory.
    """
    for number, line in enumerate(source.splitlines(), start=1):
        if _DYNAMIC_SHARED.search(line.split("//")[0]):
            raise BindError(f"{path}:{number}: shared memory of a size set at launch is not offered; give it a size, or use ENV_SHARED")
    return _Reader(path, source).kernels()
