"""Contents of a world: its arrays in one store, its groups, and the kernels that work on them. Nothing steps here."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.environment import (
    Array,
    Environment,
    Group,
    Kernel,
    action_names,
    group_suffix,
    observation_arrays,
    observation_names,
    placed_groups,
    script_kernels,
)
from warpworld.errors import DeclarationError, StoreError, suggest
from warpworld.managers import (
    Autoreset,
    Backend,
    Copy,
    DataManager,
    FunctionManager,
    KeepFinal,
    Kept,
    Number,
    Repeat,
    RunKernel,
    Step,
    WorldConstants,
    check_copies,
)
from warpworld.world.env_indices import Envs
from warpworld.world.env_states import EnvStates
from warpworld.world.environment_kernels import EnvironmentKernels
from warpworld.world.info_arrays import checked_infos
from warpworld.world.kernel_constants import scalars_of, whole_number
from warpworld.world.limits import check_agents, check_indices
from warpworld.world.per_env_arrays import RANDOMIZE_SOURCE, draws, per_env_arrays
from warpworld.world.phases import PythonStep, again, in_turn, parts_of
from warpworld.world.reserved import ON_REQUEST, own_arrays, requested_array, reserved_arrays
from warpworld.world.step_pipeline import StepPipeline

if TYPE_CHECKING:
    import torch


class WorldStore:
    """The part of a World that steps build on; attributes are documented there.

    Args:
        environment: its declaration.
        constants: numbers of envs, seed and autoreset.
        backend: where it runs.
        envs_per_warp: see World.

    Raises:
        DeclarationError, BindError, BuildError: the declaration or a kernel is wrong.
    """

    def __init__(
        self, environment: Environment, constants: WorldConstants, backend: Backend, envs_per_warp: int | None
    ) -> None:
        self.environment, self.constants, self._backend = environment, constants, backend
        self.num_envs, self.first_env = constants.num_envs, constants.first_env
        # agents, and how they share warps
        self.groups = placed_groups(environment)
        self.num_agents = sum(group.size for group in self.groups.values())
        check_agents(self.num_envs, self.num_agents)
        self._turn = threading.RLock()  # reentrant: a phase that steps its own world is a RecursionError
        self._envs_per_warp = None if envs_per_warp is None else self._packing(envs_per_warp)
        # arrays and numbers that kernels bind to
        self.data = DataManager(backend.allocate, self.num_envs, self.num_agents, backend.free_memory, backend.padding)
        self._scalars = scalars_of(environment, constants, self.num_agents)
        # kernels, and the order in which they run
        self._kernels = EnvironmentKernels(
            backend, self.data, environment, self.groups, self._scalars, self._envs_per_warp
        )
        self._copies_of_steps: dict[str, str] = {}  # made by ``recorded``, by the array's name
        self._pipeline = StepPipeline(environment, self._kernels.names, constants.autoreset)
        scripts = script_kernels(environment)
        self._kernels.require([*self._pipeline.kernels, *scripts])
        # arrays, then kernels, which bind to them
        self._declare_arrays()
        if environment.randomize:
            functions = self.kernels(RANDOMIZE_SOURCE, {})
            functions.build([])
            self._pipeline.drawn = draws(environment, functions, self.kernel_index())
        self._kernels.build(self._pipeline.kernels, scripts)

    def _packing(self, envs_per_warp: int) -> int:
        number, warp_size = whole_number("envs_per_warp", envs_per_warp, 0), self._backend.warp_size
        if number * self.num_agents > warp_size:
            raise DeclarationError(
                f"envs_per_warp={number}: {self.num_agents} agents each do not fit a warp of {warp_size}"
            )
        return number

    def _declare_arrays(self) -> None:
        reserved = reserved_arrays(self.groups, self.constants)
        parameters = per_env_arrays(self.environment, self.num_envs)
        for array in (*reserved, *own_arrays(self.environment, reserved), *parameters):
            check_indices(array, self.num_envs, self.num_agents)
            self.data.add(array)
        finals = {f"final_{array.name}" for array in observation_arrays(self.groups)}
        for name in sorted({*self._kernels.array_names(self._pipeline.kernels), *self.environment.requested}):
            if name in ON_REQUEST or name in finals:
                self.request("final_observations" if name in finals else name)
        if self.autoreset == "next_step":
            self._pipeline.restored.append(dataclasses.replace(self.data.array("rewards"), initial=0))
        self._add_initial_values()
        self.infos = checked_infos(self.environment, self.data)

    def _add_initial_values(self) -> None:
        """Declare what holds the initial values of the arrays that the pipeline restores."""
        for array in self._pipeline.initial_values(self.num_agents):
            if array.name not in self.data:
                self.data.add(array, kept="derived")

    @property
    def autoreset(self) -> Autoreset:
        """Time of the reset of an env whose episode ended, as given to the constructor."""
        return self.constants.autoreset

    @property
    def envs_per_warp(self) -> int:
        """Number of envs that share a warp in the environment's kernels, 0 for one env a block."""
        return self._kernels.envs_per_warp

    # ---- before the first reset --------------------------------------------------------------------------------------
    def add(self, array: Array, kept: Kept | None = None) -> Array:
        """Add an array to the store, for instance a trainer's; returns it, so that the caller can ask for it later.

        Args:
            array: its declaration.
            kept: "state", the default, is what the future depends on: snapshots and checkpoints hold it. "derived" is
                rewritten before it is read. "scratch", the default of an array that is declared so, means nothing
                between launches. "history" is a record too large to copy, such as a ring of a million rows. The check
                of a CUDA graph leaves the last two alone.

        Raises:
            StoreError: after the first reset(), or if the name is taken.
        """
        self.data.add(array, kept)
        return array

    def request(self, name: str) -> None:
        """Ask for an array that exists on request only.

        "final_observations" makes a final array of every observations array; "agent_terminated", "agent_truncated",
        "agent_mask" and "action_mask" are written by the env's kernels.

        Raises:
            StoreError: after the first reset(), or if there is no such array; "final_observations" without autoreset
                in the same step, where ``observations`` are the final ones.
            DeclarationError: it has more elements than kernels can index.
        """
        if name not in ON_REQUEST:
            raise StoreError(f"no array '{name}' to request.{suggest(name, ON_REQUEST)} Known: {', '.join(ON_REQUEST)}")
        if name == "final_observations":
            self._require_same_step("final observations are")
            for array in observation_arrays(self.groups):
                self._keep_last(array)
        elif name not in self.data:
            array = requested_array(name, self.groups)
            check_indices(array, self.num_envs, self.num_agents)
            self.data.add(array)
            if name in ("agent_terminated", "agent_truncated") and self.autoreset == "next_step":
                self._pipeline.restored.append(array)
                self._add_initial_values()

    def keep_last_infos(self) -> None:
        """Keep what the arrays in ``infos`` held when an episode ended, in arrays called "final_" and their names.

        Raises:
            StoreError: after the first reset(); without autoreset in the same step.
        """
        self._require_same_step("the last infos of an episode are")
        for name in self.infos:
            self._keep_last(self.data.array(name))

    def _keep_last(self, array: Array) -> None:
        final = f"final_{array.name}"
        if final not in self.data:
            self.data.add(dataclasses.replace(array, name=final, initial=None, on_reset="kernel", read_only=False))
            self._pipeline.recorded.append(Copy(array.name, final, active_only=True))

    def record(self, source: str, target: str, row: str | None = None) -> None:
        """Copy array ``source`` into ``target``, or into one of its rows, in every step.

        The copy is made behind the phases, before ended envs are reset: it is of the step, not of the next episode.

        Args:
            source: an array per agent or per env.
            target: an array of the shape of source; with ``row``, (rows, *shape of source).
            row: name of the array that holds the row's number, one int32 per world. The part that added it sets it, to
                less than the number of rows.
        """
        self.record_copy(Copy(source, target, row=row))

    def recorded(self, name: str) -> str:
        """Record an array in an array of its own, as ``record``, once; the name of the copy, ``x_of_step`` for ``x``.

        Args:
            name: an array per agent or per env.

        Raises:
            StoreError: after the first reset(), or if the environment declares an array of the copy's name.
        """
        if name not in self._copies_of_steps:
            copy, array = f"{name}_of_step", self.data.array(name)
            self.add(Array(copy, array.dtype, array.shape, array.per), kept="derived")
            self.record(name, copy)
            self._copies_of_steps[name] = copy
        return self._copies_of_steps[name]

    def recorded_arrays(self, names: Iterable[str]) -> dict[str, str | None]:
        """Record arrays as ``recorded`` does; the names of the copies, by array, None for one per world.

        Raises:
            StoreError: as ``recorded``.
        """
        return {name: None if self.data.array(name).per == "world" else self.recorded(name) for name in names}

    def record_copy(self, copy: Copy) -> None:
        """Make a copy in every step, as ``record``."""
        self._extend(copy)

    def keep_final(self, source: str, target: str, slot_rows: str, slots_used: str, row: str) -> None:
        """Keep the final observation of each env that was truncated, in every step.

        Args:
            source: an observations array.
            target: (num_envs, slots, *an env's part of source): where they go, one slot after the other.
            slot_rows: (num_envs, slots) int32: receives the number in ``row``.
            slots_used: (num_envs,) int32: is counted up; the reader of the slots sets it back to 0.
            row: name of the array that holds the present row's number, one int32 per world.
        """
        self._extend(KeepFinal(source, target, slot_rows, slots_used, row))

    def _require_same_step(self, what: str) -> None:
        if self.autoreset != "same_step":
            raise StoreError(f"{what} of steps that reset in the same step; make the world with autoreset='same_step'")

    def _extend(self, step: Step) -> None:
        self._require_same_step("what a step records is")
        self._require_unsealed("what a step records")
        self._pipeline.recorded.append(step)

    def launch_at_resets(self, launch: RunKernel) -> None:
        """Launch a kernel for the envs that are reset, before the environment's own resets."""
        self._require_unsealed("what a reset launches")
        self._pipeline.drawn.append(launch)

    def _require_unsealed(self, what: str) -> None:
        if self.data.sealed:
            raise StoreError(f"{what} is settled at the first reset(); ask for it before")

    def kernels(
        self,
        path: Path,
        constants: Mapping[str, Number],
        scalars: Mapping[str, Number] | None = None,
        aliases: Mapping[str, str] | None = None,
        writable: Set[str] = frozenset(),
    ) -> FunctionManager:
        """Load another kernel file for this world's store, such as a trainer's sampler; see FunctionManager."""
        merged = {"NUM_AGENTS": self.num_agents, **constants}
        return FunctionManager(
            self._backend, self.data, path, merged, {**self._scalars, **(scalars or {})}, aliases, writable
        )

    def kernel_index(self) -> int:
        """A number for a kernel that is not the env's own, so that its random numbers are its own too."""
        return self._pipeline.number_of_another()

    def script_step(self, kernel: Kernel, played: Mapping[str, str | int]) -> RunKernel:
        """The step in which the kernel of an environment's script plays a group; see EnvironmentKernels."""
        return self._kernels.script_step(kernel, played)

    def program(self, steps: Iterable[Step | PythonStep]) -> Callable[[], None]:
        """Freeze steps against the sealed store.

        A kernel that touches other envs' parts begins when all envs have done the steps before it.

        Raises:
            StoreError: a step copies between arrays that do not fit each other.
        """
        return in_turn([self._call(part) for part in parts_of(steps)], self._turn)

    def repeated(self, steps: Iterable[Step | PythonStep], times: int, row: str) -> Callable[[], None]:
        """Freeze steps that are taken several times in a row, in one native call where that can be.

        Args:
            steps: as ``program``'s.
            times: how often.
            row: name of an array, one int32 per world, that is counted up after each time.
        """
        parts = list(parts_of(steps))
        if self._backend.runs_on_host and len(parts) == 1 and not isinstance(parts[0], PythonStep):
            return self._call((Repeat(times, row), *parts[0]))
        return again(in_turn([self._call(part) for part in parts], self._turn), times, self.data[row])

    def python_program(self, phase: Callable[..., None]) -> Callable[[], None]:
        """A function ``fn(arrays, active)`` that draws no random numbers, frozen as a Python phase is."""
        return self.program([PythonStep(phase, 0)])

    def _call(self, part: tuple[Step, ...] | PythonStep) -> Callable[[], None]:
        if isinstance(part, PythonStep):
            return part.frozen(self.data, self.num_agents)
        check_copies(part, self.data)
        return self._backend.program(part, self.data, self.constants)

    # ---- the store ---------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str | Array) -> torch.Tensor:
        return self.data[name if isinstance(name, str) else name.name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.data[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self.data

    @property
    def device(self) -> torch.device:
        """Device of the store."""
        return self._backend.device

    def observations(self, group: str, final: bool = False) -> torch.Tensor | dict[str, torch.Tensor]:
        """A group's observations: a view (num_envs, size, *shape), or one for each key of a Dict space.

        Args:
            group: its name.
            final: those that each env's latest episode ended with, of a world with ``final_observations``.
        """
        chosen, kind = self._group(group), "final_" if final else ""
        shared = group_suffix(self.groups, chosen, "observations") == ""
        views = {
            key: self.data[kind + name][:, chosen.slice] if shared else self.data[kind + name]
            for key, name in observation_names(self.groups, chosen).items()
        }
        return views.get("", views)

    def actions(self, group: str) -> dict[str, torch.Tensor]:
        """A group's actions as stored: a view (num_envs, size, numbers) for each part, by its key; "" if it is one."""
        first, size = self.action_array(group)[1], self.groups[group].size
        return {key: self.data[name][:, first : first + size] for key, name in self.action_names(group).items()}

    def action_names(self, group: str) -> dict[str, str]:
        """Name of the array that holds each part of a group's actions, by its key; "" if it is one."""
        return action_names(self.groups, self._group(group))

    def action_array(self, group: str) -> tuple[str, int]:
        """Name of the array that holds a group's actions, and the place of the group's first agent in it.

        Of a Dict or Tuple each part has an array, see ``action_names``: their names begin so, at the same place.
        """
        chosen = self._group(group)
        suffix = group_suffix(self.groups, chosen, "actions")
        return f"actions{suffix}", 0 if suffix else chosen.first

    def _group(self, name: str) -> Group:
        try:
            return self.groups[name]
        except KeyError:
            hint = suggest(name, self.groups)
            raise StoreError(f"no group '{name}'.{hint} Groups: {', '.join(self.groups)}") from None

    # ---- states ------------------------------------------------------------------------------------------------------
    def snapshot(self) -> torch.Tensor:
        """A copy of the store's state arrays, as bytes."""
        if self._kernels.residents:
            self._kernels.residents.save()
        return self.data.snapshot()

    def restore(self, snapshot: torch.Tensor, layout: Sequence[Sequence[Any]] | None = None) -> None:
        """Write a snapshot back; the world then continues as it did from there.

        Args:
            snapshot: what ``snapshot`` returned, of a world with the same arrays.
            layout: what ``world.data.layout()`` returned then, to check that they are the same.

        Raises:
            StoreError: the snapshot is of other arrays, or of other versions of what has envs outside of the store; the
                world is as it was.
        """
        before = self.snapshot() if self.environment.outside_bytes else None
        self.data.restore(snapshot, layout)
        try:
            self.load_residents()
        except StoreError:
            if before is not None:  # envs are as they were, too
                self.data.restore(before)
                self.load_residents()
            raise

    def load_residents(self) -> None:
        """Make envs' objects, and what envs keep outside of the store, as the store says.

        Raises:
            StoreError: a state is not of such an env, or of another version.
        """
        if self._kernels.residents:
            self._kernels.residents.load()

    def save_residents(self, is_tried: bool = True) -> None:
        """Write what envs' objects save into the store, where envs have any.

        Args:
            is_tried: whether each object is loaded into another one first, which must save the same.

        Raises:
            KernelError: an object that loads it does not save the same, or it is more than fits the store.
        """
        if self._kernels.residents:
            if is_tried:
                self._kernels.residents.try_states()
            self._kernels.residents.save()

    def state(self, envs: Envs = slice(None)) -> torch.Tensor:
        """A copy of the state of some envs: all that their future depends on, including random numbers.

        Args:
            envs: their indices; all by default.

        Returns:
            (envs, bytes) uint8, on the world's device. It fits every world of the same environment and parameters.
        """
        self._require_whole_states("state")
        with self._turn:
            return self._env_states.read(envs)

    def set_state(self, envs: Envs, states: torch.Tensor) -> None:
        """Write states back, into these envs or others: each then follows the trajectory of the env it was taken from.

        Args:
            envs: indices.
            states: what ``state`` returned, one for each of ``envs``.

        Raises:
            StoreError: the states are of another world, or there is not one for each env.
        """
        self._require_whole_states("set_state")
        with self._turn:
            before = self._env_states.read(envs) if self.environment.outside_bytes else None
            try:
                self._env_states.write(envs, states)
            except StoreError:
                if before is not None:  # envs are as they were, too
                    self._env_states.write(envs, before)
                raise

    def fork(self, source: int | Sequence[int], targets: Envs, reseed: bool = False) -> None:
        """Copy the state of an env into others, as a planner does to try several actions from one state.

        Args:
            source: index of the env; or of as many envs as there are targets.
            targets: indices of the envs to overwrite.
            reseed: whether each target draws its own random numbers from here on, new ones at every fork; otherwise it
                follows the same trajectory as its source under the same actions.

        Raises:
            StoreError: an index is out of range, or there are neither one source nor one for each target.
        """
        self._require_whole_states("fork")
        if reseed and self.environment.draws_outside:
            raise StoreError(
                f"fork(reseed=True): envs of '{self.environment.name}' draw their random numbers outside of the store, "
                "where they get no others; fork without reseed"
            )
        with self._turn:
            self._env_states.copy(source, targets, reseed)

    def _require_whole_states(self, what: str) -> None:
        if not self.environment.resumable:
            reason = self.environment.why_not_resumable
            raise StoreError(
                f"{what}(): envs of '{self.environment.name}' keep their state outside of the store"
                f"{reason and ', and it cannot be taken: '}{reason}"
            )

    @functools.cached_property
    def _env_states(self) -> EnvStates:
        return EnvStates(self.data, self.kernels, self.program, self._kernels.residents)
