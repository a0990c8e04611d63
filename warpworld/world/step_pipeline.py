"""The pipeline of a world: its step and reset, in order, before they are bound to its store."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import numpy as np

from warpworld.environment import Array, Environment, Kernel, Phase
from warpworld.errors import DeclarationError
from warpworld.managers import BeginReset, BeginStep, Copy, EndStep, RunKernel, Step
from warpworld.world.phases import PythonStep

MAX_KERNELS = 16  # a kernel's number has four bits of the random counter

Entry = Kernel | Callable[..., None]
KernelStep = Callable[[Kernel, int, bool], Step]


class StepPipeline:
    """The steps of a world's work, in order.

    A step begins, runs the phases and ends; then it records what the phases left, and begins new episodes in the envs
    that are reset in it: the initial values of their arrays are copied back, and their resets run. Those are the envs
    that ended in this step ("same_step") or in the one before ("next_step"); with autoreset "disabled" there are none.
    A reset begins, and begins new episodes in the envs that the caller marked.

    Phases and resets are numbered from 0 on, other kernels from ``MAX_KERNELS - 1`` down. The number is part of the
    random counter, so it keeps the random numbers of kernels apart.

    Attributes:
        recorded: steps that copy what the phases left, before it is reset.
        restored: arrays whose initial value is copied back when a new episode begins.
        drawn: launches that draw parameters of the envs in which one begins, before their resets.

    Args:
        environment: whose phases(), resets() and arrays() these are.
        kernels: names of the kernels in its source file; None where it has no such file.
        autoreset: see World.

    Raises:
        DeclarationError: a phase or reset is neither a kernel nor a callable, there are too many, they name kernels
            without a source file, or they cannot leave envs out and ``autoreset`` asks for it.
    """

    def __init__(self, environment: Environment, kernels: Container[str] | None, autoreset: str) -> None:
        self._name, self._autoreset = environment.name, autoreset
        # phases and resets of the environment
        self._phases = _entries(environment, environment.phases())
        self._resets = _entries(environment, _needed_resets(environment, kernels))
        self._num_others = 0
        # steps that the world adds
        self.recorded: list[Step] = []
        self.drawn: list[RunKernel] = []
        self.restored = _restored(environment.arrays(), has_resets=bool(self._resets))
        # limits: number of kernels, phases that leave envs out, a source
        self._check_numbers()
        if autoreset != "same_step":
            self.require_masked()
        if kernels is None and self.kernels:
            raise DeclarationError(
                f"{self._name}: phases() or resets() name kernels, but the class has no `source` file"
            )

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels among the phases and resets."""
        return [entry for entry in (*self._phases, *self._resets) if isinstance(entry, Kernel)]

    @property
    def eager_phases(self) -> list[str]:
        """Names of the Python phases and resets that cannot be captured."""
        eager = [entry for entry in (*self._phases, *self._resets) if getattr(entry, "eager", False)]
        return [_name_of(entry) for entry in eager]

    @property
    def is_one_program(self) -> bool:
        """Whether all phases and resets are kernels that touch their own env alone."""
        return all(isinstance(entry, Kernel) and entry.own_env_only for entry in (*self._phases, *self._resets))

    def require_masked(self) -> None:
        """Check that the phases can leave envs out.

        Raises:
            DeclarationError: names a phase that may touch envs that sit a step out.
        """
        for phase in self._phases:
            if isinstance(phase, Kernel) and not phase.own_env_only:
                raise DeclarationError(
                    f"{self._name}: phase '{phase.name}' touches other envs (own_env_only=False), so a step cannot "
                    "leave envs out"
                )
            if not isinstance(phase, Kernel) and not getattr(phase, "masked", False):
                raise DeclarationError(
                    f"{self._name}: phase '{_name_of(phase)}' is Python and may change envs that sit out; mark it "
                    "@warpworld.masked_phase once it changes active envs only"
                )

    def number_of_another(self) -> int:
        """A number for one more kernel that is not the environment's.

        Raises:
            DeclarationError: there is none left.
        """
        self._num_others += 1
        self._check_numbers()
        return MAX_KERNELS - self._num_others

    def take_over(self, other: StepPipeline) -> None:
        """Record and restore what the pipeline of the same environment does, and number other kernels after its own."""
        self.recorded, self.restored = list(other.recorded), list(other.restored)
        self._num_others = other._num_others

    @property
    def records_rows(self) -> bool:
        """Whether a step records something that is of whole steps."""
        return any(not (isinstance(step, Copy) and step.active_only) for step in self.recorded)

    def _check_numbers(self) -> None:
        own = len(self._phases) + len(self._resets)
        if own + self._num_others > MAX_KERNELS:
            raise DeclarationError(
                f"{self._name}: {own} phases and resets and {self._num_others} other kernels: at most {MAX_KERNELS}"
            )

    def initial_values(self, num_agents: int) -> list[Array]:
        """Arrays with the initial values of the restored ones, in the shape of an env's part.

        Raises:
            DeclarationError: the initial value is not the same for all envs.
        """
        return [_initial_value(array, num_agents) for array in self.restored]

    def step(self, kernel_step: KernelStep, active_only: bool = False) -> list[Step | PythonStep]:
        """Launches and copies of a step.

        Args:
            kernel_step: makes the step of a kernel from the kernel, its number, and whether it runs for the active envs
                only.
            active_only: whether only the envs that the caller marked take part.
        """
        masked = active_only or self._autoreset != "same_step"
        phases = _numbered(self._phases, 0, masked, kernel_step)
        if self._autoreset == "disabled":
            return [BeginStep(active_only), *phases]
        return [BeginStep(active_only), *phases, EndStep(), *self.recorded, *self._new_episodes(kernel_step)]

    def reset(self, kernel_step: KernelStep) -> list[Step | PythonStep]:
        """Launches and copies of a reset of the active envs; see ``step``."""
        return [BeginReset(), *self._new_episodes(kernel_step)]

    def _new_episodes(self, kernel_step: KernelStep) -> list[Step | PythonStep]:
        restores = [Copy(_initial_name(array), array.name, active_only=True, shared=True) for array in self.restored]
        return [*restores, *self.drawn, *_numbered(self._resets, len(self._phases), True, kernel_step)]


