"""What an env author declares in Python: arrays, agent groups, kernels, parameters; and the registry of names."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium.spaces import Space

from warpworld.errors import DeclarationError, suggest

DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64")
MAX_THREADS_PER_ENV = 1024  # what a CUDA block holds, so that what runs on a CPU also runs on a GPU

Per = Literal["agent", "env", "world"]
OnReset = Literal["kernel", "initial", "keep"]
Phase = str | Callable[..., None]

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def _check_identifier(kind: str, name: str) -> None:
    if not isinstance(name, str) or not _IDENTIFIER.match(name):
        raise DeclarationError(f"{kind} name {name!r}: expected letters, digits and underscores, a letter first")


@dataclass(frozen=True, eq=False)
class Array:
    """A named, typed block of the store, updated in place.

    Attributes:
        name: what kernels call it.
        dtype: one of ``DTYPES``.
        shape: shape of one entry, behind the dimensions that ``per`` gives.
        per: "agent" (num_envs, num_agents, *shape), "env" (num_envs, *shape) or "world" (*shape).
        initial: a number, or an array that broadcasts to the full shape; without it the contents are undefined
            until written.
        bounds: lowest and highest legal value.
        read_only: kernels must take it as a pointer to const.
        on_reset: who restores an ended env's part: the reset kernel, a copy of ``initial``, or nobody.
        doc: what it holds, with units.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    per: Per = "agent"
    initial: Any = None
    bounds: tuple[float, float] | None = None
    read_only: bool = False
    on_reset: OnReset = "kernel"
    doc: str = ""

    def __post_init__(self) -> None:
        _check_identifier("array", self.name)
        where = f"array '{self.name}'"
        if self.dtype not in DTYPES:
            raise DeclarationError(
                f"{where}: dtype {self.dtype!r} is not one of {', '.join(DTYPES)}.{suggest(str(self.dtype), DTYPES)}"
            )
        if self.per not in ("agent", "env", "world"):
            raise DeclarationError(f"{where}: per={self.per!r}, expected 'agent', 'env' or 'world'")
        if self.on_reset not in ("kernel", "initial", "keep"):
            raise DeclarationError(f"{where}: on_reset={self.on_reset!r}, expected 'kernel', 'initial' or 'keep'")
        if self.on_reset == "initial" and self.initial is None:
            raise DeclarationError(f"{where}: on_reset='initial' needs an initial value")
        if any(not isinstance(n, (int, np.integer)) or n < 1 for n in self.shape):
            raise DeclarationError(f"{where}: shape {self.shape!r}, expected whole numbers of at least 1")

    def full_shape(self, num_envs: int, num_agents: int) -> tuple[int, ...]:
        """Shape of the whole array in a world of ``num_envs`` envs with ``num_agents`` agents each."""
        lead = {"agent": (num_envs, num_agents), "env": (num_envs,), "world": ()}[self.per]
        return (*lead, *self.shape)


@dataclass(frozen=True)
class Group:
    """A contiguous range of agents that share a policy, an observation space and an action space.

    Attributes:
        name: the group's name; kernels see ``<NAME>_FIRST`` and ``<NAME>_COUNT``.
        size: agents in it.
        observation: space of one agent's observation.
        action: space of one agent's action.
        first: index of its first agent in the env; set by the library.
    """

    name: str
    size: int
    observation: Space
    action: Space
    first: int = 0

    def __post_init__(self) -> None:
        _check_identifier("group", self.name)
        if not isinstance(self.size, (int, np.integer)) or self.size < 1:
            raise DeclarationError(f"group '{self.name}': size {self.size!r}, expected a whole number of at least 1")

    @property
    def slice(self) -> slice:
        """The group's agents within an env's agent dimension."""
        return slice(self.first, self.first + self.size)


@dataclass(frozen=True)
class Kernel:
    """A kernel that departs from the rule of one thread per agent, or that touches other envs.

    Attributes:
        name: the ``__global__`` function.
        threads_per_env: threads of a block; None means one per agent.
        own_env_only: False if it reads or writes other envs' parts; it then gets a launch of its own.
    """

    name: str
    threads_per_env: int | None = None
    own_env_only: bool = True

    def __post_init__(self) -> None:
        threads = self.threads_per_env
        if threads is not None and not 1 <= threads <= MAX_THREADS_PER_ENV:
            raise DeclarationError(
                f"kernel '{self.name}': threads_per_env={threads}, expected 1 to {MAX_THREADS_PER_ENV} (a CUDA block)"
            )


