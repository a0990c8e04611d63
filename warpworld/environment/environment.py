"""An environment: what its author declares in Python."""

from __future__ import annotations

import dataclasses
import inspect
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium.spaces import Box

from warpworld.environment.declarations import (
    Array,
    Group,
    Kernel,
    Phase,
    Probabilities,
    Script,
    script_kernel,
)
from warpworld.environment.greedy_actions import check_greedy_actions
from warpworld.environment.host_code import HostCode as HostCode
from warpworld.environment.host_code import allowed_device, host_code_of
from warpworld.environment.params import made_params
from warpworld.environment.per_env import checked_ranges, split_values, try_ends
from warpworld.errors import DeclarationError, suggest

if TYPE_CHECKING:
    from warpworld.drawing import Drawing


class Environment:
    """Declaration of one kind of world. Subclass it, give ``Params``, ``groups`` and ``arrays``, and ``register`` it.

    Attributes:
        name: the registered name; the class's name until it is registered.
        source: the ``.cu`` file, relative to the file of the class that names it; None for an env in Python alone.
        compile_time: Params that the kernels need as constants: each becomes the macro of its upper-case name.
        per_env: Params, int, float or bool, of which each env has a value of its own: each becomes an array of its name
            per env, which kernels read and resets keep.
        infos: arrays per agent or per env, its own or the world's, that adapters report as infos.
        includes: headers to put before the text of ``source``, for files that do not include what they need.
        file_params: Params that may name a file or a folder: those of a config are relative to its folder.
        resumable: whether the whole state of an env can be taken and written back, so that a run resumes exactly.
        why_not_resumable: the reason in words, where ``resumable`` is False and there is one.
        outside_bytes: 0, or the most bytes of an env's state that ``save_envs`` takes from outside of the store.
        devices: ("cpu", "cuda"), or ("cpu",) for a file of C++ that only a CPU can run: with exceptions, the C++
            library, and headers and libraries of others.
        resident_bytes: 0, or the most bytes that ``save`` of an env's object writes, where the file names a class whose
            objects hold the state of its envs, see ``<resident.hpp>``.
        include_folders: folders in which such a file's ``#include`` looks, relative to the file of the class.
        link_flags: words for the linker of such a file, such as "-lz".
        requested: arrays on request that Python phases write, such as "agent_mask"; kernels ask for theirs by taking
            them as parameters.
        parts: ranges of envs whose steps may begin one after the other, each when its actions are known, see
            ``begin_part``; ``open`` settles them. Empty where all envs step at once.
        params: this world's ``Params``; those in ``per_env`` that are given for each env keep their default here.
        per_env_values: those that are given for each env, by name: one number for each.
        randomize: the ranges from which those in ``per_env`` are drawn anew at each reset, by name: lowest and highest.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str | Path | None] = None
    compile_time: ClassVar[tuple[str, ...]] = ()
    per_env: ClassVar[tuple[str, ...]] = ()
    infos: ClassVar[tuple[str, ...]] = ()
    includes: ClassVar[tuple[str, ...]] = ()
    file_params: ClassVar[tuple[str, ...]] = ()
    resumable: bool = True
    why_not_resumable: str = ""
    outside_bytes: int = 0
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")
    resident_bytes: ClassVar[int] = 0
    include_folders: ClassVar[tuple[str | Path, ...]] = ()
    link_flags: ClassVar[tuple[str, ...]] = ()
    requested: Sequence[str] = ()
    parts: Sequence[slice] = ()

    @dataclass(frozen=True)
    class Params:
        """Constants of a world's life; fields become kernel scalars of the same name."""

    def __init_subclass__(cls) -> None:
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    def __init__(self, *, randomize: Mapping[str, Any] | None = None, **params: Any) -> None:
        cls = type(self)
        plain, self.per_env_values = split_values(cls, params)
        self.params: Any = made_params(self.name, self.Params, plain)  # of the subclass's own Params
        self.randomize = checked_ranges(cls, {} if randomize is None else randomize, self.per_env_values)
        ends = {name: (values.min().item(), values.max().item()) for name, values in self.per_env_values.items()}
        try_ends(cls, plain, {**ends, **self.randomize})

    def open(self, num_envs: int, first_env: int, seed: int) -> None:
        """Called once, before the first phase: for environments that keep something outside of the store.

        Args:
            num_envs: envs of the world.
            first_env: global index of the first of them.
            seed: of the world.
        """

    def close(self) -> None:
        """Called by ``World.close``: release what ``open`` made."""

    @property
    def draws_outside(self) -> bool:
        """Whether random numbers of envs are drawn outside of the store, so that ``World.reset`` gives them no seed."""
        return not self.resumable or self.outside_bytes > 0

    def save_envs(self, envs: Sequence[int]) -> list[bytes]:
        """Take what envs keep outside of the store, where ``outside_bytes`` says that they do.

        Args:
            envs: their indices.

        Returns:
            A state of each; empty before the first reset.

        Raises:
            StoreError: the state of one cannot be taken; names it.
        """
        raise DeclarationError(f"{self.name}: outside_bytes={self.outside_bytes}, but the class has no save_envs()")

    def load_envs(self, envs: Sequence[int], states: Sequence[bytes]) -> None:
        """Put back what ``save_envs`` has taken, of these envs or of others.

        Args:
            envs: indices.
            states: one for each of them.

        Raises:
            StoreError: a state is of other envs or of another version, or damaged; names the env.
        """
        raise DeclarationError(f"{self.name}: outside_bytes={self.outside_bytes}, but the class has no load_envs()")

    def begin_part(self, arrays: Any, number: int) -> None:
        """Begin the step of one of ``parts``, whose actions are in the store; the phases complete it.

        Args:
            arrays: as a phase's.
            number: of the part.
        """

    def groups(self) -> Sequence[Group]:
        """The env's agent groups, in the order of their agents."""
        raise DeclarationError(f"{self.name}: the class does not define groups(), which returns its agent groups")

    def arrays(self) -> Sequence[Array]:
        """The env's own arrays, besides the reserved ones."""
        return []

    def phases(self) -> Sequence[Phase | Kernel]:
        """Phases of a step, in order: kernels by name, or callables ``fn(arrays, active)``."""
        return ["step"]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Phases of a reset, for the envs that start a new episode."""
        return ["reset"]

    def constants(self) -> Mapping[str, Any]:
        """Contents of the file's ``__constant__`` and ``__device__`` variables that kernels only read, by name."""
        return {}

    def truncations(self, num_steps: int) -> int:
        """Most time limits that one env can reach in ``num_steps`` steps; sizes the store of final observations."""
        length = None if "episode_length" in self.per_env else getattr(self.params, "episode_length", None)
        return num_steps if not length else num_steps // length + 1

    def scripts(self) -> Mapping[str, Script]:
        """Players that do not learn, by name: opponents in self-play, and members of leagues.

        Each gives an agent logits of the choices of all heads, from which its action is drawn, or for a Box the
        action's means, -1 and 1 being its ends; for a Dict or Tuple the logits of all choices, and behind them the
        means of all Boxes. It is one of two:

        - a kernel of the source file, by its name or as a Kernel. It takes ``Played`` of ``<script.cuh>`` besides its
          other parameters, and writes what ``outputs_of`` points at for the agents that it ``plays``. It changes
          nothing else, and draws no random numbers. One launch serves all envs in which it plays a group.
        - a function ``fn(arrays, group)``: ``arrays[name]`` gives the torch view of an array, of the envs in which it
          plays, and ``group`` is the Group that it plays. It returns (num_envs, group size, outputs) float32. Like a
          phase it has fixed shapes, reads nothing back to the host and keeps no state in Python.
        """
        return {}

    def measure(self, probabilities: Mapping[str, Probabilities]) -> Mapping[str, float]:
        """Compute numbers from the policies themselves rather than from episodes, such as how much they can lose.

        Evaluations during training log them as ``eval/<name>``, and ``warpworld eval`` prints them. They are left out
        where a policy has a memory or actions in a Box, as what it does does not follow from one observation, or is no
        choice.

        Args:
            probabilities: for each group, by name, how its policy chooses: a function ``fn(observations, masks)`` of n
                observations of the group's space, (n, *shape), a dict of such for a Dict, and of (n, choices of all
                heads) bool, True where legal. It returns (n, choices) float64; those of each head sum to 1.

        Returns:
            Finite numbers by name, always of the same names.
        """
        return {}

    def state_of(self, group: str, observations: Any) -> Mapping[str, np.ndarray]:
        """State of envs in which a group's agents see this, so that a policy that searches can be measured.

        Args:
            group: name of the group.
            observations: n of its space, as ``measure`` gives them to its functions.

        Returns:
            By name (n, *shape) each, arrays of envs that a search depends on, besides ``action_mask`` and what agents
            see; nothing where it does not follow from observations. Such policies are then not measured.
        """
        return {}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing | None:
        """Draw one env at one step; replays, GIFs and videos call it, training never does.

        Args:
            arrays: the env's part of each array: (num_agents, *shape) per agent, (*shape) per env or world. At the
                last step of an episode they are as they were before the reset.

        Returns:
            A ``warpworld.drawing.Drawing``, or None to show the arrays' values instead.
        """
        return None

    def draw_for(self, arrays: Mapping[str, np.ndarray], agent: int) -> Drawing | None:
        """Draw one env for a person who plays an agent: ``draw``, but for what the agent must not know.

        Args:
            arrays: as of ``draw``.
            agent: the agent's number.

        Returns:
            As ``draw``.
        """
        return self.draw(arrays)

    def draw_sight(self, arrays: Mapping[str, np.ndarray], agent: int) -> Drawing | None:
        """Draw what one agent sees, for people who play it: a camera's picture, beside that of ``draw``.

        Args:
            arrays: as of ``draw``.
            agent: the agent's number.

        Returns:
            A ``warpworld.drawing.Drawing``, or None where ``draw`` shows all that there is to see.
        """
        return None

    @classmethod
    def source_path(cls) -> Path | None:
        """Absolute path of the kernel file, or None.

        Raises:
            DeclarationError: ``source`` is no path, or is relative to nothing.
        """
        if cls.source is None:
            return None
        if not isinstance(cls.source, (str, os.PathLike)):
            raise DeclarationError(
                f"{cls.name}: source is a {type(cls.source).__name__}, expected a path or text that the class holds "
                "for all parameters; let a constant choose among kernels"
            )
        if Path(cls.source).is_absolute():
            return Path(cls.source)
        owner = next(base for base in cls.__mro__ if "source" in base.__dict__)
        try:
            return Path(inspect.getfile(owner)).resolve().parent / cls.source
        except (OSError, TypeError) as error:
            raise DeclarationError(
                f"{cls.name}: source '{cls.source}' is relative, but class {owner.__name__} is not in a file; "
                "give an absolute path"
            ) from error

    @classmethod
    def host_code(cls) -> HostCode | None:
        """Settings of a file that only a CPU can run, None for one that runs on every device; see ``host_code_of``."""
        return host_code_of(cls)

    @classmethod
    def allowed_device(cls, device: str) -> str:
        """Name of the device where ``device`` is asked for; see the function of this name in ``host_code``."""
        return allowed_device(cls, device)