def _name_of(entry: Entry) -> str:
    return entry.name if isinstance(entry, Kernel) else getattr(entry, "__name__", repr(entry))


def _entries(environment: Environment, given: Sequence[Phase | Kernel]) -> list[Entry]:
    """Phases or resets, with a Kernel for each name."""
    for entry in given:
        if not isinstance(entry, (str, Kernel)) and not callable(entry):
            raise DeclarationError(
                f"{environment.name}: phase {entry!r}, expected a kernel's name, a Kernel or a callable"
            )
    return [Kernel(entry) if isinstance(entry, str) else entry for entry in given]


def _needed_resets(environment: Environment, kernels: Container[str] | None) -> list[Phase | Kernel]:
    """The environment's resets.

    The default, a kernel ``reset``, may be missing where there is no source file, or where initial values are restored.
    """
    resets = list(environment.resets())
    may_be_missing = kernels is None or any(array.initial is not None for array in environment.arrays())
    is_missing = kernels is None or "reset" not in kernels
    return [] if resets == ["reset"] and may_be_missing and is_missing else resets


def _restored(arrays: Iterable[Array], has_resets: bool) -> list[Array]:
    """The arrays whose initial value comes back: where there are resets, only those that ask for it."""
    own = [array for array in arrays if array.initial is not None and array.per != "world"]
    if has_resets:
        return [array for array in own if array.on_reset == "initial"]
    return [array for array in own if array.on_reset != "keep"]


def _initial_name(array: Array) -> str:
    return f"{array.name}_initial"


def _initial_value(array: Array, num_agents: int) -> Array:
    shape = array.full_shape(1, num_agents)[1:]
    try:
        initial = np.broadcast_to(np.asarray(array.initial), shape)
    except ValueError as error:
        raise DeclarationError(
            f"array '{array.name}': initial value of shape {np.shape(array.initial)}; one that resets restore "
            f"is the same for all envs and broadcasts to {shape}"
        ) from error
    return Array(_initial_name(array), array.dtype, shape, per="world", initial=initial)


def _numbered(entries: Sequence[Entry], first: int, active_only: bool, kernel_step: KernelStep) -> list[Any]:
    """The steps of phases or resets, which are numbered from ``first`` on."""
    return [
        kernel_step(entry, number, active_only) if isinstance(entry, Kernel) else PythonStep(entry, number)
        for number, entry in enumerate(entries, first)
    ]
