"""The YAML of configs: the scalars that people mean, read and written."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import yaml

TAG = "tag:yaml.org,2002:"
_EXACT_INTEGERS = 2.0**53  # whole floats up to here are exact


class Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the scalars that people mean.

    PyYAML follows YAML 1.1, where ``1e-3`` is a text, ``010`` is 8, ``1:30`` is 90 and ``on`` is true. Here numbers are
    what Python calls numbers, only ``true`` and ``false`` are truth values, and there are no dates.
    """

    yaml_implicit_resolvers: ClassVar[dict] = {}


class _Dumper(yaml.SafeDumper):
    """Writes what ``Loader`` reads back equal: mappings as blocks, lists in one line."""

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
    for _class in (Loader, _Dumper):
        _class.add_implicit_resolver(TAG + _kind, re.compile(f"(?:{_pattern})\\Z"), list(_first))


def construct_int(loader: Loader, node: yaml.ScalarNode) -> int:
    """The whole number that a scalar spells; raises ValueError if it has too many digits."""
    text = loader.construct_scalar(node)
    return int(text, 0 if re.match(r"[-+]?0[xXob]", text) else 10)


def construct_float(loader: Loader, node: yaml.ScalarNode) -> float | int:
    """The number that a scalar spells: 2e6 is a whole one, 2.0 is not."""
    text = loader.construct_scalar(node).replace("_", "").lower()
    value = float(text.replace(".inf", "inf").replace(".nan", "nan"))
    whole = "e" in text and value.is_integer() and abs(value) <= _EXACT_INTEGERS
    return int(value) if whole else value


Loader.add_constructor(TAG + "int", construct_int)
Loader.add_constructor(TAG + "float", construct_float)
_Dumper.add_representer(list, lambda dumper, data: dumper.represent_sequence(TAG + "seq", data, flow_style=True))
_Dumper.add_representer(tuple, lambda dumper, data: dumper.represent_sequence(TAG + "seq", data, flow_style=True))


def dump_value(value: Any) -> str:
    """A value as YAML in one line."""
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=True, width=float("inf"))
    return text.removesuffix("\n...\n").rstrip()


def dump_yaml(data: dict[str, Any]) -> str:
    """ASCII YAML text that ``Loader`` reads back equal; keys keep their order."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=110)
