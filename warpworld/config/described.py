"""Description of every key of a config: value, default and meaning, from the schema and the classes that it names.

Of an environment's parameters it is the comment behind the field of ``Params`` and its range, of a model's settings
the entry under ``Args`` in the docstring of its constructor.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from warpworld.config.documents import KeyPath
from warpworld.config.named_classes import model_class
from warpworld.config.run_config import RunConfig
from warpworld.config.sections import ModelConfig
from warpworld.config.settings import RANDOMIZE
from warpworld.environment import Environment, get_environment, limits_of

NO_DEFAULT = object()  # stands for a default that does not exist
_ARGUMENT = re.compile(r"(\w+): (.*)\Z")


@dataclass(frozen=True, eq=False)
class Key:
    """A key of a config.

    Attributes:
        path: from the top.
        about: what it is; "" if that is written nowhere.
        value: plain; of a section None.
        default: likewise, or ``NO_DEFAULT``.
        is_section: whether other keys stand below it.
    """

    path: KeyPath
    about: str
    value: Any = None
    default: Any = None
    is_section: bool = False

    @property
    def is_default(self) -> bool:
        """Whether the value is the default."""
        return bool(self.value == self.default)


def described(config: RunConfig) -> Iterator[Key]:
    """Yield every key of a config, sections before the keys in them."""
    fields = RunConfig.model_fields
    yield Key(("name",), _about(fields["name"]), config.name, NO_DEFAULT)
    yield Key(("env",), _about(fields["env"]), is_section=True)
    yield from described_params(get_environment(config.name), config.env)
    yield Key(("trainer",), _about(fields["trainer"]), is_section=True)
    yield from _section(config.trainer, ("trainer",))
    yield from _schedules(config)
    about = _about(fields["curriculum"])
    if config.curriculum is None:
        yield Key(("curriculum",), about, None, None)
    else:
        yield Key(("curriculum",), about, is_section=True)
        yield from _section(config.curriculum, ("curriculum",))
    yield Key(("policy",), _about(fields["policy"]), is_section=True)
    for name, entry in config.policy.items():
        yield Key(("policy", name), "", is_section=True)
        yield from _section(entry, ("policy", name))
    yield Key(("saving",), _about(fields["saving"]), is_section=True)
    yield from _section(config.saving, ("saving",))


def described_params(cls: type[Environment], values: Mapping[str, Any]) -> Iterator[Key]:
    """The parameters of an environment, and the ranges that those per env are drawn from."""
    comments, limits = field_comments(cls.Params), limits_of(cls.Params)
    for field in dataclasses.fields(cls.Params):
        if field.init:
            limit = str(limits.get(field.name, ""))
            notes = [comments.get(field.name, ""), limit, "per env" if field.name in cls.per_env else ""]
            yield Key(("env", field.name), "; ".join(filter(None, notes)), values[field.name], _default_of(field))
    if cls.per_env:
        about = f"lowest and highest of what is drawn at each reset, of {', '.join(cls.per_env)}"
        yield Key(("env", RANDOMIZE), about, values[RANDOMIZE], {})


def _schedules(config: RunConfig) -> Iterator[Key]:
    about = _about(RunConfig.model_fields["schedules"])
    if not config.schedules:
        yield Key(("schedules",), about, {}, {})
        return
    yield Key(("schedules",), about, is_section=True)
    arrays = {array.name: array for array in config.make_environment().arrays()}
    for name, schedule in config.schedules.items():
        initial = arrays[name].initial
        yield Key(("schedules", name), arrays[name].doc, schedule, initial if np.isscalar(initial) else schedule)


def _section(section: BaseModel, path: KeyPath) -> Iterator[Key]:
    """The keys of a section and of those in it."""
    filled_in = {"groups": (path[1],), "algorithm": "ppo"} if path[:1] == ("policy",) and len(path) == 2 else {}
    for name, field in type(section).model_fields.items():
        key, value = (*path, name), getattr(section, name)
        if isinstance(value, BaseModel):
            yield Key(key, _about(field), is_section=True)
            yield from _section(value, key)
        else:
            default = NO_DEFAULT if field.is_required() else field.get_default()
            yield Key(key, _about(field), value, filled_in.get(name, default))
    if isinstance(section, ModelConfig):
        yield from _own_settings(section, path)


def _own_settings(model: ModelConfig, path: KeyPath) -> Iterator[Key]:
    """The settings that a model adds to those of all models."""
    constructor = model_class(model.type, needs_critic=False).__init__
    arguments, parameters = argument_docs(constructor), inspect.signature(constructor).parameters
    for name, value in model.settings.items():
        default = parameters[name].default
        missing = default is inspect.Parameter.empty
        yield Key((*path, name), arguments.get(name, ""), value, NO_DEFAULT if missing else default)


def _about(field: FieldInfo) -> str:
    return field.description or ""


def _default_of(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return NO_DEFAULT if field.default is dataclasses.MISSING else field.default


def field_comments(cls: type) -> dict[str, str]:
    """The comments behind the fields of a dataclass and its bases; none where the source is not at hand."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if "__annotations__" in vars(base):
            found |= _own_comments(base)
    return found


def _own_comments(cls: type) -> dict[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(cls))
        (declared,) = ast.parse(source).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    found: dict[str, str] = {}
    for node in declared.body if isinstance(declared, ast.ClassDef) else ():
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            text = " ".join(comments[line] for line in lines if line in comments)
            found |= {node.target.id: text} if text else {}
    return found


def argument_docs(function: Any) -> dict[str, str]:
    """The description of each argument in a Google-style docstring."""
    _, _, section = (inspect.getdoc(function) or "").partition("\nArgs:\n")
    found: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if line and not line.startswith(" "):
            break  # the next section
        entry = _ARGUMENT.match(line.strip()) if not line.startswith(" " * 8) else None
        if entry:
            name = entry[1]
            found[name] = entry[2]
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return {name: text.removesuffix(".") for name, text in found.items()}
