"""Conditions that let one agent alone come to a line, as a kernel's text shows them.

An agent is chosen by a comparison with its own number (``if (agent_id() == mover)``), by an order of agents' numbers
(``if (other < agent_id()) is_first = false;``), or by an atomic operation or a vote that only one of them wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from warpworld.checking.places import Place
from warpworld.checking.source_tree import (
    LOOPS,
    Sources,
    ancestors,
    first_line,
    function_name,
    is_kernel,
)
from warpworld.managers import text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_OWN_NUMBER = re.compile(r"^(agent_id|agent_index|group_index|lane)\s*\(|^threadIdx\.x$")
_ENV_NUMBER = re.compile(r"\benv_id\s*\(|\bblockIdx\b")
_WON = re.compile(r"\b(atomic\w+|__ballot\w*|__ffs\w*|__shfl\w*|__match\w*|__any\w*|__reduce\w*)\s*\(")
_ALL_AGENTS = re.compile(r"^[A-Z_]*(NUM|COUNT|AGENTS)[A-Z_]*$")
_LEAVES = ("return_statement", "continue_statement", "break_statement", "goto_statement")
_ORDERS = ("<", ">", "<=", ">=")
Condition = tuple["Node", bool]  # with whether it must hold
MOST_STEPS = 6  # from a condition to the values that it depends on


class Guards:
    """The conditions under which a line of a file runs, in its function and in those that call it.

    Attributes:
        known: whether the line was found in a function.

    Args:
        sources: the author's files.
        place: the line.
        site: the line of the kernel from which it was reached; other kernels may call the same functions.
        between_envs: whether the envs compete too, so that one of them must be chosen.
    """

    def __init__(self, sources: Sources, place: Place, site: Place, between_envs: bool = False) -> None:
        self._sources, self._between_envs = sources, between_envs
        self._ways = list(_ways(sources, place, site)) or [_conditions(sources, place)]
        self.known = sources.function_at(place.file, place.line) is not None

    def choose_one(self) -> bool:
        """Whether the text shows that one agent alone comes to the line, whichever way it takes."""
        return all(self._chooses(way) for way in self._ways)

    def _chooses(self, way: Sequence[Condition]) -> bool:
        choice = _Choice(self._sources)
        if not any(choice.chooses(condition, positive) for condition, positive in way):
            return False
        return not self._between_envs or any(_ENV_NUMBER.search(text_of(condition)) for condition, _ in way)

    def names(self) -> set[str]:
        """The names that the conditions mention, those of arrays among them, and those behind local variables."""
        found: set[str] = set()
        todo = [condition for way in self._ways for condition, _ in way]
        for _ in range(MOST_STEPS):
            new = {text_of(node): node for each in todo for node in walk(each) if node.type.endswith("identifier")}
            todo = [value for name, node in new.items() if name not in found for value in _values(node)]
            found |= set(new)
        return found


def _ways(
    sources: Sources, place: Place, site: Place, seen: frozenset[int] = frozenset()
) -> Iterator[Sequence[Condition]]:
    """The conditions on each way from a line of a kernel, through the author's functions, to a line."""
    function = sources.function_at(place.file, place.line)
    if function is None or function.id in seen:
        return
    own = _conditions(sources, place)
    if is_kernel(function):
        if place == site or not seen:
            yield own
        return
    for call in sources.calls_of(function_name(function)):
        for way in _ways(sources, sources.place(call), site, seen | {function.id}):
            yield [*own, *way]


def _conditions(sources: Sources, place: Place) -> list[Condition]:
    """The conditions within its function under which a line runs."""
    function = sources.function_at(place.file, place.line)
    inside = [node for node in walk(function) if first_line(node) == place.line] if function is not None else []
    found = [condition for start in inside[:1] for condition in _around(start)]
    for node in inside:  # on the line itself
        for around, part in ancestors(node):
            if first_line(around) == place.line:
                found.extend(_of_parent(around, part))
    return found


def _around(node: Node) -> Iterator[Condition]:
    for around, part in ancestors(node):
        yield from _of_parent(around, part)
        before = part.prev_named_sibling
        while before is not None:
            condition = before.child_by_field_name("condition") if before.type == "if_statement" else None
            then = before.child_by_field_name("consequence") if condition is not None else None
            if condition is not None and then is not None and any(each.type in _LEAVES for each in walk(then)):
                yield condition, False
            before = before.prev_named_sibling


def _of_parent(around: Node, part: Node) -> Iterator[Condition]:
    condition = around.child_by_field_name("condition")
    if condition is not None and part != condition:
        yield condition, part != around.child_by_field_name("alternative")
    operator = around.child_by_field_name("operator")
    left = around.child_by_field_name("left")
    if operator is not None and left is not None and operator.type in ("&&", "||") and part != left:
        yield left, operator.type == "&&"


def _values(name: Node) -> Iterator[Node]:
    """Sources of a local variable of the function: its initial value, and all that it is assigned."""
    function = _function_of(name)
    for node in walk(function) if function is not None else ():
        target = {"init_declarator": "declarator", "assignment_expression": "left"}.get(node.type)
        declared = node.child_by_field_name(target) if target else None
        if declared is not None and text_of(declared).lstrip("&* ") == text_of(name):
            value = node.child_by_field_name("value" if node.type == "init_declarator" else "right")
            if value is not None:
                yield value


