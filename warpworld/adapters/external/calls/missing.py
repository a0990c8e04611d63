"""Packages that an exception shows to be missing."""

from __future__ import annotations

from warpworld.errors import said

_LONGEST = 500  # characters of an exception's text

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


def package_of(module: str) -> str:
    """Name for pip of the package that brings a module."""
    top = module.partition(".")[0]
    return _PACKAGES.get(top, top)


def missing_package(error: BaseException) -> str:
    """A package that is not installed, and the command that installs it; empty if an exception has another cause.

    The library's own text is preferred, since it may name extras such as ``gymnasium[box2d]``.
    """
    chain = _chain(error)
    texts = [" ".join(_text(each).split()) for each in chain]
    own = next((text for text in texts if "pip install" in text), "")
    for each in chain:
        if isinstance(each, ModuleNotFoundError) and each.name:
            install = own or f"pip install {package_of(each.name)}"
            return f"{each.name.partition('.')[0]}, which is not installed: {install}"
    is_known = _is_of_import(error) and (bool(own) or not isinstance(error, ImportError))
    return f"a package that is not installed: {own or texts[0]}" if is_known else ""


def one_line(error: BaseException) -> str:
    """The text of a library's exception in one line of at most 500 characters, without a full stop; see ``said``."""
    text = said(error) if _text(error) else type(error).__name__
    return (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...").rstrip(".")


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # of a library's own class
        return ""


def _is_of_import(error: BaseException) -> bool:
    return isinstance(error, ImportError) or type(error).__name__ == "DependencyNotInstalled"  # Gymnasium's


def _chain(error: BaseException) -> list[BaseException]:
    """An exception and those that it was raised from; of failed imports also those that were being handled."""
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in found:
        found.append(following)
        handled = following.__context__ if _is_of_import(following) else None
        following = following.__cause__ or handled
    return found
