"""A world: many envs of one Environment, stepped together, on one device."""

from __future__ import annotations

import copy
import dataclasses
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from warpworld.environment import Array, Environment, Group, placed_groups
from warpworld.environment.spaces import action_bounds, group_suffix, observation_arrays, observation_names
from warpworld.errors import DeclarationError, StoreError, said, suggest
from warpworld.managers.backend import Backend
from warpworld.managers.capture import captured
from warpworld.managers.copies import check_copies
from warpworld.managers.data_manager import DataManager, Kept
from warpworld.managers.devices import open_backend
from warpworld.managers.function_manager import FunctionManager
from warpworld.managers.numbers import Number
from warpworld.managers.program import Autoreset, CheckActions, Copy, KeepFinal, Step
from warpworld.world.environment_kernels import EnvironmentKernels
from warpworld.world.kernel_constants import scalars_of, whole_number, world_constants
from warpworld.world.limits import check_indices
from warpworld.world.phases import PythonStep, sequence
from warpworld.world.reserved import ON_REQUEST, own_arrays, requested_array, reserved_arrays
from warpworld.world.seeding import Seed, seed_envs
from warpworld.world.step_plan import StepPlan

if TYPE_CHECKING:
    import torch

    from warpworld.checking.findings import Report

logger = logging.getLogger(__name__)


