"""The kernels that an environment's phases and resets run."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from warpworld.environment import Environment, Group, Kernel
from warpworld.errors import BindError
from warpworld.managers import Backend, DataManager, FunctionManager, RunKernel, Scalar, Step
from warpworld.managers.spellings import stem
from warpworld.world.beside_the_store import BesideTheStore, add_arrays, beside_the_store, kernels_of
from warpworld.world.kernel_constants import macros_of

# Kernels that are compiled behind the file of an environment whose envs have objects.
RESIDENTS_SOURCE = Path(__file__).resolve().parent / "residents.cu"

_RESIDENT = re.compile(r"^\s*RESIDENT\s*\(", re.MULTILINE)

logger = logging.getLogger(__name__)


class EnvironmentKernels:
    """The kernels of an environment's source file; none where it has no such file.

    Attributes:
        functions: of the file.
        residents: the objects of envs once they are made, or what envs keep outside of the store.

    Args:
        backend: what compiles them.
        data: the store whose arrays they take.
        environment: names the file, and what it is compiled with.
        groups: the environment's groups by name.
        scalars: numbers that parameters passed by value may name.
        envs_per_warp: see World.

    Raises:
        BindError, DeclarationError: the file or a declaration is wrong.
    """

    def __init__(
        self,
        backend: Backend,
        data: DataManager,
        environment: Environment,
        groups: Mapping[str, Group],
        scalars: Mapping[str, Scalar],
        envs_per_warp: int | None,
    ) -> None:
        self._data, path, host = data, environment.source_path(), environment.host_code()
        self.functions = (
            None
            if path is None
            else FunctionManager(
                backend,
                data,
                path,
                macros_of(environment, groups),
                scalars,
                envs_per_warp=envs_per_warp,
                includes=environment.includes,
                contents=environment.constants(),
                behind=[RESIDENTS_SOURCE] if environment.resident_bytes else [],
                host=host,
            )
        )
        if self.functions is not None:
            _check_residents(environment, self.functions)
        self._environment = environment
        self.residents: BesideTheStore | None = None
        add_arrays(data, environment)

    @property
    def names(self) -> Collection[str] | None:
        """Names of the kernels in the file; None where there is no file."""
        return None if self.functions is None else self.functions.signatures

    @property
    def envs_per_warp(self) -> int:
        """Number of envs that share a warp, 0 for one env a block and if there is no file."""
        return 0 if self.functions is None else self.functions.envs_per_warp

    def array_names(self, kernels: Iterable[Kernel]) -> set[str]:
        """Names that kernels take for arrays, or may: of pointers, and in their arguments.

        Args:
            kernels: those that the world runs; one that lists its arguments binds nothing by name.
        """
        if self.functions is None:
            return set()
        listed = [(kernel.name, kernel.arguments) for kernel in kernels if kernel.arguments is not None]
        by_name: list[tuple[str, Mapping[str, Any]]] = [
            (name, {}) for name in self.functions.signatures if name not in dict(listed)
        ]
        return {name for each in (*listed, *by_name) for name in self._taken(*each)}

    def _taken(self, kernel: str, given: Iterable[Any] | Mapping[str, Any]) -> set[str]:
        """Names that one kernel takes for arrays, or may."""
        if not isinstance(given, Mapping):
            return {entry for entry in given if isinstance(entry, str)}
        assert self.functions is not None
        leaves = self.functions.signatures[kernel].leaves
        names = {leaf.parameter.name for leaf in leaves if leaf.parameter.pointer} - set(given)
        return self._stands_for(names) | {entry for entry in given.values() if isinstance(entry, str)}

    def _stands_for(self, names: set[str]) -> set[str]:
        """Names of parameters, and in a file of WarpDrive's the arrays that they may stand for if none is called so."""
        assert self.functions is not None
        return names | ({stem(name) for name in names if name not in self._data} if self.functions.ported else set())

    def require(self, kernels: Iterable[Kernel]) -> None:
        """Check that the file has these kernels; raises BindError or BuildError where it has not."""
        if self.functions is not None:
            self.functions.require(kernel.name for kernel in kernels)

    def build(self, kernels: Collection[Kernel], scripts: Collection[Kernel] = ()) -> None:
        """Check what these kernels' parameters are bound to, and compile the file; similar names are logged.

        Args:
            kernels: of phases and resets.
            scripts: kernels of scripts, which ``script_step`` binds.

        Raises:
            BindError, BuildError: a parameter fits nothing, or the file does not compile.
        """
        if self.functions is not None:
            for kernel in kernels:
                self.functions.arguments(kernel.name, kernel.arguments)
                self._log_readings(self.functions, kernel)
            self.functions.build([*kernels, *scripts, *kernels_of(self._environment)])

    def make_residents(self, program: Callable[[list[Step]], Callable[[], None]]) -> BesideTheStore | None:
        """Prepare what holds states of envs beside the store, once the file is built and the store sealed; or None.

        Args:
            program: ``World.program``.
        """
        self.residents = beside_the_store(self._data, self._environment, self.functions, program)
        return self.residents

    def destroy_residents(self) -> None:
        """Destroy the objects of envs, if there are any."""
        if self.residents is not None:
            self.residents.destroy()
            self.residents = None

    @staticmethod
    def _log_readings(functions: FunctionManager, kernel: Kernel) -> None:
        """Log what parameters of a WarpDrive kernel stand for, where the names only resemble each other."""
        readings = functions.readings(kernel.name, kernel.arguments)
        if readings:
            place = functions.signatures[kernel.name]
            logger.info(
                "%s:%d: kernel '%s' takes by similar names: %s",
                place.path.name,
                place.line,
                kernel.name,
                ", ".join(f"{name} = {meant}" for name, meant in readings.items()),
            )

    def step(self, kernel: Kernel, number: int, active_only: bool) -> RunKernel:
        """The step that runs a kernel of the built file under a number, for all envs or for the active ones."""
        assert self.functions is not None  # a pipeline has kernels only where there is a file
        return self.functions.step(kernel.name, number, active_only, kernel.own_env_only, kernel.arguments)

    def script_step(self, kernel: Kernel, played: Mapping[str, str | int]) -> RunKernel:
        """The step in which a script's kernel plays a group.

        Args:
            kernel: of the built file.
            played: fields of ``Played`` in script.cuh.

        Raises:
            BindError: the kernel takes nothing that it could write outputs to, or a parameter fits nothing.
        """
        assert self.functions is not None  # an environment has scripts in kernels only where there is a file
        signature = self.functions.signatures[kernel.name]
        names = {leaf.parameter.name for leaf in signature.leaves}
        if "script_outputs" not in names:
            raise BindError(
                f"{signature.path}:{signature.line}: kernel '{kernel.name}' is a script, but has no outputs; include "
                "<script.cuh> and take `Played played`"
            )
        own = kernel.arguments if isinstance(kernel.arguments, Mapping) else {}
        given = {name: entry for name, entry in played.items() if name in names}
        return self.functions.step(kernel.name, 0, own_env_only=kernel.own_env_only, given={**given, **own})


def _check_residents(environment: Environment, functions: FunctionManager) -> None:
    """Check that a file has a class for its envs' objects where they are declared, and only there."""
    path, has_class = environment.source_path(), functions.mentions(_RESIDENT)
    if environment.resident_bytes and not has_class:
        raise BindError(
            f"{path}: resident_bytes={environment.resident_bytes}, but the file does not say of which class the envs' "
            "objects are; include <resident.hpp> and write RESIDENT(Class);"
        )
    if has_class and not environment.resident_bytes:
        raise BindError(
            f"{path}: RESIDENT gives each env an object, but the environment does not say how many bytes it saves at "
            "most; declare resident_bytes, and devices = ('cpu',)"
        )
