"""Making a library's envs, where a package may be missing and an option may be wrong."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from warpworld.errors import DeclarationError, WarpworldError, said

# Packages by the modules that they bring, where the names differ.
_PACKAGES = {
    "ale_py": "ale-py",
    "Box2D": "box2d",
    "cv2": "opencv-python",
    "multi_agent_ale_py": "multi-agent-ale-py",
    "PIL": "pillow",
    "pyspiel": "open_spiel",
    "yaml": "pyyaml",
}


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
    missing = (error.name or "").partition(".")[0]
    return f"pip install {_PACKAGES.get(missing, missing)}"


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
        if isinstance(error, ModuleNotFoundError) and error.name:
            missing = error.name.partition(".")[0]
            install = f"pip install {_PACKAGES.get(missing, missing)}"
            raise DeclarationError(f"{where} needs {missing}, which is not installed: {install}") from error
        raise DeclarationError(f"{where} cannot be made: {said(error)}") from error
