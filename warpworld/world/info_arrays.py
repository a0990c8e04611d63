"""The arrays that adapters report as infos."""

from __future__ import annotations

from warpworld.environment import Environment, check_names
from warpworld.errors import DeclarationError, suggest
from warpworld.managers import DataManager


def checked_infos(environment: Environment, data: DataManager) -> tuple[str, ...]:
    """The names in ``infos``, as the environment gives them.

    Args:
        environment: names them.
        data: the world's arrays.

    Raises:
        DeclarationError: ``infos`` is not a tuple of names, there is no such array, it is not per agent or per env, or
            it is scratch.
    """
    check_names(environment.name, "infos", environment.infos)
    for name in environment.infos:
        if name not in data:
            raise DeclarationError(
                f"{environment.name}: infos names '{name}', which is not an array of this world.{suggest(name, data)}"
            )
        if data.array(name).per == "world":
            raise DeclarationError(
                f"{environment.name}: infos names '{name}', an array per world, expected one per agent or per env"
            )
        if data.array(name).scratch:
            raise DeclarationError(
                f"{environment.name}: infos names '{name}', which is scratch, so its contents mean nothing between "
                "launches; declare it without scratch=True"
            )
    return tuple(environment.infos)
