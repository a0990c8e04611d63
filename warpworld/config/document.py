"""A run's YAML text and its command-line overrides as plain values that remember where each of them came from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import yaml

from warpworld.errors import ConfigError

KeyPath = tuple[str | int, ...]
Place = Callable[[int], str]  # from a line, or 0 for none, to what an error begins with

_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = {_TAG + kind for kind in ("null", "bool", "int", "float", "str", "seq", "map")}
_EXACT_INTEGERS = 2.0**53  # whole floats up to here are exact


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the scalars that people mean.

    PyYAML follows YAML 1.1, where ``1e-3`` is a text, ``010`` is 8, ``1:30`` is 90 and ``on`` is true. Here numbers are
    what Python calls numbers, only ``true`` and ``false`` are truth values, and there are no dates.
    """

    yaml_implicit_resolvers: ClassVar[dict] = {}


class _Dumper(yaml.SafeDumper):
    """Writes what ``_Loader`` reads back equal: mappings as blocks, lists in one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_SCALARS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(0[xX][0-9a-fA-F]+|0o[0-7]+|0b[01]+|[0-9]+(_[0-9]+)*)", "-+0123456789"),
    (
        "float",
        r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", "<"),
)
for _kind, _pattern, _first in _SCALARS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_TAG + _kind, re.compile(f"(?:{_pattern})\\Z"), list(_first))


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = loader.construct_scalar(node)
    return int(text, 0 if re.match(r"[-+]?0[xXob]", text) else 10)


def _construct_float(loader: _Loader, node: yaml.ScalarNode) -> float | int:
    text = loader.construct_scalar(node).replace("_", "").lower()
    value = float(text.replace(".inf", "inf").replace(".nan", "nan"))
    whole = "e" in text and value.is_integer() and abs(value) <= _EXACT_INTEGERS
    return int(value) if whole else value  # 2e6 is a whole number, 2.0 is not


_Loader.add_constructor(_TAG + "int", _construct_int)
_Loader.add_constructor(_TAG + "float", _construct_float)
_Dumper.add_representer(list, lambda dumper, data: dumper.represent_sequence(_TAG + "seq", data, flow_style=True))
_Dumper.add_representer(tuple, lambda dumper, data: dumper.represent_sequence(_TAG + "seq", data, flow_style=True))


def dotted(path: KeyPath) -> str:
    """``("policy", "tagger", "model")`` as ``policy.tagger.model``; list entries as ``[0]``."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")


