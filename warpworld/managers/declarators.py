"""Reads what a parameter or a field is declared as: its type, its name, and whether it is a pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpworld.managers.c_types import canonical_type
from warpworld.managers.source_text import text_of, without_comments

if TYPE_CHECKING:
    from tree_sitter import Node

_SHAPE = "write it as `type name` or `type* name`"


class UnreadableError(Exception):
    """Reason why a declaration cannot be bound, in words that follow the declaration in a message."""


def read_type(declaration: Node) -> tuple[str, bool]:
    """The C type of a declaration in its one spelling, and whether it is const.

    Raises:
        UnreadableError: it is volatile.
    """
    written = declaration.child_by_field_name("type")
    words = without_comments(text_of(written)).split() if written is not None else []
    qualifiers = [text_of(child) for child in declaration.children if child.type == "type_qualifier"]
    if "volatile" in (*words, *qualifiers):
        raise UnreadableError("is volatile; leave that out")
    return canonical_type([word for word in words if word != "const"]), "const" in (*words, *qualifiers)


def read_declarator(declarator: Node) -> tuple[str, bool]:
    """The name that a declarator declares, and whether it is a pointer or written as an array.

    Raises:
        UnreadableError: it is a reference, a function or a pointer to a pointer, or has no name.
    """
    pointers, node = 0, declarator
    while node.type not in ("identifier", "field_identifier"):
        if node.type in ("pointer_declarator", "array_declarator"):
            pointers += 1
        elif node.type not in ("attributed_declarator", "parenthesized_declarator"):
            raise UnreadableError(f"is a reference, a function or a macro; {_SHAPE}")
        inner = node.child_by_field_name("declarator") or next(
            (child for child in node.named_children if child.type.endswith(("identifier", "declarator"))), None
        )
        if inner is None:
            raise UnreadableError(f"has no name; {_SHAPE}")
        node = inner
    if pointers > 1:
        raise UnreadableError("is a pointer to a pointer; arrays are flat")
    return text_of(node), pointers == 1
