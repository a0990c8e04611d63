"""YAML nodes: what a config must not hold, and the line of each key."""

from __future__ import annotations

from collections.abc import Callable

import yaml

from warpworld.config.documents.keys import KeyPath, dotted
from warpworld.config.documents.yaml_dialect import TAG, Loader, construct_float, construct_int
from warpworld.errors import ConfigError

Place = Callable[[int], str]  # from a line, or 0 for none, to what an error begins with

_PLAIN_TAGS = {TAG + kind for kind in ("null", "bool", "int", "float", "str", "seq", "map")}


def children(node: yaml.Node) -> list[tuple[str | int, yaml.Node, yaml.Node]]:
    """Contents of a node: the name or index of each entry, the node that marks its line, and its value."""
    if isinstance(node, yaml.MappingNode):
        return [(str(key.value), key, value) for key, value in node.value]
    return [(i, entry, entry) for i, entry in enumerate(node.value)] if isinstance(node, yaml.SequenceNode) else []


def check_nodes(root: yaml.Node, at: Place) -> None:
    """Refuse what a config must not hold: foreign tags, keys that are not names, a key twice in one mapping."""
    pending: list[tuple[yaml.Node, KeyPath]] = [(root, ())]
    seen: set[int] = set()
    while pending:
        node, path = pending.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        _check_value(node, path, at)
        if isinstance(node, yaml.MappingNode):
            _check_keys(node, path, at)
        pending += [(value, (*path, name)) for name, _, value in reversed(children(node))]


def _check_value(node: yaml.Node, path: KeyPath, at: Place) -> None:
    where = at(node.start_mark.line + 1)
    if node.tag not in _PLAIN_TAGS:
        tag = node.tag.replace(TAG, "!!")
        raise ConfigError(
            f"{where}: the YAML tag {tag} is not allowed, expected plain numbers, texts, lists and sections"
        )
    convert = {TAG + "int": construct_int, TAG + "float": construct_float}.get(node.tag)
    if convert and isinstance(node, yaml.ScalarNode):
        try:
            str(convert(Loader(""), node))  # a hexadecimal number may have too many digits to be written out
        except ValueError as error:
            raise ConfigError(f"{where}: {dotted(path)} is not a number that can be read: {node.value[:40]}") from error


def _check_keys(node: yaml.MappingNode, path: KeyPath, at: Place) -> None:
    first: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if key.tag not in (TAG + "str", TAG + "merge"):
            given = key.value if isinstance(key, yaml.ScalarNode) else "a list or section"
            raise ConfigError(f"{at(line)}: {given or 'nothing'} stands as a key, expected a name")
        if key.value in first:
            name = dotted((*path, key.value))
            raise ConfigError(f"{at(line)}: {name} is given twice, first in line {first[key.value]}; keep one")
        first[key.value] = line


def key_lines(root: yaml.Node, depth: int = 6) -> dict[KeyPath, int]:
    """Line of every key and list entry, down to ``depth`` levels."""
    lines: dict[KeyPath, int] = {}
    pending: list[tuple[yaml.Node, KeyPath]] = [(root, ())]
    while pending:
        node, path = pending.pop()
        for name, marked, value in children(node):
            place = (*path, name)
            lines[place] = marked.start_mark.line + 1
            if len(place) < depth:
                pending.append((value, place))
    return lines
