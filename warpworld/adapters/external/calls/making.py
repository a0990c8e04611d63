"""Making a library's envs, where a package may be missing and an option may be wrong."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from warpworld.adapters.external.calls.missing import missing_package, one_line, package_of
from warpworld.errors import DeclarationError, WarpworldError, said


def imported(library: str, module: str, install: str) -> Any:
    """A module of a library.

    Args:
        library: as ``env.library`` names it.
        module: to import.
        install: packages for pip, in one text.

    Raises:
        DeclarationError: it cannot be imported; names what is missing and how to install it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        raise DeclarationError(
            f"external: library '{library}' needs {missing}, which is not installed: pip install {install}"
        ) from error


def environments_module(name: str) -> Any:
    """The module of a PettingZoo environment.

    Raises:
        DeclarationError: there is no such module, or it needs a package that is not installed.
    """
    where = f"external: id='{name}'"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{name}.".startswith(f"{error.name}."):
            raise DeclarationError(
                f"{where} needs {error.name}, which is not installed: {_install(name, error)}"
            ) from error
        raise DeclarationError(
            f"{where} is not the module of a PettingZoo environment, such as mpe2.simple_spread_v3: {said(error)}"
        ) from error
    except (ImportError, ValueError, TypeError) as error:  # TypeError: of a name that begins with a dot
        raise DeclarationError(f"{where} cannot be imported: {said(error)}") from error


def _install(name: str, error: ModuleNotFoundError) -> str:
    """The command that installs a module which an environment imports."""
    family, *rest = name.split(".")
    if family == "pettingzoo" and rest:
        return f'pip install "pettingzoo[{rest[0]}]"'
    return f"pip install {package_of(error.name or '')}"


def made(make: Callable[[], Any], num_envs: int, where: str) -> list[Any]:
    """Envs that are made one after the other.

    Raises:
        DeclarationError: one cannot be made; names its index.
    """
    envs = []
    for env in range(num_envs):
        with making(f"{where}: env {env}"):
            envs.append(make())
    return envs


@contextmanager
def making(where: str) -> Iterator[None]:
    """Report whatever a library raises while it makes an env as one error, with the library's own words.

    Args:
        where: library and environment, for the message.

    Raises:
        DeclarationError: in place of an exception of another kind.
    """
    try:
        yield
    except WarpworldError:
        raise
    except Exception as error:  # a library's own code may raise anything
        missing = missing_package(error)
        if missing:
            raise DeclarationError(f"{where} needs {missing}") from error
        raise DeclarationError(
            f"{where} cannot be made: {one_line(error)}. Check env.options; from Python, __cause__ of this "
            "error has the traceback"
        ) from error