class World:
    """Many envs of one Environment.

    Attributes:
        environment: the declaration.
        num_envs: envs in this world.
        first_env: global index of the first of them.
        num_agents: agents of an env.
        groups: agent groups by name, in the order of their agents.
        data: the store.
        constants: what it was made with: numbers of envs, seed, autoreset.

    Args:
        environment: what kind of world.
        num_envs: envs to step together.
        device: "cpu", "cuda", or "auto".
        seed: of all random numbers, 0 .. 2^64 - 1.
        num_workers: threads that step envs on a CPU; None means one per core. Results do not depend on it.
        first_env: global index of env 0, where a world is spread over several processes; 0 .. 2^31 - 1.
        envs_per_warp: how many envs share a warp, 0 for one env a block; None for what the device likes best. Results
            do not depend on it.
        autoreset: what becomes of an env whose episode ended. "same_step": it is reset in the same step. "next_step":
            in the next one, in which its actions are ignored and its rewards are 0. "disabled": it sits steps out until
            ``reset``. An env walks the same course in all three; trainers need "same_step".
        check_actions: whether a step refuses actions that are out of their bounds, or NaN; it then waits for a GPU.
        backend: where it runs, instead of ``device`` and ``num_workers``.

    Raises:
        DeclarationError, BindError, BuildError, DeviceError: the declaration, a kernel or the device is wrong.
    """

    def __init__(
        self,
        environment: Environment,
        num_envs: int,
        device: str = "auto",
        seed: int = 0,
        num_workers: int | None = None,
        first_env: int = 0,
        envs_per_warp: int | None = None,
        backend: Backend | None = None,
        autoreset: Autoreset = "same_step",
        check_actions: bool = False,
    ) -> None:
        if not isinstance(environment, Environment):
            raise DeclarationError(f"a World is made of an Environment object, not of {environment!r}")
        self.constants = world_constants(num_envs, first_env, seed, autoreset)
        self.environment = environment
        self.num_envs, self.first_env = self.constants.num_envs, self.constants.first_env
        self.groups = placed_groups(environment)
        self.num_agents = sum(group.size for group in self.groups.values())
        if self.num_envs * self.num_agents >= 2**31:
            raise DeclarationError(f"num_envs={num_envs}: {self.num_agents} agents each are more than an int can count")
        self._backend = backend or open_backend(device, num_workers)
        self._envs_per_warp = None if envs_per_warp is None else self._packing(envs_per_warp)
        self.data = DataManager(
            self._backend.allocate, self.num_envs, self.num_agents, self._backend.free_memory, self._backend.padding
        )
        self._when_sealed: list[Callable[[], None]] = []
        self._turn = threading.RLock()  # reentrant: a phase that steps its own world is a RecursionError
        self._reset: Callable[[], None] = self.step
        self._step_some: Callable[[], None] | None = None
        self._scalars = scalars_of(environment, self.constants, self.num_agents)
        self._kernels = EnvironmentKernels(
            self._backend, self.data, environment, self.groups, self._scalars, self._envs_per_warp
        )
        self._plan = StepPlan(environment, self._kernels.names, autoreset)
        self._checks_actions = check_actions
        self._kernels.require(self._plan.kernels)
        self._declare_arrays()
        self._kernels.build(self._plan.kernels)

    def _packing(self, envs_per_warp: int) -> int:
        number, warp_size = whole_number("envs_per_warp", envs_per_warp, 0), self._backend.warp_size
        if number * self.num_agents > warp_size:
            raise DeclarationError(
                f"envs_per_warp={number}: {self.num_agents} agents each do not fit a warp of {warp_size}"
            )
        return number

    def _declare_arrays(self) -> None:
        reserved = reserved_arrays(self.groups, self.constants)
        for array in (*reserved, *own_arrays(self.environment, reserved)):
            check_indices(array, self.num_envs, self.num_agents)
            self.data.add(array)
        finals = {f"final_{array.name}" for array in observation_arrays(self.groups)}
        for name in sorted(self._kernels.array_names(self._plan.kernels)):
            if name in ON_REQUEST or name in finals:
                self.request("final_observations" if name in finals else name)
        if self.autoreset == "next_step":
            self._plan.restored.append(dataclasses.replace(self.data.array("rewards"), initial=0))
        self._add_initial_values()

    def _add_initial_values(self) -> None:
        """Declare what holds the initial values of the arrays that the plan restores."""
        for array in self._plan.initial_values(self.num_agents):
            if array.name not in self.data:
                self.data.add(array, kept="scratch")

    @property
    def autoreset(self) -> Autoreset:
        """What becomes of an env whose episode ended; see the constructor."""
        return self.constants.autoreset

    # ---- before the first reset --------------------------------------------------------------------------------------
    def add(self, array: Array, kept: Kept = "state") -> None:
        """Add an array to the store, for instance a trainer's.

        Args:
            array: its declaration.
            kept: "state" is what the course depends on: snapshots and checkpoints hold it. "scratch" is written anew
                before it is read. "history" is a record too large to copy, such as a ring of a million rows: snapshots
                and the check of a CUDA graph leave it alone.

        Raises:
            StoreError: after the first reset(), or if there is one of that name.
        """
        self.data.add(array, kept)

    def request(self, name: str) -> None:
        """Ask for an array that exists on request only.

        "final_observations" makes the twin of every observations array; "agent_terminated", "agent_mask" and
        "action_mask" are written by the env's kernels.

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
                if f"final_{array.name}" not in self.data:
                    self.data.add(dataclasses.replace(array, name=f"final_{array.name}"))
                    self._plan.recorded.append(Copy(array.name, f"final_{array.name}", active_only=True))
        elif name not in self.data:
            array = requested_array(name, self.groups)
            check_indices(array, self.num_envs, self.num_agents)
            self.data.add(array)
            if name == "agent_terminated" and self.autoreset == "next_step":
                self._plan.restored.append(array)
                self._add_initial_values()

    def record(self, source: str, target: str, row: str | None = None) -> None:
        """In every step, copy array ``source`` into ``target``, or into one of its rows.

        The copy is made behind the phases, before ended envs are reset: it is of the step, not of the next episode.

        Args:
            source: an array per agent or per env.
            target: an array of the shape of source; with ``row``, (rows, *shape of source).
            row: name of the array that holds the row's number, one int32 per world. The part that added it sets it, to
                less than the number of rows.
        """
        self._extend(Copy(source, target, row=row))

    def keep_final(self, source: str, target: str, slot_rows: str, slots_used: str, row: str) -> None:
        """In every step, keep the final observation of each env that was truncated.

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
        if self.data.sealed:
            raise StoreError("what a step records is settled at the first reset(); ask for it before")
        self._plan.recorded.append(step)

    def when_sealed(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once the store has its memory: at once if it has, else when the world is sealed.

        A part that adds arrays registers here what binds it to them. Callbacks run in the order in which they were
        registered, when steps are frozen and before the first reset: arrays hold their initial values.
        """
        if self.data.sealed:
            callback()
        else:
            self._when_sealed.append(callback)

    def kernels(
        self,
        path: Path,
        constants: Mapping[str, Number],
        scalars: Mapping[str, Number] | None = None,
        aliases: Mapping[str, str] | None = None,
        writable: Set[str] = frozenset(),
    ) -> FunctionManager:
        """Another kernel file against this world's store, for instance a trainer's sampler; see FunctionManager."""
        merged = {"NUM_AGENTS": self.num_agents, **constants}
        return FunctionManager(
            self._backend, self.data, path, merged, {**self._scalars, **(scalars or {})}, aliases, writable
        )

    def kernel_index(self) -> int:
        """A number for a kernel that is not the env's own, so that its random numbers are its own too."""
        return self._plan.number_of_another()

    def program(self, steps: Sequence[Step]) -> Callable[[], None]:
        """Freeze steps against the sealed store.

        Raises:
            StoreError: a step copies between arrays that do not fit each other.
        """
        check_copies(steps, self.data)
        return self._backend.program(steps, self.data, self.constants)

    # ---- stepping ----------------------------------------------------------------------------------------------------
    def reset(self, active: torch.Tensor | None = None, seed: Seed | None = None) -> None:
        """Start new episodes; the first call seals the store, if ``seal`` has not.

        Args:
            active: (num_envs,) bool, which envs; None means all, as the first call does.
            seed: of these envs' random numbers from here on; None goes on with those they have. With one number, env i
                walks the course that it has in a new world of that seed. With one for each env, or None in its place,
                it walks the course of a world of one env of its seed.

        Raises:
            StoreError: the mask has another shape or dtype.
            DeclarationError: a seed is no whole number of at least 0 and below 2^64, or there is not one for each env.
        """
        if not self.data.sealed:
            if active is not None:
                raise StoreError("the first reset() starts every env; call it without a mask")
            self.seal()
        self.data["active"] = True if active is None else active
        if seed is not None:
            seed_envs(self.data, self.constants, seed)
        self._reset()

    def seal(self) -> None:
        """Lay out the store, so that arrays can be set before the first reset; a second call does nothing.

        Raises:
            StoreError: it does not fit.
            WarpworldError: a part that was registered with ``when_sealed`` does not fit the world.
        """
        if not self.data.sealed:
            self.data.seal()
            self._freeze()
            registered, self._when_sealed = self._when_sealed, []
            for callback in registered:
                callback()

    def step(self) -> None:
        """One step of every env, with the actions that stand in the store; ended envs are reset in the same step.

        A step is whole: threads that step one world take turns.

        Raises:
            KernelError: a kernel faulted.
            StoreError: before the first reset().
        """
        raise StoreError("the world has no memory yet; call reset() before step()")

    def step_some(self, active: torch.Tensor) -> None:
        """One step of some envs; all others keep every bit.

        Args:
            active: (num_envs,) bool, which envs.

        Raises:
            KernelError: a kernel faulted.
            StoreError: before the first reset(); the mask has another shape or dtype; a trainer records whole steps.
            DeclarationError: a phase of the environment cannot leave envs out; names it.
        """
        if self._step_some is None:
            self._step_some = self._frozen_step_some()
        self.data["active"] = active
        self._step_some()

    def _frozen_step_some(self) -> Callable[[], None]:
        if not self.data.sealed:
            raise StoreError("the world has no memory yet; call reset() before step_some()")
        if self._plan.records_rows:
            raise StoreError("step_some(): this world records whole steps, for a trainer; make another one")
        self._plan.require_masked()
        return self._sequence([*self._action_checks(), *self._plan.step(self._kernels.step, active_only=True)])

    def _action_checks(self) -> list[Step]:
        bounds = action_bounds(self.groups) if self._checks_actions else {}
        return [CheckActions(name, low, high) for name, (low, high) in bounds.items()]

    def _freeze(self) -> None:
        # The frozen program itself: a method around it would cost a small world a tenth of its step.
        self.step = self._sequence([*self._action_checks(), *self._plan.step(self._kernels.step)])  # type: ignore[method-assign]
        self._reset = self._sequence(self._plan.reset(self._kernels.step))

    def _sequence(self, steps: Iterable[Step | PythonStep]) -> Callable[[], None]:
        def freeze_python(step: PythonStep) -> Callable[[], None]:
            return step.frozen(self.data, self.num_agents)

        return sequence(steps, self.program, freeze_python, self._turn)

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        """A function that does what ``run`` does; on cuda as a CUDA graph, which costs Python nothing.

        Args:
            run: steps this world, or does other work on its store; the same work in each call, without waiting for the
                device. Where an ``@eager_phase`` is among the phases, ``run`` itself is returned, which is said once.

        Raises:
            DeviceError: ``run`` does what a graph cannot hold.
        """
        eager = self._plan.eager_phases
        if eager and self._backend.captures:
            names = ", ".join(eager)
            logger.info("%s: steps are not captured, since %s is an eager phase", self.environment.name, names)
            return run
        return captured(self._backend, self.data, run)

    # ---- the store ---------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> torch.Tensor:
        return self.data[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.data[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self.data

    @property
    def device(self) -> torch.device:
        """Where the store lies."""
        return self._backend.device

    def observations(self, group: str) -> torch.Tensor | dict[str, torch.Tensor]:
        """A group's observations: a view (num_envs, size, *shape), or one for each key of a Dict space."""
        chosen = self._group(group)
        shared = group_suffix(self.groups, chosen, "observations") == ""
        views = {
            key: self.data[name][:, chosen.slice] if shared else self.data[name]
            for key, name in observation_names(self.groups, chosen).items()
        }
        return views.get("", views)

    def action_array(self, group: str) -> tuple[str, int]:
        """Name of the array that holds a group's actions, and the place of the group's first agent in it."""
        chosen = self._group(group)
        suffix = group_suffix(self.groups, chosen, "actions")
        return f"actions{suffix}", 0 if suffix else chosen.first

    def _group(self, name: str) -> Group:
        try:
            return self.groups[name]
        except KeyError:
            hint = suggest(name, self.groups)
            raise StoreError(f"no group '{name}'.{hint} Groups: {', '.join(self.groups)}") from None

    def check(self, num_envs: int = 5, steps: int = 120, seed: int = 0) -> Report:
        """Look for faults in the kernels of this world's environment, as ``warpworld.check`` does.

        Worlds of its own are stepped for it, on a CPU; this one is not touched.

        Args:
            num_envs: envs to step, 2 to 1000.
            steps: how many, 1 to 100,000, with random actions.
            seed: of those worlds and of the actions.

        Raises:
            DeclarationError: a number is out of these ranges, or the environment has no kernels.
        """
        from warpworld.checking.check import check  # the one import that goes up: a check steps worlds of its own

        return check(self.environment, num_envs, steps, seed)

    def snapshot(self) -> torch.Tensor:
        """A copy of the store's state arrays, as bytes."""
        return self.data.snapshot()

    def restore(self, snapshot: torch.Tensor, layout: Sequence[Sequence[Any]] | None = None) -> None:
        """Write a snapshot back; the world then takes the same course as from there on.

        Args:
            snapshot: what ``snapshot`` returned, of a world with the same arrays.
            layout: what ``world.data.layout()`` returned then, to check that they are the same.

        Raises:
            StoreError: the snapshot is of other arrays.
        """
        self.data.restore(snapshot, layout)

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        """A world of its own, in the same state: both have the same course from here, and neither moves the other.

        Parts that act in this world, such as a trainer's actors, stay with it; the arrays that they added, and what is
        recorded for them, are the copy's too.

        Raises:
            StoreError: parts wait for this world to be sealed, or the environment cannot be copied.
        """
        if self._when_sealed:
            raise StoreError(
                "parts of this world wait for its memory, and a copy would not have them; copy it before they are "
                "made, or after its first reset()"
            )
        twin = World(
            self._copied_environment(memo),
            self.num_envs,
            seed=self.constants.seed,
            first_env=self.first_env,
            envs_per_warp=self._envs_per_warp,
            backend=self._backend,
            autoreset=self.autoreset,
            check_actions=self._checks_actions,
        )
        twin.data.add_all_of(self.data)
        twin._plan.take_over(self._plan)
        if self.data.sealed:
            twin.seal()
            twin.data.copy_from(self.data)
        return twin

    def _copied_environment(self, memo: dict[int, Any]) -> Environment:
        try:
            return copy.deepcopy(self.environment, memo)
        except Exception as error:  # what an author's class holds may raise anything
            raise StoreError(
                f"{self.environment.name}: the environment cannot be copied, so neither can its world: {said(error)}; "
                "give its class a __deepcopy__"
            ) from error

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be pickled, and copied by copy.copy, which would share the memory."""
        raise StoreError(
            "a World is bound to memory and kernels of this process: neither pickle nor copy.copy takes it. Keep its "
            "snapshot() and restore() that in a World made in the same way; in this process use copy.deepcopy"
        )
