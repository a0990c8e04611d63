"""An environment: what its author declares in Python; and the registry of names."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warpworld.declarations import (
    DTYPES,
    MAX_THREADS_PER_ENV,
    Array,
    Group,
    Kernel,
    Phase,
    Script,
    check_identifier,
    eager_phase,
)
from warpworld.errors import DeclarationError, suggest
from warpworld.importing import class_in_file, import_named, split_file

if TYPE_CHECKING:
    from warpworld.report.drawing import Drawing

__all__ = [
    "DTYPES",
    "MAX_THREADS_PER_ENV",
    "Array",
    "Environment",
    "Group",
    "Kernel",
    "Phase",
    "Script",
    "eager_phase",
    "environment_names",
    "get_environment",
    "names_file",
    "packaged_names",
    "placed_groups",
    "register",
]


class Environment:
    """Declaration of one kind of world. Subclass it, give ``Params``, ``groups`` and ``arrays``, and ``register`` it.

    Attributes:
        name: the registered name; the class's name until it is registered.
        source: the ``.cu`` file, relative to the file of the class that names it; None for an env in Python alone.
        compile_time: Params that the kernels need as constants: each becomes the macro of its upper-case name.
        includes: headers that are put before the text of ``source``, for files that do not include what they need.
        file_params: Params that may name a file or a folder: those of a config are relative to its folder.
        params: this world's ``Params``.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str | Path | None] = None
    compile_time: ClassVar[tuple[str, ...]] = ()
    includes: ClassVar[tuple[str, ...]] = ()
    file_params: ClassVar[tuple[str, ...]] = ()

    @dataclass(frozen=True)
    class Params:
        """Constants of a world's life; fields become kernel scalars of the same name."""

    def __init_subclass__(cls) -> None:
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    def __init__(self, **params: Any) -> None:
        if not dataclasses.is_dataclass(self.Params):
            raise DeclarationError(f"{self.name}: Params is no dataclass; write @dataclass(frozen=True) above it")
        fields = [f for f in dataclasses.fields(self.Params) if f.init]
        params = {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
        known = [f.name for f in fields]
        for key in params:
            if key not in known:
                raise DeclarationError(
                    f"{self.name}: no parameter '{key}'.{suggest(key, known)} Known: {', '.join(known) or 'none'}"
                )
        for f in fields:
            if f.name not in params and f.default is f.default_factory is dataclasses.MISSING:
                raise DeclarationError(f"{self.name}: parameter '{f.name}' has no default and was not given")
            if f.name in params and not _may_be(params[f.name], f.type):
                raise DeclarationError(f"{self.name}: {f.name}={params[f.name]!r}, expected {_type_name(f.type)}")
        self.params: Any = self.Params(**params)  # of the subclass's own Params

    def groups(self) -> Sequence[Group]:
        """The env's agent groups, in the order of their agents."""
        raise DeclarationError(f"{self.name}: the class does not define groups(), which returns its agent groups")

    def arrays(self) -> Sequence[Array]:
        """The env's own arrays, besides the reserved ones."""
        return []

    def phases(self) -> Sequence[Phase | Kernel]:
        """What a step runs, in order: kernels by name, or callables ``fn(arrays, active)``."""
        return ["step"]

    def resets(self) -> Sequence[Phase | Kernel]:
        """What runs for the envs that start a new episode."""
        return ["reset"]

    def constants(self) -> Mapping[str, Any]:
        """Contents of the file's ``__constant__`` and ``__device__`` variables that kernels only read, by name."""
        return {}

    def truncations(self, num_steps: int) -> int:
        """Most time limits that one env can reach in ``num_steps`` steps; sizes the store of final observations."""
        length = getattr(self.params, "episode_length", None)
        return num_steps if not length else num_steps // length + 1

    def scripts(self) -> Mapping[str, Script]:
        """Players that learn nothing, by name: opponents in self-play, and members of leagues.

        Each is a function ``fn(arrays, group)``: ``arrays[name]`` gives the torch view of an array, of the envs in
        which it plays, and ``group`` is the Group that it plays. It returns logits (num_envs, group size, choices of
        all heads) float32 from which actions are drawn, or for a Box the actions' means, -1 and 1 being its ends. Like
        a phase it has fixed shapes, reads nothing back to the host and keeps nothing in Python.
        """
        return {}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing | None:
        """What one env looks like at one step; replays, GIFs and videos call it, training never does.

        Args:
            arrays: the env's part of each array: (num_agents, *shape) per agent, (*shape) per env or world. At the
                last step of an episode they are as they were before the reset.

        Returns:
            A ``warpworld.report.drawing.Drawing``; None shows the arrays' values in its place.
        """
        return None

    @classmethod
    def source_path(cls) -> Path | None:
        """Absolute path of the kernel file, or None."""
        if cls.source is None or Path(cls.source).is_absolute():
            return None if cls.source is None else Path(cls.source)
        owner = next(base for base in cls.__mro__ if "source" in base.__dict__)
        try:
            return Path(inspect.getfile(owner)).resolve().parent / cls.source
        except (OSError, TypeError) as error:
            raise DeclarationError(
                f"{cls.name}: source '{cls.source}' is relative, but class {owner.__name__} is in no file; "
                "give an absolute path"
            ) from error


def names_file(text: str) -> bool:
    """Whether a parameter that may be a word or a path is a path: it has a slash, or a suffix such as ``.json``."""
    return "/" in text or os.sep in text or Path(text).suffix != ""


def _type_name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _may_be(value: Any, annotation: Any) -> bool:
    """Whether a parameter's value fits its annotation, where that is a plain bool, int, float or str; else True."""
    name = _type_name(annotation)
    if name == "bool":
        return isinstance(value, bool)
    if name == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "float":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
    return isinstance(value, str) if name == "str" else True


def placed_groups(environment: Environment) -> dict[str, Group]:
    """The groups by name, each with its ``first`` agent filled in.

    Raises:
        DeclarationError: no group, a name twice, or more agents than a block has threads.
    """
    groups: dict[str, Group] = {}
    first = 0
    for group in environment.groups():
        if not isinstance(group, Group):
            raise DeclarationError(f"{environment.name}: groups() returns {group!r}, expected Group objects")
        same = next((name for name in groups if name.upper() == group.name.upper()), None)  # kernels see <NAME>_FIRST
        if same is not None:
            raise DeclarationError(f"{environment.name}: two groups are called '{group.name}'; rename one of them")
        groups[group.name] = dataclasses.replace(group, first=first)
        first += group.size
    if not groups:
        raise DeclarationError(f"{environment.name}: groups() is empty, expected at least one Group")
    if first > MAX_THREADS_PER_ENV:
        raise DeclarationError(
            f"{environment.name}: {first} agents in an env, but a block holds at most {MAX_THREADS_PER_ENV}; "
            "ask for fewer agents"
        )
    return groups


_PACKAGED = {
    name: f"warpworld.envs.{name}.{name}"
    for name in (
        *("cartpole", "deathmatch", "explorer", "point_goal"),
        *("tag_continuous", "tag_gridworld", "waypoint"),
    )
}

# name -> class, or the module that registers it when imported
_registry: dict[str, type[Environment] | str] = {**_PACKAGED}


def register(name: str) -> Callable[[type[Environment]], type[Environment]]:
    """Class decorator: make an Environment known as ``name``, in the place of an earlier one of that name.

    Raises:
        DeclarationError: the name is no identifier or one of warpworld's own, or the class is no Environment.
    """
    check_identifier("environment", name)

    def decorate(cls: type[Environment]) -> type[Environment]:
        if not (isinstance(cls, type) and issubclass(cls, Environment)):
            raise DeclarationError(f"@register('{name}') on {cls!r}, expected a subclass of warpworld.Environment")
        packaged = _PACKAGED.get(name)
        if packaged is not None and cls.__module__ != packaged:
            raise DeclarationError(f"environment '{name}' comes with warpworld ({packaged}); choose another name")
        cls.name = name
        _registry[name] = cls
        return cls

    return decorate


def environment_names() -> list[str]:
    """All registered names, sorted."""
    return sorted(_registry)


def packaged_names() -> list[str]:
    """Names of the environments that come with warpworld, sorted."""
    return sorted(_PACKAGED)


def get_environment(name: str) -> type[Environment]:
    """The Environment registered as ``name``, or named as ``module:Class``, ``path/to/file.py:Class`` or a file alone.

    Raises:
        DeclarationError: nothing of that name; the nearest one is suggested.
    """
    if not isinstance(name, str):
        raise DeclarationError(f"environment {name!r}: expected a registered name, 'module:Class' or 'file.py:Class'")
    path, class_name = split_file(name)
    if path:
        try:
            return class_in_file(path, class_name, Environment)
        except ImportError as error:
            raise DeclarationError(str(error)) from error
    if ":" in name:
        try:
            found = import_named(name)
        except ImportError as error:
            raise DeclarationError(f"environment '{name}' cannot be imported: {error}") from error
        if not (isinstance(found, type) and issubclass(found, Environment)):
            raise DeclarationError(f"environment '{name}' is not a subclass of warpworld.Environment")
        return found
    entry = _registry.get(name)
    if entry is None:
        hint = suggest(name, _registry) or _hint_at_file(name)
        raise DeclarationError(f"unknown environment '{name}'.{hint} Known: {', '.join(environment_names())}")
    if isinstance(entry, str):
        importlib.import_module(entry)
        entry = _registry[name]
    if isinstance(entry, str):
        raise DeclarationError(f"module {entry} was imported but does not register '{name}'")
    return entry


def _hint_at_file(name: str) -> str:
    """What to write instead, where ``name`` is a kernel file, a config or a folder that has a Python file beside it."""
    path = Path(name)
    if not path.name:
        return ""
    for file in (path.with_suffix(".py"), path / f"{path.name}.py"):
        if file.is_file():
            return f" An environment is named by its Python file: {file}."
    return ""
