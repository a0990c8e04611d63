"""A run's YAML text and its command-line overrides as plain values that remember where each of them came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from warpworld.config.documents.keys import KeyPath, dotted
from warpworld.config.documents.yaml_aliases import check_aliases
from warpworld.config.documents.yaml_dialect import Loader
from warpworld.config.documents.yaml_nodes import Place, check_nodes, key_lines
from warpworld.errors import ConfigError


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
            for given, text in reversed(self.overrides.items()):  # the latest gave the value
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
        loader = Loader(text)
        node = loader.get_node() if loader.check_node() else None
        if node is None:
            return None, {}
        if loader.check_node():
            line = loader.peek_event().start_mark.line + 1
            raise ConfigError(f"{at(line)}: a second YAML document starts here, expected one: remove the '---'")
        check_nodes(node, at)
        check_aliases(node, at)
        data = _unshared(loader.construct_document(node))
        return data, key_lines(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = at(mark.line + 1 if mark else 0)
        context = f" ({error.context})" if error.context else ""
        hint = "; indent with spaces, not tabs" if "\\t" in str(error.problem) else ""
        raise ConfigError(f"{where}: YAML syntax error: {error.problem}{context}{hint}") from error
    except yaml.reader.ReaderError as error:
        where = at(text.count("\n", 0, error.position) + 1)
        raise ConfigError(f"{where}: the character U+{error.character:04X} cannot stand in YAML text") from error
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
