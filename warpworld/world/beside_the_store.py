"""States of envs that are held beside the store: by objects of a C++ class, or by the environment itself."""

from __future__ import annotations

from collections.abc import Callable

from warpworld.environment import Environment, Kernel
from warpworld.managers import DataManager, FunctionManager, Step
from warpworld.world.outside_states import OutsideStates, add_outside_arrays
from warpworld.world.residents import Residents, add_resident_arrays, resident_kernels

BesideTheStore = Residents | OutsideStates


def add_arrays(data: DataManager, environment: Environment) -> None:
    """Add the arrays that such states are taken into."""
    if environment.resident_bytes:
        add_resident_arrays(data, environment.resident_bytes)
    if environment.outside_bytes:
        add_outside_arrays(data, environment.outside_bytes)


def kernels_of(environment: Environment) -> list[Kernel]:
    """The kernels behind an environment's file that such states need."""
    return resident_kernels() if environment.resident_bytes else []


def beside_the_store(
    data: DataManager,
    environment: Environment,
    functions: FunctionManager | None,
    program: Callable[[list[Step]], Callable[[], None]],
) -> BesideTheStore | None:
    """Prepare what holds such states.

    Returns:
        It; None where there are none.

    Args:
        data: a sealed store.
        environment: of the world.
        functions: its kernels, built.
        program: ``World.program``.
    """
    if environment.resident_bytes and functions is not None:
        return Residents(data, functions, program)
    return OutsideStates(data, environment) if environment.outside_bytes else None