def names_file(text: str) -> bool:
    """Whether a parameter that may be a word or a path is a path: it has a slash, or a suffix such as ``.json``."""
    return "/" in text or os.sep in text or Path(text).suffix != ""


def script_kernels(environment: Environment) -> list[Kernel]:
    """The kernels among an environment's scripts.

    Raises:
        DeclarationError: a script is neither a kernel nor a function, or there is no file that could have the kernel.
    """
    found = []
    for name, script in environment.scripts().items():
        kernel, where = script_kernel(script), f"{environment.name}: script '{name}'"
        if kernel is None and not callable(script):
            raise DeclarationError(f"{where} is {script!r}, expected a kernel's name, a Kernel or a function")
        if kernel is not None and environment.source_path() is None:
            raise DeclarationError(f"{where} is the kernel '{kernel.name}', but the class has no `source` file")
        if kernel is not None and not isinstance(kernel.arguments, (Mapping, type(None))):
            raise DeclarationError(
                f"{where} lists the arguments of its kernel '{kernel.name}' in order, expected a mapping, as the world "
                "binds who is played by name"
            )
        found += [] if kernel is None else [kernel]
    return found


def critic_space(environment: Environment, group: Group) -> Box | None:
    """Space of the input of a group's critic; None if it reads what the agents observe.

    Raises:
        DeclarationError: the group names no array of the environment, or one that no critic can read.
    """
    if group.critic_input is None:
        return None
    # an array of the environment
    arrays = {array.name: array for array in environment.arrays()}
    where = f"{environment.name}: group '{group.name}' has critic_input='{group.critic_input}'"
    array = arrays.get(group.critic_input)
    if array is None:
        raise DeclarationError(f"{where}, which is not an array of it.{suggest(group.critic_input, arrays)}")
    # an array that a critic can read
    if array.dtype != "float32" or array.per == "world":
        raise DeclarationError(
            f"{where}, an array of {array.dtype} per {array.per}, expected float32 per agent or per env"
        )
    if array.scratch:
        raise DeclarationError(
            f"{where}, which is scratch, so its contents mean nothing between launches; declare it without scratch=True"
        )
    return Box(-math.inf, math.inf, array.shape, np.float32)


