"""Nodes of a rollout and of updates: what a device would be asked for, noted while torch does its part on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from warpworld.cli.profile.operations import Operations
from warpworld.trainers.algorithms.experience import rows_of_a_gpu
from warpworld.trainers.spans import ROLLOUT, UPDATE, Span

PARTS = (ROLLOUT, UPDATE)
MADE_EMPTY = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")


@dataclass(frozen=True)
class Node:
    """One thing that the device does: a kernel of the package's, or an operation of torch's.

    Attributes:
        name: of the kernel or operation.
        grid: blocks and threads of each; empty for torch's, which are the affair of its libraries.
        read: bytes that it reads from memory.
        written: bytes that it writes.
        flop: operations of products; a multiplication and an addition count as two.
        is_bf16: whether the products are of bfloat16.
        is_known: whether its bytes are known.
    """

    name: str
    grid: str = ""
    read: float = 0.0
    written: float = 0.0
    flop: float = 0.0
    is_bf16: bool = False
    is_known: bool = True


Nodes = dict[Span, list[Node]]
"""The nodes of each part, in order."""


class NodeLog(Operations):
    """Notes the nodes of each part while it is entered, by the spans that it receives.

    Values are then of as many rows at once as on a GPU. Where a part has CUDA graphs, their nodes count, and what the
    host asks for around them does not.

    Attributes:
        nodes: of each rollout, and of each policy's update, in order, with whether a graph holds it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[Span, list[tuple[bool, Node]]] = {}
        self._open: list[Span] = []
        self._in_graph = False

    def __enter__(self) -> NodeLog:
        self._rows = rows_of_a_gpu()
        self._rows.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._rows.__exit__(None, None, None)

    # ---- spans -------------------------------------------------------------------------------------------------------
    def enter(self, span: Span) -> None:
        """Take note that a span begins."""
        self._open.append(span)

    def leave(self) -> None:
        """Take note that the innermost span ends."""
        self._open.pop()

    def of_parts(self) -> Nodes:
        """The nodes that count, by part."""
        found = {}
        for part, noted in self.nodes.items():
            captured = [node for in_graph, node in noted if in_graph]
            found[part] = captured or [node for _, node in noted]
        return found

    @contextmanager
    def in_graph(self) -> Iterator[None]:
        """Let nodes be those of a CUDA graph meanwhile."""
        before, self._in_graph = self._in_graph, True
        try:
            yield
        finally:
            self._in_graph = before

    # ---- nodes -------------------------------------------------------------------------------------------------------
    def note(self, node: Callable[[], Node]) -> None:
        """Note a node, which is made if it counts."""
        part = next((each for each in reversed(self._open) if each.name in PARTS), None)
        if part is not None:
            self.nodes.setdefault(part, []).append((self._in_graph, node()))

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        flop = self.read()[0]
        made = super().__torch_dispatch__(operation, types, args, kwargs)
        name = operation.overloadpacket.__name__
        if name in MADE_EMPTY:  # memory, and no work; kernels that do not run leave legal numbers in it
            for each in tree_leaves(made):
                each.zero_()
        elif not _is_view(operation) and name != "_unsafe_view" and operation.namespace != "profiler":
            self.note(lambda: _node_of(operation, name, args, kwargs or {}, made, self.read()[0] - flop))
        return made


def _is_view(operation: Any) -> bool:
    """Whether the result shares memory with an argument that is not written."""
    aliases = [returned.alias_info for returned in operation._schema.returns]
    return any(alias is not None and not alias.is_write for alias in aliases)


def _node_of(operation: Any, name: str, args: Any, kwargs: Any, made: Any, flop: float) -> Node:
    """The node of an operation that was carried out; a tensor that it reads and writes counts for both."""
    given = [*args, *(kwargs.get(each.name) for each in operation._schema.arguments[len(args) :])]
    changed = [
        value
        for argument, value in zip(operation._schema.arguments, given, strict=True)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    only_written = name in ("copy_", "fill_", "zero_") or "out" in kwargs
    written = _tensors([made, changed])
    read = {place: each for place, each in _tensors([args, kwargs]).items() if not (only_written and place in written)}
    is_bf16 = any(each.dtype == torch.bfloat16 for each in read.values())
    return Node(
        name, "", sum(map(_nbytes, read.values())), sum(map(_nbytes, written.values())), flop, bool(flop) and is_bf16
    )


def _tensors(given: Any) -> dict[int, torch.Tensor]:
    """The tensors among some values, each once."""
    return {each.data_ptr(): each for each in tree_leaves(given) if isinstance(each, torch.Tensor)}


def _nbytes(tensor: torch.Tensor) -> int:
    """Bytes of memory that a tensor has; what is expanded lies there once."""
    expanded = [size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride == 0 and size]
    count = tensor.numel()
    for size in expanded:
        count //= size
    return count * tensor.element_size()
