"""Compiles a kernel file and binds its kernels' parameters, by name, to arrays and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np

from warpworld.environment import MAX_THREADS_PER_ENV, Array, Kernel
from warpworld.errors import BindError, suggest
from warpworld.managers.backend import Argument, Backend, RunKernel
from warpworld.managers.data_manager import DataManager
from warpworld.managers.kernel_source import KernelSource
from warpworld.managers.signature import C_TYPES, Parameter, Signature, read_signatures

Number = int | float | bool

# The world or the caller writes these; kernels may only read them.
READ_ONLY = ("timestep", "clock", "active")

_C_NAMES = {dtype: name for name, (dtype, components) in reversed(C_TYPES.items()) if components == 1}
_C_NAMES |= {"int32": "int", "uint32": "unsigned int", "uint64": "unsigned long long", "int64": "long long", "float16": "__half"}


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
        envs_per_warp: 0, or how many envs share a warp.

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
        envs_per_warp: int = 0,
    ) -> None:
        self._backend, self._data, self._path = backend, data, path
        self._constants, self._scalars = dict(constants), dict(scalars)
        self._aliases, self._writable, self._envs_per_warp = dict(aliases or {}), writable, envs_per_warp
        try:
            self._text = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise BindError(f"cannot read the kernel file {path}: {error}") from error
        self.signatures = read_signatures(path, self._text)
        self._module: Any = None

    def require(self, names: Iterable[str]) -> None:
        """Check that the file has these kernels.

        Raises:
            BindError: it has not; says which it has.
        """
        for name in names:
            if name not in self.signatures:
                has = ", ".join(self.signatures) or "none (kernels that a macro makes are not seen)"
                raise BindError(
                    f"{self._path}: no `__global__` function '{name}'.{suggest(name, self.signatures)} Kernels in the file: {has}"
                )

    def build(self, kernels: Iterable[Kernel]) -> None:
        """Compile the file.

        Args:
            kernels: those that are to run with another number of threads than one per agent.

        Raises:
            BuildError: it does not compile.
        """
        threads = {kernel.name: kernel.threads_per_env for kernel in kernels}
        self._threads = {name: threads.get(name) or int(self._constants["NUM_AGENTS"]) for name in self.signatures}
        for name, count in self._threads.items():
            if count > MAX_THREADS_PER_ENV:
                raise BindError(f"{self._path}: kernel '{name}' needs {count} threads, a block holds {MAX_THREADS_PER_ENV}")
        source = KernelSource(
            path=self._path,
            text=self._text,
            constants=self._constants,
            signatures=tuple(self.signatures.values()),
            threads=tuple(self._threads.values()),
            envs_per_warp=self._envs_per_warp,
        )
        self._module = self._backend.build(source)

    def arguments(self, name: str) -> tuple[Argument, ...]:
        """What each parameter of a kernel is bound to.

        Raises:
            BindError: a parameter names nothing, or something of another type; says what was expected.
        """
        signature = self.signatures[name]
        return tuple(self._bind(signature, parameter) for parameter in signature.parameters)

    def step(self, name: str, index: int, active_only: bool = False, own_env_only: bool = True) -> RunKernel:
        """A step that runs a kernel of the built module."""
        packed = self._envs_per_warp > 0
        return RunKernel(
            module=self._module,
            name=name,
            arguments=self.arguments(name),
            threads=32 if packed else self._threads[name],
            envs_per_block=self._envs_per_warp if packed else 1,
            index=index,
            active_only=active_only,
            own_env_only=own_env_only,
        )

    # ---- one parameter ------------------------------------------------------------------------------------------------
    def _bind(self, signature: Signature, parameter: Parameter) -> Argument:
        known = C_TYPES.get(parameter.type)
        if known is None:
            raise self._refuse(
                signature, parameter, f"type `{parameter.type}` is not known; expected one such as float, int, bool, float2"
            )
        return self._bind_array(signature, parameter, *known) if parameter.pointer else self._bind_scalar(signature, parameter, *known)

    def _refuse(self, signature: Signature, parameter: Parameter, reason: str) -> BindError:
        return BindError(f"{self._path}:{parameter.line}: kernel '{signature.name}', parameter '{parameter.name}': {reason}")

    def _bind_array(self, signature: Signature, parameter: Parameter, dtype: str, components: int) -> Argument:
        name = self._aliases.get(parameter.name, parameter.name)
        if name not in self._data:
            if parameter.name in self._scalars:
                raise self._refuse(
                    signature, parameter, f"is a number, not an array: take it by value, `{parameter.type} {parameter.name}`"
                )
            raise self._refuse(signature, parameter, f"no array of that name.{suggest(name, [*self._data, *self._aliases])}")
        array = self._data.array(name)
        if dtype != array.dtype:
            raise self._refuse(
                signature,
                parameter,
                f"is `{parameter.declaration}`, but the array is {array.dtype}: write `{_C_NAMES[array.dtype]}*`",
            )
        if components > 1 and (not array.shape or array.shape[-1] != components):
            raise self._refuse(
                signature,
                parameter,
                f"is `{parameter.declaration}`, but the array's last dimension is {array.shape[-1] if array.shape else 'absent'}, not {components}",
            )
        if not parameter.const and self._is_read_only(array):
            raise self._refuse(signature, parameter, f"the array is read-only for kernels: write `const {parameter.type}*`")
        return Argument(array=name, value=0, dtype=dtype)

    def _is_read_only(self, array: Array) -> bool:
        return (array.read_only or array.name in READ_ONLY) and array.name not in self._writable

    def _bind_scalar(self, signature: Signature, parameter: Parameter, dtype: str, components: int) -> Argument:
        name = parameter.name
        if name not in self._scalars:
            if self._aliases.get(name, name) in self._data:
                raise self._refuse(
                    signature, parameter, f"is an array, not a number: take a pointer, `{parameter.type}* {parameter.name}`"
                )
            raise self._refuse(signature, parameter, f"no parameter of that name.{suggest(name, [*self._scalars, *self._data])}")
        value = self._scalars[name]
        if components > 1 or isinstance(value, (str, tuple, list)) or value is None:
            raise self._refuse(signature, parameter, f"its value {value!r} cannot be passed by value as `{parameter.type}`")
        if not _fits(value, dtype):
            raise self._refuse(signature, parameter, f"is `{parameter.type}`, but its value is {value!r}")
        return Argument(array=None, value=value, dtype=dtype)


def _fits(value: Number, dtype: str) -> bool:
    """Whether a Python number can be passed as ``dtype`` without losing its meaning."""
    kind = np.dtype(dtype).kind
    if isinstance(value, bool):
        return kind in "biu"
    if isinstance(value, int):
        if kind == "b":
            return False
        return kind == "f" or np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    return kind == "f"
