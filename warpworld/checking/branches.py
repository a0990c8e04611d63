"""Branches around barriers: where agents part of which some meet and others do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpworld.checking.places import Place
from warpworld.checking.source_tree import (
    LOOPS,
    Sources,
    ancestors,
    callee,
    covers,
    first_line,
    function_name,
    is_kernel,
)
from warpworld.managers import walk

if TYPE_CHECKING:
    from tree_sitter import Node

_BARRIER = re.compile(r"^(sync_env|__sync\w+)$")
_CHOICES = ("if_statement", "switch_statement", "conditional_expression", "binary_expression")
_LEAVES = ("continue_statement", "break_statement", "goto_statement")

SAME_BRANCHES = "make every branch around a barrier the same for all agents of the env"


def barriers_between(sources: Sources, file: str, one: int, other: int) -> list[int]:
    """Lines of a function that holds two lines, from the one to the other, at which a barrier is called.

    Args:
        sources: the author's files.
        file: path of the function's file.
        one: the first line.
        other: the last line.
    """
    function = sources.function_at(file, one, other)
    if function is None:
        return []
    lines = (first_line(call) for call in _barrier_calls(sources, function))
    return sorted({line for line in lines if one <= line <= other})


def branch_of(sources: Sources, barrier: Place, *apart: int) -> Place | None:
    """The branch that decides whether an agent reaches a barrier; None if every agent does.

    Args:
        sources: the author's files.
        barrier: the place of the barrier, or of a call of a function that has one.
        apart: lines of the same function that must not both lie in the branch.
    """
    function = sources.function_at(barrier.file, barrier.line, *apart)
    calls = _barrier_calls(sources, function) if function is not None else ()
    found = (_branch(sources, call, apart, frozenset()) for call in calls if first_line(call) == barrier.line)
    return next((branch for branch in found if branch is not None), None)


def in_one_loop(sources: Sources, file: str, *lines: int) -> bool:
    """Whether a loop holds all of some lines."""
    function = sources.function_at(file, *lines)
    return function is not None and any(node.type in LOOPS and covers(node, *lines) for node in walk(function))


def _barrier_calls(sources: Sources, function: Node, seen: frozenset[str] = frozenset()) -> Iterator[Node]:
    """The calls in a function that are barriers, or functions of the author's that have one."""
    seen |= {function_name(function)}
    for call in (node for node in walk(function) if node.type == "call_expression"):
        name = callee(call)
        own = () if name in seen else sources.functions_named(name)
        if _BARRIER.match(name) or any(_has(_barrier_calls(sources, each, seen)) for each in own):
            yield call


def _has(nodes: Iterator[Node]) -> bool:
    return next(nodes, None) is not None


def _branch(sources: Sources, call: Node, apart: tuple[int, ...], seen: frozenset[str]) -> Place | None:
    """The branch around a call, or within the function that it calls."""
    around = [node for node, part in ancestors(call) if _decides(node, part) and not (apart and covers(node, *apart))]
    found = [node for node in around if node.type in _CHOICES] or _left_before(call, apart) or around
    if found:
        return sources.place(_statement(found[0]))
    name = callee(call)
    functions = sources.functions_named(name) if name not in seen else []
    inner = (barrier for function in functions for barrier in _barrier_calls(sources, function))
    branches = (_branch(sources, barrier, (), seen | {name}) for barrier in inner)
    return next((branch for branch in branches if branch is not None), None)


def _decides(node: Node, part: Node) -> bool:
    """Whether a node decides if a part of it runs."""
    if node.type in ("if_statement", "switch_statement"):
        return part != node.child_by_field_name("condition")
    if node.type == "conditional_expression":
        return part != node.child_by_field_name("condition")
    if node.type == "binary_expression":
        operator = node.child_by_field_name("operator")
        return operator is not None and operator.type in ("&&", "||") and part == node.child_by_field_name("right")
    return node.type in LOOPS and node.type != "do_statement"


def _left_before(call: Node, apart: tuple[int, ...]) -> list[Node]:
    """The branch in which an agent leaves a loop's round, or a function of the kernel's, before it comes to a call.

    An agent that returns from the kernel itself is not waited for.
    """
    # choices before the call, from within its loops outwards
    part = call
    for around, part in ancestors(call):
        before = part.prev_named_sibling
        while before is not None:
            if before.type == "if_statement" and any(node.type in _LEAVES for node in walk(before)):
                return [before]
            before = before.prev_named_sibling
        if around.type in LOOPS and apart and not covers(around, *apart):
            return []
    # returns before it, in a function of the kernel's
    function = part.parent
    if function is None or is_kernel(function):
        return []
    returns = [node for node in walk(function) if node.type == "return_statement" and node.end_byte < call.start_byte]
    return [choice for node in returns for choice, _ in ancestors(node) if choice.type in _CHOICES][:1]


def _statement(node: Node) -> Node:
    """The outermost expression that a choice is a part of, for its line; a statement is itself."""
    while node.type == "binary_expression" and node.parent is not None and node.parent.type == "binary_expression":
        node = node.parent
    return node
