"""Counts what the host asks of the stand-in GPU: graphs, kernels, torch's operations on its memory, and reads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from tests.stand_in.recorded_graph import RecordedGraph, _is_view, _is_written


class HostCalls(TorchDispatchMode):
    """Counts while it is entered.

    A seed that a generator draws, and what torch makes of such alone, is the host's own work, up to the copy that takes
    it to the device.

    Attributes:
        counts: by name.
        nodes: of each graph that was replayed, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.nodes: list[int] = []
        self._of_host: dict[int, torch.Tensor] = {}

    def __enter__(self) -> HostCalls:
        self._before, self._tolist = RecordedGraph.replayed, torch.Tensor.tolist
        torch.Tensor.tolist = self._reading()  # type: ignore[method-assign]
        RecordedGraph.replayed = staticmethod(self._replayed)  # type: ignore[method-assign]
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        torch.Tensor.tolist = self._tolist  # type: ignore[method-assign]
        RecordedGraph.replayed = staticmethod(self._before)  # type: ignore[method-assign]

    def _reading(self) -> Any:
        """Tensor.tolist, counted: torch dispatches nothing for it."""

        def tolist(tensor: torch.Tensor) -> Any:
            self.counts["read"] += id(tensor) not in self._of_host
            return self._tolist(tensor)

        return tolist

    def _replayed(self, graph: RecordedGraph) -> None:
        self.counts["graph"] += 1
        self.nodes.append(graph.num_nodes)
        with _disable_current_modes():
            graph.repeat()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        made = operation(*args, **kwargs)
        if kwargs.get("generator") is not None or (given and all(id(each) in self._of_host for each in given)):
            for each in tree_leaves(made):
                if isinstance(each, torch.Tensor):
                    self._of_host[id(each)] = each  # held, so that no other tensor gets its number
        elif not _is_view(operation) or any(map(_is_written, operation._schema.arguments)):
            self.counts[str(operation.overloadpacket)] += 1
        return made