def eager_phase(phase: Callable[..., None]) -> Callable[..., None]:
    """Mark a Python phase that cannot be captured (dynamic shapes, host reads); the world then runs uncaptured."""
    phase.__dict__["eager"] = True
    return phase


class Environment:
    """Declaration of one kind of world. Subclass it, give ``Params``, ``groups`` and ``arrays``, and ``register`` it.

    Attributes:
        name: the registered name.
        source: the ``.cu`` file, relative to the file of the class; None for an env written in Python phases alone.
        compile_time: Params that the kernels need as constants: each becomes the macro of its upper-case name.
        params: this world's ``Params``.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str | None] = None
    compile_time: ClassVar[tuple[str, ...]] = ()

    @dataclass(frozen=True)
    class Params:
        """Constants of a world's life; fields become kernel scalars of the same name."""

    def __init__(self, **params: Any) -> None:
        known = [f.name for f in dataclasses.fields(self.Params)]
        for key in params:
            if key not in known:
                raise DeclarationError(f"{self.name}: no parameter '{key}'.{suggest(key, known)} Known: {', '.join(known)}")
        self.params = self.Params(**params)

    def groups(self) -> Sequence[Group]:
        """The env's agent groups, in the order of their agents."""
        raise NotImplementedError

    def arrays(self) -> Sequence[Array]:
        """The env's own arrays, besides the reserved ones."""
        return []

    def phases(self) -> Sequence[Phase | Kernel]:
        """What a step runs, in order: kernels by name, or callables ``fn(arrays, active)``."""
        return ["step"]

    def resets(self) -> Sequence[Phase | Kernel]:
        """What runs for the envs that start a new episode."""
        return ["reset"]

    def truncations(self, num_steps: int) -> int:
        """Most time limits that one env can reach in ``num_steps`` steps; sizes the store of final observations."""
        length = getattr(self.params, "episode_length", None)
        return num_steps if not length else num_steps // length + 1

    @classmethod
    def source_path(cls) -> Path | None:
        """Absolute path of the kernel file, or None."""
        return None if cls.source is None else Path(inspect.getfile(cls)).resolve().parent / cls.source


def placed_groups(environment: Environment) -> dict[str, Group]:
    """The groups by name, each with its ``first`` agent filled in.

    Raises:
        DeclarationError: no group, a name twice, or more agents than a block has threads.
    """
    groups: dict[str, Group] = {}
    first = 0
    for group in environment.groups():
        if group.name in groups:
            raise DeclarationError(f"{environment.name}: two groups are called '{group.name}'")
        groups[group.name] = dataclasses.replace(group, first=first)
        first += group.size
    if not groups:
        raise DeclarationError(f"{environment.name}: groups() is empty, expected at least one Group")
    if first > MAX_THREADS_PER_ENV:
        raise DeclarationError(
            f"{environment.name}: {first} agents in an env, but a block holds at most {MAX_THREADS_PER_ENV}: ask for fewer agents"
        )
    return groups


# name -> class, or the module that registers it when imported
_registry: dict[str, type[Environment] | str] = {
    "cartpole": "warpworld.envs.cartpole.cartpole",
    "tag_continuous": "warpworld.envs.tag_continuous.tag_continuous",
    "tag_gridworld": "warpworld.envs.tag_gridworld.tag_gridworld",
}


def register(name: str) -> Callable[[type[Environment]], type[Environment]]:
    """Class decorator: make an Environment known as ``name``."""
    _check_identifier("environment", name)

    def decorate(cls: type[Environment]) -> type[Environment]:
        cls.name = name
        _registry[name] = cls
        return cls

    return decorate


def environment_names() -> list[str]:
    """All registered names, sorted."""
    return sorted(_registry)


def get_environment(name: str) -> type[Environment]:
    """The Environment registered as ``name``, or named as ``module:Class``.

    Raises:
        DeclarationError: nothing of that name; the nearest one is suggested.
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise DeclarationError(f"environment '{name}' cannot be imported: {error}") from error
        if not (isinstance(found, type) and issubclass(found, Environment)):
            raise DeclarationError(f"environment '{name}' is not a subclass of warpworld.Environment")
        found.name = found.name or attribute
        return found
    entry = _registry.get(name)
    if entry is None:
        raise DeclarationError(
            f"unknown environment '{name}'.{suggest(name, _registry)} Known: {', '.join(environment_names())}"
        )
    if isinstance(entry, str):
        importlib.import_module(entry)
        entry = _registry[name]
    if isinstance(entry, str):
        raise DeclarationError(f"module {entry} was imported but does not register '{name}'")
    return entry