def dump_yaml(data: dict[str, Any]) -> str:
    """ASCII YAML text that ``Document.parse`` reads back equal; keys keep their order."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=110)


@dataclass
class Document:
    """The values of a YAML file, with overrides laid over them.

    Attributes:
        source: what errors call the file.
        data: plain dicts, lists, texts, numbers, truth values and None.
        lines: line of each key and list entry in the file, counted from 1.
        overrides: text of the override that gave a key its value.
    """

    source: str
    data: dict[str, Any]
    lines: dict[KeyPath, int] = field(default_factory=dict)
    overrides: dict[KeyPath, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: bytes, source: str) -> Document:
        """Read one YAML document.

        Raises:
            ConfigError: not UTF-8, a syntax error, a key twice, several documents, a foreign tag, or not a mapping.
        """
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{source}: byte {error.start} is not UTF-8 text, expected a YAML file") from error
        data, lines = _parse(text, lambda line: f"{source}, line {line}" if line else source)
        if data is None:
            raise ConfigError(f"{source} is empty, expected the sections name, env, trainer, policy and saving")
        if not isinstance(data, dict):
            given = "a list" if isinstance(data, list) else f"only the value {data!r}"
            raise ConfigError(
                f"{source} holds {given}, expected 'key: value' lines: name, env, trainer, policy, saving"
            )
        return cls(source, data, lines)

    def override(self, text: str) -> None:
        """Lay ``a.b=value`` over the values; the value is read as YAML, a later override wins.

        Raises:
            ConfigError: no ``=``, an empty key, a value that is not YAML, or a key below something that has no keys.
        """
        text = " ".join(text.split())
        name, equals, value = text.partition("=")
        path = tuple(key.strip() for key in name.split("."))
        if not equals or not all(path):
            raise ConfigError(f"override '{text}': expected key=value, for instance trainer.num_envs=64")
        section = self.data
        for depth, key in enumerate(path[:-1], 1):
            if section.get(key) is None:
                section[key] = {}
            section = section[key]
            if not isinstance(section, dict):
                kind = (
                    "a list: give it whole, as in [64, 64]" if isinstance(section, list) else "a value, not a section"
                )
                raise ConfigError(f"command line, {text}: {dotted(path[:depth])} is {kind}")
        section[path[-1]] = _parse(value, lambda line: f"command line, {text}")[0]
        self.overrides.pop(path, None)
        self.overrides[path] = text

    def where(self, *paths: KeyPath) -> str:
        """Say where a value came from: the first of ``paths`` that an override gave, else the first with a line."""
        for path in paths:
            for given, text in self.overrides.items():
                if path[: len(given)] == given:
                    return f"command line, {text}"
        for path in paths:
            if path in self.lines:
                return f"{self.source}, line {self.lines[path]}"
        below = [text for given, text in self.overrides.items() if paths and given[: len(paths[0])] == paths[0]]
        return f"command line, {below[0]}" if below and paths[0] else self.source


def _parse(text: str, at: Place) -> tuple[Any, dict[KeyPath, int]]:
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_node() if loader.check_node() else None
        if node is None:
            return None, {}
        if loader.check_node():
            line = loader.peek_event().start_mark.line + 1
            raise ConfigError(f"{at(line)}: a second YAML document starts here, expected one: remove the '---'")
        _check_nodes(node, at)
        data = _unshared(loader.construct_document(node))
        return data, _key_lines(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = at(mark.line + 1 if mark else 0)
        context = f" ({error.context})" if error.context else ""
        hint = "; indent with spaces, not tabs" if "\\t" in str(error.problem) else ""
        raise ConfigError(f"{where}: YAML syntax error: {error.problem}{context}{hint}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{at(0)}: YAML syntax error: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise ConfigError(f"{at(0)}: brackets or sections are nested too deeply") from error
    finally:
        if loader is not None:
            loader.dispose()


def _unshared(value: Any) -> Any:
    """Copy ``value`` so that sections given by one anchor are dicts of their own; an override then changes one."""
    if isinstance(value, dict):
        return {key: _unshared(entry) for key, entry in value.items()}
    return [_unshared(entry) for entry in value] if isinstance(value, list) else value


def _check_nodes(root: yaml.Node, at: Place) -> None:
    """Refuse what a config must not hold: foreign tags, keys that are not names, a key twice in one mapping."""
    pending: list[tuple[yaml.Node, KeyPath]] = [(root, ())]
    seen: set[int] = set()
    while pending:
        node, path = pending.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        _check_value(node, path, at)
        if isinstance(node, yaml.SequenceNode):
            pending += [(entry, (*path, i)) for i, entry in reversed(list(enumerate(node.value)))]
        elif isinstance(node, yaml.MappingNode):
            _check_keys(node, path, at)
            pending += [(value, (*path, str(key.value))) for key, value in reversed(node.value)]


def _check_value(node: yaml.Node, path: KeyPath, at: Place) -> None:
    where = at(node.start_mark.line + 1)
    if node.tag not in _PLAIN_TAGS:
        tag = node.tag.replace(_TAG, "!!")
        raise ConfigError(
            f"{where}: the YAML tag {tag} is not allowed, expected plain numbers, texts, lists and sections"
        )
    convert = {_TAG + "int": _construct_int, _TAG + "float": _construct_float}.get(node.tag)
    if convert and isinstance(node, yaml.ScalarNode):
        try:
            str(convert(_Loader(""), node))  # a hexadecimal number may have too many digits to be written out
        except ValueError as error:
            raise ConfigError(f"{where}: {dotted(path)} is not a number that can be read: {node.value[:40]}") from error


def _check_keys(node: yaml.MappingNode, path: KeyPath, at: Place) -> None:
    first: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if key.tag not in (_TAG + "str", _TAG + "merge"):
            given = key.value if isinstance(key, yaml.ScalarNode) else "a list or section"
            raise ConfigError(f"{at(line)}: {given or 'nothing'} stands as a key, expected a name")
        if key.value in first:
            name = dotted((*path, key.value))
            raise ConfigError(f"{at(line)}: {name} is given twice, first in line {first[key.value]}; keep one")
        first[key.value] = line


def _key_lines(root: yaml.Node, depth: int = 6) -> dict[KeyPath, int]:
    """Line of every key and list entry, down to ``depth`` levels."""
    lines: dict[KeyPath, int] = {}
    pending: list[tuple[yaml.Node, KeyPath]] = [(root, ())]
    while pending:
        node, path = pending.pop()
        children: list[tuple[str | int, yaml.Node, yaml.Node]] = []
        if isinstance(node, yaml.MappingNode):
            children = [(str(key.value), key, value) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            children = [(i, entry, entry) for i, entry in enumerate(node.value)]
        for name, marked, value in children:
            lines[(*path, name)] = marked.start_mark.line + 1
            if len(path) + 1 < depth:
                pending.append((value, (*path, name)))
    return lines
