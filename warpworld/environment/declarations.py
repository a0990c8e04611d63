"""Declarations of an environment's parts: arrays of the store, groups of agents, kernels and phases."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from gymnasium.spaces import Space

from warpworld.environment.gym_spaces import as_gymnasium
from warpworld.environment.named_actions import Heads, as_heads, check_keys, checked
from warpworld.environment.nested_spaces import own_space
from warpworld.errors import DeclarationError, suggest

DTYPES = (
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    *("float16", "float32", "float64"),
)
MAX_THREADS_PER_ENV = 1024  # what a CUDA block holds, so that what runs on a CPU also runs on a GPU
MOST_AGENTS = 0xFFFE  # of an env: random numbers know an agent by 16 bits, and two numbers of them are the env's own

Per = Literal["agent", "env", "world"]
OnReset = Literal["kernel", "initial", "keep"]
Metric = Literal["mean", "sum", "last"]
METRICS: tuple[Metric, ...] = get_args(Metric)  # in the order of Metric in metrics.cu
METRIC_DTYPES = ("bool", "int32", "float32")
Phase = str | Callable[..., None]
Probabilities = Callable[[Any, np.ndarray], np.ndarray]  # from observations and masks to a number for each choice

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def check_identifier(kind: str, name: str) -> None:
    """Refuse a name that kernels or the command line could not use.

    Raises:
        DeclarationError: with the kind of thing and the name.
    """
    if not isinstance(name, str) or not _IDENTIFIER.match(name):
        raise DeclarationError(f"{kind} name {name!r}: expected letters, digits and underscores, a letter first")


def check_names(environment: str, attribute: str, names: Any) -> None:
    """Refuse anything but a tuple of names: a text without the comma would be read letter by letter.

    Raises:
        DeclarationError: with an example.
    """
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        example = repr(names) if isinstance(names, str) else "'name'"
        raise DeclarationError(f"{environment}: {attribute}={names!r}, expected a tuple of names, as in ({example},)")


def _is_count(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 1)


def _are_bounds(bounds: Any) -> bool:
    try:
        low, high = bounds
        return bool(float(low) <= float(high))
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True, eq=False)
class Array:
    """A named, typed block of the store, updated in place.

    Attributes:
        name: its name in kernels.
        dtype: one of ``DTYPES``.
        shape: shape of one entry, after the dimensions that ``per`` gives.
        per: "agent" (num_envs, num_agents, *shape), "env" (num_envs, *shape) or "world" (*shape).
        initial: a number, or an array that broadcasts to the full shape; without it the contents are undefined
            until written.
        bounds: lowest and highest legal value.
        read_only: kernels must take it as a pointer to const.
        on_reset: who restores an ended env's part: the reset kernel, a copy of ``initial``, or neither.
        doc: its meaning, with units.
        metric: log a number for each episode: the "mean" or the "sum" of its steps, or the "last" value, before the
            reset; True and False count as 1 and 0.
        scratch: the contents mean nothing between launches: the threads of an env share them within a kernel, and may
            leave them in any order. Snapshots, checkpoints and states leave the array out, and comparisons of two
            worlds or of a CUDA graph do not look at it.
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
    metric: Metric | None = None
    scratch: bool = False

    def __post_init__(self) -> None:
        check_identifier("array", self.name)
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
        if not isinstance(self.shape, (tuple, list)) or not all(_is_count(n) for n in self.shape):
            raise DeclarationError(f"{where}: shape {self.shape!r}, expected a tuple of whole numbers of at least 1")
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        if self.bounds is not None and not _are_bounds(self.bounds):
            raise DeclarationError(f"{where}: bounds {self.bounds!r}, expected (lowest, highest)")
        if self.metric is not None:
            self._check_metric(where)
        if self.scratch is not False:
            self._check_scratch(where)

    def _check_scratch(self, where: str) -> None:
        if self.scratch is not True:
            raise DeclarationError(f"{where}: scratch={self.scratch!r}, expected True or False")
        given = {
            "initial": self.initial is not None,
            "metric": self.metric is not None,
            "read_only": self.read_only,
            "on_reset": self.on_reset != "kernel",
        }
        for name in (name for name, is_given in given.items() if is_given):
            raise DeclarationError(
                f"{where}: {name}={getattr(self, name)!r} with scratch=True, whose contents mean nothing between "
                f"launches; remove {name}, or declare it without scratch"
            )

    def _check_metric(self, where: str) -> None:
        if self.metric not in METRICS:
            hint = suggest(str(self.metric), METRICS)
            raise DeclarationError(f"{where}: metric={self.metric!r}, expected 'mean', 'sum' or 'last'.{hint}")
        if self.per == "world":
            raise DeclarationError(f"{where}: a metric is per agent or per env, this is per world")
        if self.shape != ():
            raise DeclarationError(f"{where}: a metric is one number per {self.per}, this has shape {self.shape}")
        if self.dtype not in METRIC_DTYPES:
            known = ", ".join(METRIC_DTYPES)
            raise DeclarationError(f"{where}: a metric is one of {known}, this is {self.dtype}")

    def full_shape(self, num_envs: int, num_agents: int) -> tuple[int, ...]:
        """Shape of the whole array in a world of ``num_envs`` envs with ``num_agents`` agents each."""
        lead = {"agent": (num_envs, num_agents), "env": (num_envs,), "world": ()}[self.per]
        return (*lead, *self.shape)


