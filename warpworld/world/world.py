"""A world: many envs of one Environment, stepped together, on one device."""

from __future__ import annotations

import copy
import logging
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from warpworld.environment import Environment, action_bounds
from warpworld.errors import DeclarationError, KernelError, StoreError, said
from warpworld.managers import Autoreset, Backend, CheckActions, OneByOne, Step
from warpworld.managers.capture import captured
from warpworld.managers.devices import open_backend
from warpworld.world.kernel_constants import whole_number, world_constants
from warpworld.world.per_env_arrays import set_params
from warpworld.world.phases import PythonStep
from warpworld.world.seeding import Seed, seed_envs
from warpworld.world.world_store import WorldStore

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

logger = logging.getLogger(__name__)

# What Python calls the frozen step where it is called with actions: that costs nothing where it is not.
_STEP = "World.step() reads actions from the store: write world['actions'] = actions, then world.step(). World.step"


# Used instead of a world's step. Methods would be references from the world to itself, so that it is freed late.
def _without_memory() -> NoReturn:
    raise StoreError("the world has no memory yet; call reset() before step()")


def _closed() -> NoReturn:
    raise StoreError("the world is closed")


class World(WorldStore):
    """Many envs of one Environment.

    Attributes:
        environment: the declaration.
        num_envs: envs in this world.
        first_env: global index of the first of them.
        num_agents: agents of an env.
        groups: agent groups by name, in the order of their agents.
        infos: names of the arrays that adapters report as infos.
        data: the store.
        constants: the settings it was made with: number of envs, seed, autoreset.

    Args:
        environment: its declaration.
        num_envs: envs to step together.
        device: "cpu", "cuda", or "auto".
        seed: of all random numbers, 0 .. 2^64 - 1.
        num_workers: threads that step envs on a CPU; None means one per core. Results do not depend on it.
        first_env: global index of env 0, where a world is spread over several processes; 0 .. 2^31 - 1.
        envs_per_warp: how many envs share a warp, 0 for one env per block; None lets the device choose. Results do not
            depend on it.
        autoreset: when an env whose episode ended is reset. "same_step": in the same step. "next_step": in the next
            one, which ignores its actions and gives reward 0. "disabled": it skips steps until ``reset``. Trajectories
            are the same in all three; trainers need "same_step".
        check_actions: whether a step refuses actions that are out of bounds or NaN; it then waits for a GPU.
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
        constants = world_constants(num_envs, first_env, seed, autoreset)
        opened = backend or open_backend(environment.allowed_device(device), num_workers)
        environment.allowed_device(opened.name)
        super().__init__(environment, constants, opened, envs_per_warp)
        self._checks_actions = check_actions
        self._when_sealed: list[Callable[[], None]] = []
        self._reset: Callable[[], None] = _without_memory
        self._step_some: Callable[[], None] | None = None

    @property
    def checks_actions(self) -> bool:
        """Whether a step refuses illegal actions."""
        return self._checks_actions

    def when_sealed(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once the store has its memory: at once if it has, else when the world is sealed.

        A part that adds arrays registers here what binds it to them. Callbacks run in the order in which they were
        registered, when steps are frozen and before the first reset: arrays hold their initial values.
        """
        if self.data.sealed:
            callback()
        else:
            self._when_sealed.append(callback)

    # ---- stepping ----------------------------------------------------------------------------------------------------
    def reset(self, active: torch.Tensor | None = None, seed: Seed | None = None) -> None:
        """Start new episodes; the first call seals the store, if ``seal`` has not.

        Args:
            active: (num_envs,) bool, which envs; None means all, as the first call does.
            seed: of these envs' random numbers from here on; None keeps their seeds. With one number, env i follows the
                trajectory that it has in a new world of that seed. With one entry for each env, a number or None, it
                follows the trajectory of a one-env world of its seed.

        Raises:
            StoreError: the mask has another shape or dtype.
            DeclarationError: a seed is not a whole number from 0 to 2^64 - 1, or there is not one for each env.
        """
        first = not self.data.sealed
        if first:
            if active is not None:
                raise StoreError("the first reset() starts every env; call it without a mask")
            self.seal()
        if seed is not None and self.environment.draws_outside:
            raise StoreError(
                f"reset(seed=): envs of '{self.environment.name}' draw their random numbers outside of the store; give "
                "the seed where the world is made"
            )
        self.data["active"] = True if active is None else active
        if seed is not None:
            seed_envs(self.data, self.constants, seed)
        self._reset()
        if first and self._kernels.residents:
            self._kernels.residents.try_states()

    def set_params(self, active: torch.Tensor | None = None, **values: Any) -> None:
        """Set parameters that the environment declares ``per_env``; envs keep them when they are reset.

        Args:
            active: (num_envs,) bool, which envs; None means all.
            **values: by name: one number, or one for each env.

        Raises:
            StoreError: there is no such parameter, it is drawn at each reset, a value has another shape or dtype, or
                the store has no memory yet.
        """
        set_params(self.data, self.environment, active, values)

    def seal(self) -> None:
        """Lay out the store, so that arrays can be set before the first reset; a second call does nothing.

        Raises:
            StoreError: it does not fit.
            WarpworldError: a part that was registered with ``when_sealed`` does not fit the world.
        """
        if not self.data.sealed:
            self.data.seal()
            self.environment.open(self.num_envs, self.first_env, self.constants.seed)
            self._freeze()
            self._make_residents()
            registered, self._when_sealed = self._when_sealed, []
            for callback in registered:
                callback()

    def _make_residents(self) -> None:
        """Make the objects of envs, and let them end with this world, closed or not."""
        residents = self._kernels.make_residents(self.program)
        if residents is None:
            return
        weakref.finalize(self, residents.destroy)
        try:
            residents.make()
        except KernelError:
            self.close()
            raise

    def step(self) -> None:
        """Step every env, with the actions that are in the store; ended envs are reset in the same step.

        Steps are atomic: threads that step the same world take turns.

        Raises:
            KernelError: a kernel faulted.
            StoreError: before the first reset().
        """
        _without_memory()

    def step_some(self, active: torch.Tensor) -> None:
        """Step some envs; no bit of the others changes.

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
        if self._pipeline.records_rows:
            raise StoreError("step_some(): this world records whole steps, for a trainer; make another one")
        self._pipeline.require_masked()
        return self.program([*self._action_checks(), *self._pipeline.step(self._kernels.step, active_only=True)])

    @property
    def has_single_steps(self) -> bool:
        """Whether ``one_by_one`` works: on a CPU, where all phases are kernels that touch their own env alone."""
        return self._backend.runs_on_host and not self.envs_per_warp and self._pipeline.is_one_program

    def one_by_one(self) -> OneByOne:
        """A step of single envs of a sealed world that ``has_single_steps``, while the caller does other things."""
        steps = [*self._action_checks(), *self._pipeline.step(self._kernels.step)]
        native = [step for step in steps if not isinstance(step, PythonStep)]
        return self._backend.one_by_one(native, self.data, self.constants)

    def steps_between(self, before: Sequence[Step], after: Sequence[Step], times: int, row: str) -> Callable[[], None]:
        """Several steps of every env, each between some steps of the caller's, all in one call where that can be.

        Args:
            before: come before those of ``step``, in order. They write the actions, so these are not checked.
            after: come after them.
            times: how many steps of every env.
            row: name of an array, one int32 per world, that is counted up after each.
        """
        return self.repeated([*before, *self._pipeline.step(self._kernels.step), *after], times, row)

    def _action_checks(self) -> list[Step]:
        bounds = action_bounds(self.groups) if self._checks_actions else {}
        return [CheckActions(name, *of_array) for name, of_array in bounds.items()]

    def _freeze(self) -> None:
        # The frozen program itself: a method around it would cost a small world a tenth of its step.
        step = self.program([*self._action_checks(), *self._pipeline.step(self._kernels.step)])
        with suppress(AttributeError):  # of a device's own kind of program
            step.__qualname__ = _STEP
        self.step = step  # type: ignore[method-assign]
        self._reset = self.program(self._pipeline.reset(self._kernels.step))

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        """A function that does what ``run`` does; on cuda as a CUDA graph, which costs Python nothing.

        Args:
            run: steps this world, or does other work on its store; the same work in each call, without waiting for the
                device. If a phase is an ``@eager_phase``, ``run`` itself is returned, and a log line says so once; if
                it does anything else that a graph cannot hold, likewise, with a warning.
        """
        eager = self._pipeline.eager_phases
        if eager and self._backend.captures:
            names = ", ".join(eager)
            logger.info("%s: steps are not captured, since %s is an eager phase", self.environment.name, names)
            return run
        return captured(self._backend, self.data, run)

    @property
    def num_workers(self) -> int:
        """Threads that step envs: on a CPU those it was made with, elsewhere one."""
        return int(getattr(self._backend, "num_workers", 1))

    @property
    def captures(self) -> bool:
        """Whether this device holds work in CUDA graphs."""
        return self._backend.captures

    @property
    def runs_on_host(self) -> bool:
        """Whether this device's programs may hold functions of the package's own C++."""
        return self._backend.runs_on_host

    def capture_update(self, run: Callable[[], None], tensors: Sequence[torch.Tensor]) -> Callable[[], None]:
        """A function that does what ``run`` does, which learns from what lies in the store; on cuda as a CUDA graph.

        Args:
            run: as for ``capture``, but it does not step the world.
            tensors: all that it writes besides the store's state and derived arrays: weights, an optimiser's moments,
                history that it changes. They are as before when this returns.
        """
        return captured(self._backend, self.data, run, tensors)

    def branch(self) -> Callable[[Callable[[], None]], None]:
        """Begin a branch of work on the device, which follows all that was asked of it before.

        Returns:
            A function that calls the work. On cuda it runs on a second stream, at the same time as what was asked since
            the branch began, and before what is asked afterwards: let neither write what the other reads or writes.
        """
        return self._backend.branch()

    def random_state(self) -> torch.Tensor:
        """State of torch's own generator of the device; the world draws nothing from it."""
        return self._backend.random_state()

    def set_random_state(self, state: torch.Tensor) -> None:
        """Write back what ``random_state`` returned, also for captured work that draws from the generator."""
        self._backend.set_random_state(state)

    def close(self) -> None:
        """Give the store's memory back, once no tensor of it and no step on it is left; a second call does nothing.

        Every other method then raises StoreError, also at the end of a ``with`` block that the world was opened in.
        """
        self._kernels.destroy_residents()
        self.__dict__.pop("_env_states", None)
        self._reset = self._step_some = self.step = _closed  # type: ignore[method-assign]
        self.environment.close()
        self.data.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        agents = f"{self.num_agents} agent{'s' * (self.num_agents != 1)}"
        envs = f"{self.num_envs} env{'s' * (self.num_envs != 1)}"
        return f"<World {self.environment.name}: {envs} of {agents} on {self._backend.name}>"

    def _repr_html_(self) -> str:
        """A picture of env 0, groups and arrays in a notebook."""
        from warpworld.world.as_html import world_html  # which draws, and is loaded by notebooks alone

        return world_html(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        """A second world in the same state: both follow the same trajectory from here, and neither affects the other.

        Parts that act in this world, such as a trainer's actors, stay with it; the arrays that they added, and what is
        recorded for them, are the copy's too.

        Raises:
            StoreError: parts wait for this world to be sealed, it is closed, or the environment cannot be copied.
        """
        # a world that can be copied
        if self.data.closed:
            _closed()
        if self._when_sealed:
            raise StoreError(
                "parts of this world wait for its memory, and a copy would not have them; copy it before they are "
                "made, or after its first reset()"
            )
        # a world like it, with what parts have added
        copied = self._like(self._copied_environment(memo), self.first_env, self.num_envs)
        copied.data.add_all_of(self.data)
        copied._pipeline.take_over(self._pipeline)
        # its contents
        if self.data.sealed:
            copied.seal()
            own, others = copied._kernels.residents, self._kernels.residents
            if own and others:
                own.copy_from(others, lambda: copied.data.copy_from(self.data))
            else:
                copied.data.copy_from(self.data)
        return copied

    def part(self, first: int, num_envs: int) -> World:
        """A new world of some of this world's envs, which follow the same trajectories as here.

        Args:
            first: index of the first of them in this world.
            num_envs: how many.

        Raises:
            DeclarationError: this world has no such envs.
            StoreError: the environment cannot be copied.
        """
        first, num_envs = whole_number("first", first, 0), whole_number("num_envs", num_envs, 1)
        if first + num_envs > self.num_envs:
            raise DeclarationError(f"part({first}, {num_envs}): this world has {self.num_envs} envs")
        environment, chosen = self._copied_environment({}), slice(first, first + num_envs)
        environment.per_env_values = {name: values[chosen] for name, values in environment.per_env_values.items()}
        return self._like(environment, self.first_env + first, num_envs)

    def _like(self, environment: Environment, first_env: int, num_envs: int) -> World:
        """A new world that is made as this one."""
        return World(
            environment,
            num_envs,
            seed=self.constants.seed,
            first_env=first_env,
            envs_per_warp=self._envs_per_warp,
            backend=self._backend,
            autoreset=self.autoreset,
            check_actions=self._checks_actions,
        )

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
            "a World is bound to memory and kernels of this process, so pickle and copy.copy cannot copy it. Save its "
            "snapshot() and restore() it in a World made in the same way, or use copy.deepcopy in this process"
        )
