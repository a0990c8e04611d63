"""YAML aliases: what they stand for has a limit, so that a few lines of text cannot fill the memory."""

from __future__ import annotations

import yaml

from warpworld.config.documents.keys import KeyPath, dotted
from warpworld.config.documents.yaml_nodes import Place, children
from warpworld.errors import ConfigError

MOST_REPEATED = 100_000  # characters that a document's aliases may stand for


def check_aliases(root: yaml.Node, at: Place) -> None:
    """Refuse an anchor that holds itself, and aliases that stand for more text than any config needs.

    Every node is looked at once, and nothing is written out.

    Raises:
        ConfigError: names the place.
    """
    _Sizes(at).of(root, (), root.start_mark.line + 1)


class _Sizes:
    """Characters of nodes with their aliases written out; a list or a section counts one for itself."""

    def __init__(self, at: Place) -> None:
        self._at = at
        self._known: dict[int, int] = {}
        self._around: dict[int, KeyPath] = {}  # the nodes that hold the present one
        self._repeated = 0

    def of(self, node: yaml.Node, path: KeyPath, line: int) -> int:
        if id(node) in self._around:
            holder = dotted(self._around[id(node)]) or "all"
            raise ConfigError(f"{self._at(line)}: {dotted(path)} stands for {holder}, which would hold itself")
        if id(node) in self._known:
            self._repeat(node, path, line)
        else:
            self._around[id(node)] = path
            self._known[id(node)] = self._written_out(node, path, line)
            del self._around[id(node)]
        return self._known[id(node)]

    def _written_out(self, node: yaml.Node, path: KeyPath, line: int) -> int:
        size = max(1, len(node.value)) if isinstance(node, yaml.ScalarNode) else 1
        for name, marked, value in children(node):
            if marked is not value:  # a key; one that is an alias itself has the line of its anchor
                line = line if id(marked) in self._known else marked.start_mark.line + 1
                size += self.of(marked, path, line)
            size += self.of(value, (*path, name), line)
        return size

    def _repeat(self, node: yaml.Node, path: KeyPath, line: int) -> None:
        self._repeated += self._known[id(node)]
        if self._repeated > MOST_REPEATED:
            raise ConfigError(
                f"{self._at(line)}: {dotted(path)}: aliases up to here repeat {self._repeated:,} characters, expected "
                f"at most {MOST_REPEATED:,}"
            )