def _function_of(node: Node) -> Node | None:
    while node is not None and node.type != "function_definition":
        node = node.parent  # type: ignore[assignment]
    return node


class _Choice:
    """Looks whether a condition holds for one agent at most."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def chooses(self, node: Node, positive: bool, steps: int = MOST_STEPS) -> bool:
        """Whether at most one agent passes a condition that must hold, or must not."""
        if steps == 0:
            return False
        if _WON.search(text_of(node)):
            return True
        if node.type in ("condition_clause", "parenthesized_expression"):
            return any(self.chooses(child, positive, steps) for child in node.named_children)
        if node.type == "unary_expression":
            argument = node.child_by_field_name("argument")
            return argument is not None and self.chooses(argument, not positive, steps)
        if node.type == "binary_expression":
            return self._compares(node, positive, steps)
        if node.type == "identifier":
            values = list(_values(node))
            ordered = len(values) > 1 and any(self._orders(value, steps) for value in values)
            return ordered or any(self.chooses(value, positive, steps - 1) for value in values)
        if node.type == "call_expression":
            return self._function_chooses(node, positive, steps)
        return False

    def _compares(self, node: Node, positive: bool, steps: int) -> bool:
        operator = text_of(node.child_by_field_name("operator"))  # type: ignore[arg-type]
        sides = [node.child_by_field_name("left"), node.child_by_field_name("right")]
        both = [side for side in sides if side is not None]
        if operator in ("&&", "||"):
            each = [self.chooses(side, positive, steps) for side in both]
            return any(each) if (operator == "&&") == positive else all(each)
        if operator == ("==" if positive else "!="):
            return any(self._is_own_number(side, steps) for side in both)
        return False

    def _orders(self, value: Node, steps: int) -> bool:
        """Whether a variable takes a value under a condition that orders agents by their numbers."""
        for condition, _ in _around(value):
            for node in walk(condition):
                operator = node.child_by_field_name("operator") if node.type == "binary_expression" else None
                if operator is None or operator.type not in _ORDERS:
                    continue
                sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
                if any(side is not None and self._is_own_number(side, steps) for side in sides):
                    return True
        return any(
            around.type in LOOPS and self._bounded_by_own_number(around, steps) for around, _ in ancestors(value)
        )

    def _bounded_by_own_number(self, loop: Node, steps: int) -> bool:
        """Whether a loop runs over the agents before this one."""
        condition = loop.child_by_field_name("condition")
        return condition is not None and any(
            self._is_own_number(side, steps)
            for node in walk(condition)
            if node.type == "binary_expression"
            for side in node.named_children
        )

    def _function_chooses(self, call: Node, positive: bool, steps: int) -> bool:
        """Whether a function of the author's returns a condition that chooses."""
        name = text_of(call.child_by_field_name("function"))  # type: ignore[arg-type]
        returns = [
            node.named_children[0]
            for function in self._sources.functions_named(name)
            for node in walk(function)
            if node.type == "return_statement" and node.named_children
        ]
        return any(self.chooses(value, positive, steps - 1) for value in returns)

    def _is_own_number(self, node: Node, steps: int) -> bool:
        """Whether a value differs from agent to agent because it is made from the agent's own number alone."""
        if steps == 0:
            return False
        if node.type in ("call_expression", "field_expression"):
            return bool(_OWN_NUMBER.match(text_of(node)))
        if node.type == "identifier":
            values = list(_values(node)) or list(self._arguments(node))
            return any(self._is_own_number(value, steps - 1) for value in values)
        if node.type in ("parenthesized_expression", "cast_expression"):
            return any(self._is_own_number(child, steps) for child in node.named_children)
        if node.type == "binary_expression":
            return self._is_shifted(node, steps)
        return False

    def _is_shifted(self, node: Node, steps: int) -> bool:
        """An own number plus or minus something, or that modulo the number of agents."""
        operator = text_of(node.child_by_field_name("operator"))  # type: ignore[arg-type]
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or operator not in ("+", "-", "%"):
            return False
        if operator == "%":
            return bool(_ALL_AGENTS.match(text_of(right))) and self._is_own_number(left, steps)
        return self._is_own_number(left, steps) or self._is_own_number(right, steps)

    def _arguments(self, parameter: Node) -> Iterator[Node]:
        """Arguments that the callers of a function give for a parameter of it."""
        function = _function_of(parameter)
        names = [
            text_of(node.child_by_field_name("declarator") or node).lstrip("&* ")
            for node in walk(function)
            if node.type == "parameter_declaration"
        ] if function is not None else []  # fmt: skip
        if function is None or text_of(parameter) not in names:
            return
        at = names.index(text_of(parameter))
        for call in self._sources.calls_of(function_name(function)):
            arguments = call.child_by_field_name("arguments")
            if arguments is not None and at < len(arguments.named_children):
                yield arguments.named_children[at]