def state_space(environment: Environment, group: Group) -> Box | None:
    """The state of a group's agents together, as the environment declares it: what their critics read; None without.

    Of an array per agent it is the parts of all of them, (size, *shape).

    Raises:
        DeclarationError: as of ``critic_space``.
    """
    read = critic_space(environment, group)
    if read is None:
        return None
    array = next(array for array in environment.arrays() if array.name == group.critic_input)
    lead = (group.size,) if array.per == "agent" else ()
    return Box(-math.inf, math.inf, (*lead, *read.shape), np.float32)


def placed_groups(environment: Environment) -> dict[str, Group]:
    """The groups by name, each with its ``first`` agent filled in.

    Raises:
        DeclarationError: no group, or a name twice.
    """
    groups: dict[str, Group] = {}
    first = 0
    # groups as declared
    declared = environment.groups()
    if not isinstance(declared, Iterable):
        raise DeclarationError(f"{environment.name}: groups() returns {declared!r}, expected a list of Group objects")
    # each with its first agent, under a name of its own
    for group in declared:
        if not isinstance(group, Group):
            raise DeclarationError(f"{environment.name}: groups() returns {group!r}, expected Group objects")
        same = next((name for name in groups if name.upper() == group.name.upper()), None)  # kernels see <NAME>_FIRST
        if same is not None:
            raise DeclarationError(f"{environment.name}: two groups are called '{group.name}'; rename one of them")
        first_of_group = first if group.agents is None else group.agents.start
        groups[group.name] = dataclasses.replace(group, first=first_of_group)
        critic_space(environment, group)
        if group.greedy_actions is not None:
            check_greedy_actions(environment.name, group, environment.arrays())
        first += group.size
    # every agent in one group
    if not groups:
        raise DeclarationError(f"{environment.name}: groups() is empty, expected at least one Group")
    _check_numbers(environment, groups)
    return groups


def _check_numbers(environment: Environment, groups: Mapping[str, Group]) -> None:
    """Check that every agent is in one group, and in one only.

    Raises:
        DeclarationError: one is in two groups, or in none.
    """
    num_agents, groups_of = sum(group.size for group in groups.values()), dict[int, str]()
    for group in groups.values():
        for agent in group.numbers:
            if agent in groups_of:
                raise DeclarationError(
                    f"{environment.name}: agent {agent} is in groups '{groups_of[agent]}' and '{group.name}', expected "
                    "it in one; change their agents"
                )
            groups_of[agent] = group.name
    missing = next((agent for agent in range(num_agents) if agent not in groups_of), None)
    if missing is not None:
        raise DeclarationError(
            f"{environment.name}: agent {missing} of {num_agents} is in no group, but agent {max(groups_of)} is in "
            f"'{groups_of[max(groups_of)]}'; let the groups' agents be 0 to {num_agents - 1}"
        )