@dataclass(frozen=True)
class Group:
    """Agents that share a policy, an observation space and an action space.

    Attributes:
        name: the group's name; kernels see ``<NAME>_FIRST`` and ``<NAME>_COUNT``, and ``<NAME>_STRIDE`` where a group
            declares ``agents``.
        size: agents in it.
        observation: space of one agent's observation: a Box of float32, float16 or uint8, a Discrete or MultiDiscrete
            (int32 in the store), a MultiBinary (bool in the store), or a Dict of such.
        action: space of one agent's action: a Discrete, MultiDiscrete or MultiBinary (int32 in the store, each number
            counted from 0 whatever the space's ``start``), a Box of float32, or a Dict or Tuple of such, each part of
            which has an array of its own: ``actions_<key>``. In the store parts are flat.
        first: index of its first agent in the env; set by the library.
        critic_input: name of an array of the environment, float32 per agent or per env, that the critic of the group's
            policy reads; None for what the agents observe.
        own_arrays: whether it has ``observations_<name>`` and ``actions_<name>`` whatever the other groups see and do,
            so that kernels can rely on these names while sizes change. If one group asks for it, all have such arrays.
            False shares ``observations`` where all groups' have one layout, and ``actions`` likewise.
        library_action: space in which another library takes the actions, where it differs from ``action``: the space of
            what policies return and adapters show. None for ``action`` itself.
        agents: numbers of its agents in the env, such as ``range(0, 8, 2)`` for every other one of eight; None
            continues behind the groups before. If one group declares them, all have arrays of their own, as by
            ``own_arrays``.
        action_names: a name for each choice of a Discrete, which replays, traces and ``warpworld play`` show; for each
            component of a MultiDiscrete or MultiBinary a tuple of such; for each number of a Box the names of its
            lowest and its highest value. None shows numbers.
        action_keys: keys of a keyboard that stand for the names, one for one: "a", "7", "left", "right", "up", "down",
            "space", or "up+space" for keys held together; "" for none. The first choice without a key is taken while
            no key is held; without such a choice the game waits for a key. None leaves the keys to
            ``warpworld play``.
        greedy_actions: name of an array of the environment, int32 per agent in the layout of an action. Players who
            explore by values write the action that they value most into it, beside the one that they take. It stays as
            it is where no such player acts. None for no array.

    Spaces of the old gym package are turned into gymnasium's. A group owns copies of its spaces, with generators of
    their own.
    """

    name: str
    size: int
    observation: Space
    action: Space
    first: int = 0
    critic_input: str | None = None
    own_arrays: bool = False
    agents: range | None = None
    library_action: Space | None = None
    action_names: tuple[str, ...] | Heads | None = None
    action_keys: tuple[str, ...] | Heads | None = None
    greedy_actions: str | None = None

    def __post_init__(self) -> None:
        check_identifier("group", self.name)
        if not isinstance(self.own_arrays, bool):
            raise DeclarationError(f"group '{self.name}': own_arrays={self.own_arrays!r}, expected True or False")
        if not _is_count(self.size):
            raise DeclarationError(f"group '{self.name}': size {self.size!r}, expected a whole number of at least 1")
        if self.agents is not None:
            self._check_agents(self.agents)
        for kind in ("observation", "action"):
            space = as_gymnasium(getattr(self, kind))
            if not isinstance(space, Space):
                raise DeclarationError(f"group '{self.name}': {kind} is {space!r}, expected a gymnasium space")
            object.__setattr__(self, kind, own_space(space))
        self._check_named_actions()

    def _check_named_actions(self) -> None:
        where, names, keys = f"group '{self.name}'", self.action_names, self.action_keys
        if names is not None:
            object.__setattr__(self, "action_names", checked(where, "action_names", self.action, names))
        if keys is None:
            return
        object.__setattr__(self, "action_keys", checked(where, "action_keys", self.action, keys))
        if names is None:
            raise DeclarationError(f"{where}: action_keys without action_names, expected names of the choices, too")
        check_keys(where, *(as_heads(self.action, given) for given in (self.action_names, self.action_keys)))

    def _check_agents(self, agents: object) -> None:
        if not isinstance(agents, range) or agents.step < 1 or agents.start < 0:
            raise DeclarationError(
                f"group '{self.name}': agents={agents!r}, expected a range of agents' numbers in ascending order, such "
                "as range(0, 8, 2)"
            )
        if len(agents) != self.size:
            raise DeclarationError(
                f"group '{self.name}': agents={agents!r} are {len(agents)} agents, expected as many as its size, "
                f"{self.size}"
            )

    @property
    def callers_action(self) -> Space:
        """The space of actions outside of the store."""
        return self.action if self.library_action is None else self.library_action

    @property
    def stride(self) -> int:
        """Step from the number of one of its agents to that of the next."""
        return 1 if self.agents is None else self.agents.step

    @property
    def numbers(self) -> range:
        """Numbers of its agents in the env."""
        return range(self.first, self.first + self.size * self.stride, self.stride)

    @property
    def slice(self) -> slice:
        """The group's agents within an env's agent dimension."""
        return slice(self.first, self.numbers[-1] + 1, None if self.stride == 1 else self.stride)


