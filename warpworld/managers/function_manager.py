"""Compiles a kernel file and binds its kernels' parameters, by name, to arrays and numbers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np

from warpworld.environment import MAX_THREADS_PER_ENV, Array, Kernel
from warpworld.errors import BindError, BuildError, suggest
from warpworld.managers.backend import Argument, Backend, RunKernel
from warpworld.managers.compiler_errors import TOO_MUCH_SHARED
from warpworld.managers.data_manager import DataManager
from warpworld.managers.kernel_source import KernelSource
from warpworld.managers.signature import C_NAMES, C_TYPES, Parameter, Signature, read_signatures

Number = int | float | bool
WARP = 32  # lanes

# The world or the caller writes these; kernels may only read them.
READ_ONLY = ("timestep", "clock", "active", "row")


class FunctionManager:
    """The kernels of one ``.cu`` file.

    Args:
        backend: what compiles them.
        data: the store whose arrays they take.
        path: the file.
        constants: macros that the build defines; ``NUM_AGENTS`` is among them.
        scalars: numbers that parameters passed by value may name.
        aliases: parameter name -> array name, where they differ.
        writable: arrays that are read-only for other kernels, but not for these.
        envs_per_warp: how many envs share a warp, 0 for one env a block; None for what the backend likes best, where
            the kernels allow it.

    Raises:
        BindError: the file cannot be read, or a kernel in it cannot be bound by name.
    """

    def __init__(
        self,
        backend: Backend,
        data: DataManager,
        path: Path,
        constants: Mapping[str, Number],
        scalars: Mapping[str, Number],
        aliases: Mapping[str, str] | None = None,
        writable: Set[str] = frozenset(),
        envs_per_warp: int | None = None,
    ) -> None:
        self._backend, self._data, self._path = backend, data, path
        self._constants = {name: _plain(value) for name, value in constants.items()}
        self._scalars = {name: _plain(value) for name, value in scalars.items()}
        self._aliases, self._writable = dict(aliases or {}), writable
        self._asked_envs_per_warp, self._envs_per_warp = envs_per_warp, 0
        for name, value in self._constants.items():
            finite = not isinstance(value, float) or math.isfinite(value)
            if not finite or not _fits(value, "float32" if isinstance(value, float) else "int64"):
                raise BindError(
                    f"{path}: the constant {name} is {value!r}; expected a bool, a 64-bit integer or a finite float32"
                )
        try:
            self._text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise BindError(f"cannot read the kernel file {path}: {error}; it must be a text file in UTF-8") from error
        self.signatures = read_signatures(path, self._text)
        self._threads: dict[str, int] = {}
        self._module: Any = None

    def require(self, names: Iterable[str]) -> None:
        """Check that the file has these kernels.

        Raises:
            BindError: it has not; says which it has.
            BuildError: it has not, since it does not compile.
        """
        for name in names:
            if name not in self.signatures:
                self.build(())  # a syntax error can hide the kernels after it, and the compiler says it better
                has = ", ".join(self.signatures) or "none"
                raise BindError(
                    f"{self._path}: no `__global__` function '{name}'.{suggest(name, self.signatures)} "
                    f"Kernels in the file: {has} (those that a macro makes are not seen)"
                )

    def build(self, kernels: Iterable[Kernel]) -> None:
        """Compile the file.

        Args:
            kernels: those that are to run with another number of threads than one per agent.

        Raises:
            BuildError: it does not compile.
            BindError: a kernel needs more threads than a block has, or is not what the compiler sees.
        """
        self._threads = self._threads_of_blocks(kernels)
        source = KernelSource(
            path=self._path,
            text=self._text,
            constants=self._constants,
            signatures=tuple(self.signatures.values()),
            threads=tuple(self._threads.values()),
        )
        self._envs_per_warp = self._packing(source)
        try:
            self._module = self._backend.build(dataclasses.replace(source, envs_per_warp=self._envs_per_warp))
        except BuildError as error:
            if self._asked_envs_per_warp is not None or TOO_MUCH_SHARED not in error.log:
                raise
            self._envs_per_warp = 0  # one env has the block's memory to itself
            self._module = self._backend.build(source)

    def _packing(self, source: KernelSource) -> int:
        """How many envs share a warp, 0 for one env a block."""
        if self._asked_envs_per_warp is not None:
            return self._asked_envs_per_warp
        num_agents = int(self._constants["NUM_AGENTS"])
        can_share = set(self._threads.values()) <= {num_agents} and source.uses_header_words_only()
        fitting = WARP // num_agents
        return fitting if self._backend.packs_envs and can_share and fitting > 1 else 0

    def _threads_of_blocks(self, kernels: Iterable[Kernel]) -> dict[str, int]:
        num_agents = int(self._constants["NUM_AGENTS"])
        asked: dict[str, int] = {}
        for kernel in kernels:
            threads = kernel.threads_per_env or num_agents
            if asked.setdefault(kernel.name, threads) != threads:
                raise BindError(
                    f"{self._path}: kernel '{kernel.name}' is asked for with {asked[kernel.name]} and with {threads} "
                    "threads_per_env; a kernel has one number"
                )
            if self._asked_envs_per_warp and threads != num_agents:
                raise BindError(
                    f"{self._path}: kernel '{kernel.name}' has {threads} threads_per_env; only kernels of one thread "
                    "per agent can share a warp with other envs"
                )
        found = {name: asked.get(name, num_agents) for name in self.signatures}
        for name, threads in found.items():
            if threads > MAX_THREADS_PER_ENV:
                raise BindError(
                    f"{self._path}:{self.signatures[name].line}: kernel '{name}' needs {threads} threads, one per "
                    f"agent; a block holds at most {MAX_THREADS_PER_ENV}: ask for fewer agents"
                )
        return found

    def arguments(self, name: str) -> tuple[Argument, ...]:
        """What each parameter of a kernel is bound to.

        Raises:
            BindError: a parameter names nothing, or something of another type; says what was expected.
        """
        signature = self.signatures[name]
        return tuple(self._bind(signature, parameter) for parameter in signature.parameters)

    def step(self, name: str, index: int, active_only: bool = False, own_env_only: bool = True) -> RunKernel:
        """A step that runs a kernel of the built module."""
        warps = self._backend.warps_per_block
        packed = self._envs_per_warp > 0
        return RunKernel(
            module=self._module,
            name=name,
            arguments=self.arguments(name),
            threads=WARP * warps if packed else self._threads[name],
            envs_per_block=self._envs_per_warp * warps if packed else 1,
            index=index,
            active_only=active_only,
            own_env_only=own_env_only,
        )

    # ---- one parameter ----------------------------------------------------------------------------------------------
    def _bind(self, signature: Signature, parameter: Parameter) -> Argument:
        known = C_TYPES.get(parameter.type)
        bound: Argument | str
        if known is None:
            bound = f"type `{parameter.type}` is not known; write it out as one such as float, int, bool or float2"
        elif parameter.pointer:
            bound = self._array(parameter, *known)
        else:
            bound = self._number(parameter, *known)
        if isinstance(bound, Argument):
            return bound
        given = f"`{parameter.declaration} {parameter.name}`"
        raise BindError(f"{self._path}:{parameter.line}: kernel '{signature.name}', parameter {given}: {bound}")

    def _array(self, parameter: Parameter, dtype: str, components: int) -> Argument | str:
        """What a pointer is bound to, or why it is not."""
        name = self._aliases.get(parameter.name, parameter.name)
        if name not in self._data:
            if name in self._scalars:
                return f"'{name}' is a number, not an array: write `{parameter.type} {name}`"
            return f"no array of that name.{self._nearest(name, [*self._data, *self._aliases])}"
        array = self._data.array(name)
        if dtype != array.dtype:
            return f"the array is {array.dtype}: write `{self._pointer_to(array, parameter)}`"
        if components > 1 and array.shape[-1:] != (components,):
            last = (
                f"{array.shape[-1]}, not {components}" if array.shape else f"that of agents or envs, not {components}"
            )
            return f"the array's last dimension is {last}: write `{self._pointer_to(array, parameter)}`"
        if not parameter.const and self._is_read_only(array):
            return f"the array is read-only for kernels: write `const {parameter.type}* {parameter.name}`"
        return Argument(array=name, value=0, dtype=dtype)

    def _is_read_only(self, array: Array) -> bool:
        return (array.read_only or array.name in READ_ONLY) and array.name not in self._writable

    def _pointer_to(self, array: Array, parameter: Parameter) -> str:
        const = "const " if parameter.const or self._is_read_only(array) else ""
        return f"{const}{C_NAMES[array.dtype]}* {parameter.name}"

    def _number(self, parameter: Parameter, dtype: str, components: int) -> Argument | str:
        """What a parameter that is passed by value is bound to, or why it is not."""
        name = parameter.name
        if name not in self._scalars:
            array = self._aliases.get(name, name)
            if array in self._data:
                expected = self._pointer_to(self._data.array(array), parameter)
                return f"'{name}' is an array, not a number: write `{expected}`"
            return f"no parameter or world constant of that name.{self._nearest(name, self._scalars, self._data)}"
        value = self._scalars[name]
        if not isinstance(value, (bool, int, float)):
            return f"its value is {value!r}; only numbers and bools reach a kernel, so leave it to Python"
        if components > 1 or not _fits(value, dtype):
            return f"its value is {value!r}: write `{_type_for(value)} {name}`"
        return Argument(array=None, value=value, dtype=dtype)

    @staticmethod
    def _nearest(name: str, names: Iterable[str], others: Iterable[str] = ()) -> str:
        """The nearest name, or else all that there are."""
        known = list(names)
        return suggest(name, [*known, *others]) or f" Known: {', '.join(known)}"


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _fits(value: Number, dtype: str) -> bool:
    """Whether a Python number can be passed as ``dtype`` without losing its meaning."""
    kind = np.dtype(dtype).kind
    if isinstance(value, bool):
        return kind in "biu"
    if kind == "f":
        return abs(value) <= float(np.finfo(dtype).max) or value != value or abs(value) == math.inf
    return isinstance(value, int) and kind in "iu" and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


def _type_for(value: Number) -> str:
    """The C type that an author would take for a number."""
    if isinstance(value, bool):
        return "bool"
    candidates = ("int32", "int64", "uint64") if isinstance(value, int) else ("float32", "float64")
    return next((C_NAMES[dtype] for dtype in candidates if _fits(value, dtype)), "double")
