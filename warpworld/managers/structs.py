"""Types that a kernel file or what it includes defines: structs taken by value, and other names of C types."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.errors import BindError
from warpworld.managers.c_types import C_TYPES, canonical_type
from warpworld.managers.declarators import UnreadableError, read_declarator, read_type
from warpworld.managers.signature import Parameter, Signature, Struct
from warpworld.managers.source_text import Excerpt, SourceText, blanked, source_text, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ALIGNMENT = r"(?:(?:alignas|__align__)\s*\([^()]*\)\s*)*"
_TEMPLATE = re.compile(r"\btemplate\s*<[^{};]*>\s*$")


def with_structs(
    signatures: Mapping[str, Signature], read_texts: Callable[[], Mapping[Path, str]]
) -> dict[str, Signature]:
    """Signatures in which each parameter that is a struct by value knows its fields.

    Where a file has ``using Name = float;``, a parameter or field of the type ``Name`` is one of the type float. A type
    that no file defines stays as it is.

    Args:
        signatures: as ``read_signatures`` returned them.
        read_texts: reads the kernel file and all that it includes; called only where a type is not a number's.

    Raises:
        BindError: a struct is defined twice, or has what cannot be bound by name: a base class, a constructor, a
            field that is an array, a reference, static or of a default value, a macro or an #if.
    """
    library = _Library(read_texts)
    return {
        name: dataclasses.replace(
            signature, parameters=tuple(library.completed(parameter, ()) for parameter in signature.parameters)
        )
        for name, signature in signatures.items()
    }


class _Library:
    """The structs of some files, each read when it is first asked for."""

    def __init__(self, read_texts: Callable[[], Mapping[Path, str]]) -> None:
        self._read_texts = read_texts
        self._files: list[SourceText] | None = None
        self._known: dict[str, Struct | None] = {}
        self._meant: dict[str, str | None] = {}

    def completed(self, parameter: Parameter, inside: tuple[str, ...]) -> Parameter:
        """The parameter with its struct; ``inside`` are the structs that it is a field of, from the outside."""
        name = parameter.type.removeprefix("struct ")
        is_address = parameter.pointer and name != parameter.type  # of a struct
        if name in C_TYPES or is_address or not name.isidentifier():
            return parameter
        if name not in self._meant:
            self._meant[name] = self._c_type(name)
        meant = self._meant[name]
        if meant is not None:
            return dataclasses.replace(parameter, type=meant)
        if parameter.pointer:
            return parameter
        if name not in self._known:
            self._known[name] = self._read(name, inside)
        struct = self._known[name]
        return parameter if struct is None else dataclasses.replace(parameter, type=name, struct=struct)

    def _read(self, name: str, inside: tuple[str, ...]) -> Struct | None:
        # the only definition
        places = list(self._definitions(name))
        if not places:
            return None
        file, match = places[0]
        if len(places) > 1:
            second, other = places[1]
            raise second.refuse(
                other.start(),
                f"struct '{name}' is defined here and at {file.path}:{file.line(match.start())}; keep one",
            )
        # its fields, with theirs
        definition = _Definition(file, match)
        if name in inside:
            raise file.refuse(match.start(), f"struct '{name}' has itself as a field")
        fields = tuple(self.completed(field, (*inside, name)) for field in definition.fields())
        return Struct(name, fields, file.path, file.line(match.start()))

    def _c_type(self, name: str) -> str | None:
        """The C type that a name stands for in all files that say so; None where none does, or they differ."""
        found = self._search(name, rf"\busing\s+{name}\s*=\s*([^;{{}}]+);")
        types = {canonical_type(match[1].split()) for _, match in found}
        meant = types.pop() if len(types) == 1 else ""
        return meant if meant in C_TYPES else None

    def _definitions(self, name: str) -> Iterator[tuple[SourceText, re.Match[str]]]:
        return self._search(name, rf"\b(struct|class|union)\s+{_ALIGNMENT}({name})\s*(?:\bfinal\s*)?([:{{])")

    def _search(self, name: str, pattern: str) -> Iterator[tuple[SourceText, re.Match[str]]]:
        """Places of a pattern, in files that have the name."""
        if self._files is None:
            self._files = [source_text(path, text) for path, text in self._read_texts().items()]
        for file in (each for each in self._files if name in each.code):
            yield from ((file, match) for match in re.finditer(pattern, file.code))


class _Definition:
    """Reads one struct; every refusal names file, line and struct.

    Args:
        file: where it is defined.
        match: its head: what it is, its name, and ``{`` or the ``:`` before a base class.
    """

    def __init__(self, file: SourceText, match: re.Match[str]) -> None:
        self.file, self.start, self.name = file, match.start(), match.group(2)
        self.kind, self.body = match.group(1), match.end() - 1

    def refuse(self, position: int, reason: str) -> BindError:
        return self.file.refuse(position, f"struct '{self.name}'{reason}")

    def fields(self) -> list[Parameter]:
        """The fields, in order; functions that the struct defines are left out."""
        self.check_head()
        text = self.without_bodies()
        for start, _ in SourceText(self.file.path, text).directives:
            raise self.refuse(self.body + start, " has a preprocessor directive in it; write its fields out plainly")
        excerpt = Excerpt(self.file, self.body - len("struct s"), f"struct s{text};")
        listed = next(node for node in walk(excerpt.root) if node.type == "field_declaration_list")
        found = [field for node in listed.named_children for field in self.member(excerpt, node)]
        if not found:
            raise self.refuse(self.start, " has no fields; leave it out of the parameters")
        return found

    def check_head(self) -> None:
        if self.kind != "struct":
            raise self.file.refuse(self.start, f"'{self.name}' is a {self.kind}; kernels take a struct")
        if self.file.code[self.body] == ":":
            raise self.refuse(self.start, " has a base class; write all fields out in one struct")
        if _TEMPLATE.search(self.file.code, 0, self.start):
            raise self.refuse(self.start, " is a template; write one struct per type")

    def without_bodies(self) -> str:
        """The struct's braces and what they hold, where what functions do is blanked: it may be full of macros."""
        text, at, end = self.file.source, self.body + 1, self.file.body_end(self.body)
        parts = ["{"]
        while (brace := self.file.code.find("{", at, end)) >= 0:
            close = self.file.body_end(brace)
            parts += [text[at : brace + 1], blanked(text[brace + 1 : close])]
            at = close
        return "".join(parts) + text[at : end + 1]

    # ---- members -----------------------------------------------------------------------------------------------------
    def member(self, excerpt: Excerpt, node: Node) -> list[Parameter]:
        """The fields that a member declares."""
        if node.type == "comment" or self.is_function(excerpt, node):
            return []
        start = excerpt.position(node)
        written = self.file.source[start : start + len(text_of(node))]
        try:
            return [
                self.field(excerpt, node, declarator)
                for declarator in _checked(node).children_by_field_name("declarator")
            ]
        except UnreadableError as reason:
            raise self.refuse(start, f", field `{' '.join(written.rstrip('; ').split())}` {reason}") from None

    def is_function(self, excerpt: Excerpt, node: Node) -> bool:
        """Whether a member is a function with a body, which is no matter for the fields."""
        if node.type != "function_definition":
            return False
        declarator = next((each for each in walk(node) if each.type == "function_declarator"), None)
        named = declarator.child_by_field_name("declarator") if declarator is not None else None
        if named is not None and text_of(named) == self.name:
            raise self.refuse(excerpt.position(node), " has a constructor; leave it out, the fields are filled by name")
        return True

    def field(self, excerpt: Excerpt, node: Node, declarator: Node) -> Parameter:
        if any(each.type == "array_declarator" for each in walk(declarator)):
            raise UnreadableError("is an array; write a pointer to an array of the store, or a field for each number")
        c_type, const = read_type(node)
        name, pointer = read_declarator(declarator)
        return Parameter(name, c_type, pointer, const, excerpt.line(declarator))


def _checked(node: Node) -> Node:
    """A member that declares plain fields.

    Raises:
        UnreadableError: it does not; with the reason.
    """
    if node.type != "field_declaration":
        raise UnreadableError(
            "is not a field; a struct of a kernel's has fields such as `const float* name` or `int name`"
        )
    inside = list(walk(node))
    if any(each.is_error or each.is_missing for each in inside):
        raise UnreadableError("has a macro or a syntax error in it; write it out")
    kinds = {each.type for each in inside}
    if "virtual" in kinds:
        raise UnreadableError("is virtual; leave that out")
    if (kinds & {"initializer_list"} and "function_declarator" not in kinds) or node.child_by_field_name(
        "default_value"
    ) is not None:
        raise UnreadableError("has a default value; leave that out, the value comes from the field's name")
    if "storage_class_specifier" in kinds:
        raise UnreadableError("is static; leave that out, or move it out of the struct")
    if "bitfield_clause" in kinds:
        raise UnreadableError("has a width in bits; leave that out")
    if kinds & {"field_declaration_list", "enumerator_list"}:
        raise UnreadableError("defines a type; define that outside, under a name")
    if node.child_by_field_name("declarator") is None:
        raise UnreadableError("has no name; write it as `type name` or `type* name`")
    return node