@dataclass(frozen=True)
class Kernel:
    """A kernel that differs from the default: one thread per agent, its own env only, parameters bound by name.

    Attributes:
        name: the ``__global__`` function.
        threads_per_env: threads of a block; None means one per agent. Two numbers are the fewest and the most of a
            kernel that works with any number of threads, because its loops run from lane() in steps of num_lanes(). It
            gets the most if threads run in parallel, and the fewest if they take turns.
        own_env_only: False if it reads or writes other envs' parts; it then gets a launch of its own.
        arguments: what its parameters are bound to: a mapping of those that have another name, or a tuple of all in
            their order. An entry is the name of an array, of a Params field or of a world constant, or a number. Such
            a parameter may take a read-only array as a pointer without const; ``warpworld check`` reports writes.
    """

    name: str
    threads_per_env: int | tuple[int, int] | None = None
    own_env_only: bool = True
    arguments: tuple[str | int | float, ...] | Mapping[str, str | int | float] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        check_identifier("kernel", self.name)
        # number of threads, or fewest and most
        threads = self.threads_per_env
        numbers = threads if isinstance(threads, tuple) else (threads, threads)
        legal = len(numbers) == 2 and all(_is_count(number) for number in numbers)
        if threads is not None and not (legal and numbers[0] <= numbers[1] <= MAX_THREADS_PER_ENV):  # type: ignore[operator]
            raise DeclarationError(
                f"kernel '{self.name}': threads_per_env={threads!r}, expected 1 to {MAX_THREADS_PER_ENV} "
                "(a CUDA block), or the fewest and the most of them"
            )
        # arguments by name, or in order
        if isinstance(self.arguments, Mapping):
            named = {str(name): self._argument(entry) for name, entry in self.arguments.items()}
            object.__setattr__(self, "arguments", named)
        elif self.arguments is not None:
            object.__setattr__(self, "arguments", tuple(map(self._argument, _as_list(self.name, self.arguments))))

    def threads(self, num_agents: int, side_by_side: bool, packed: bool = False) -> int:
        """Number of threads of an env.

        Args:
            num_agents: of the env.
            side_by_side: whether they run at the same time, or take turns.
            packed: whether envs are to share a warp, for which it takes one thread an agent.
        """
        if not isinstance(self.threads_per_env, tuple):
            return self.threads_per_env or num_agents
        fewest, most = self.threads_per_env
        if packed and fewest <= num_agents <= most:
            return num_agents
        return most if side_by_side else fewest

    def _argument(self, given: Any) -> str | int | float:
        plain = given.item() if isinstance(given, np.generic) else given
        if not isinstance(plain, (str, int, float)):
            raise DeclarationError(
                f"kernel '{self.name}': arguments has {given!r}; expected the name of an array or a parameter, or a "
                "number"
            )
        return plain


def _as_list(kernel: str, arguments: Any) -> list[Any]:
    if isinstance(arguments, str) or not isinstance(arguments, Sequence):
        raise DeclarationError(
            f"kernel '{kernel}': arguments={arguments!r}, expected a tuple, one entry per parameter, or a "
            "mapping of parameters to entries"
        )
    return list(arguments)


# A kernel that writes logits, or a function from torch views to a tensor of them.
Script = str | Kernel | Callable[[Any, Group], Any]


def script_kernel(script: Script) -> Kernel | None:
    """The kernel that a script is; None of a function."""
    return Kernel(script) if isinstance(script, str) else script if isinstance(script, Kernel) else None


def eager_phase(phase: Callable[..., None]) -> Callable[..., None]:
    """Mark a Python phase that cannot be captured (dynamic shapes, host reads); the world then runs uncaptured."""
    phase.__dict__["eager"] = True
    return phase


def masked_phase(phase: Callable[..., None]) -> Callable[..., None]:
    """Mark a Python phase that changes only envs whose ``active`` is true, so that steps may leave others out."""
    phase.__dict__["masked"] = True
    return phase
