"""Names and keys of choices, as a group declares them: for replays, traces, and for people who play."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from warpworld.environment.nested_spaces import is_nested
from warpworld.errors import DeclarationError, suggest

# Words for keys; besides these a key is a letter, a digit or one of MARKS. Keys that are held together have a "+"
# between them.
WORDS = ("left", "right", "up", "down", "space")
MARKS = ",.;/-="

Heads = tuple[tuple[str, ...], ...]


def heads_named(space: Space) -> tuple[int, ...]:
    """Number of names that each head of a space takes: of its choices, or of both ends of each number of a Box."""
    if isinstance(space, Discrete):
        return (int(space.n),)
    if isinstance(space, Box):
        return (2,) * int(np.prod(space.shape))
    return tuple(np.broadcast_to(getattr(space, "nvec", 2), space.shape or ()).ravel().tolist())


def checked(where: str, field: str, space: Space, given: Any) -> Any:
    """Names or keys as tuples: a text for each choice of a Discrete, or for each head of another space a tuple of such.

    Raises:
        DeclarationError: the space has no heads of its own, or there are not as many texts as choices.
    """
    if is_nested(space):
        raise DeclarationError(
            f"{where}: {field} are for a Discrete, MultiDiscrete, MultiBinary or Box, and action is {space}"
        )
    sizes = heads_named(space)
    is_single = isinstance(space, Discrete)
    heads = [given] if is_single else given
    if isinstance(heads, (list, tuple)) and list(map(_count, heads)) == list(sizes):
        found = tuple(tuple(head) for head in heads)
        return found[0] if is_single else found
    of_what = "its lowest and its highest value" if isinstance(space, Box) else "its choices"
    several = f"{len(sizes)} tuple{'s' * (len(sizes) != 1)} of texts, each for {of_what}"
    expected = f"{sizes[0]} texts, one for each choice" if is_single else several
    raise DeclarationError(f"{where}: {field}={given!r}, expected {expected}")


def _count(head: Any) -> int | None:
    """Number of texts of a head; None of what is no list of texts."""
    texts = isinstance(head, (list, tuple)) and all(isinstance(text, str) for text in head)
    return len(head) if texts else None


def as_heads(space: Space, given: Any) -> Heads:
    """Texts by head and choice, of what ``checked`` returned; none where there are none."""
    return () if given is None else (given,) if isinstance(space, Discrete) else given


def check_keys(where: str, names: Heads, keys: Heads) -> None:
    """Refuse keys that do not exist, and one that stands for two choices.

    Raises:
        DeclarationError: with the key, and the names of both choices.
    """
    taken: dict[frozenset[str], str] = {}
    for head_names, head_keys in zip(names, keys, strict=True):
        for name, key in zip(head_names, head_keys, strict=True):
            held = key.split("+") if key else []
            for word in held:
                _check_word(where, key, word)
            if held and frozenset(held) in taken:
                raise DeclarationError(
                    f"{where}: action_keys has {key!r} for '{taken[frozenset(held)]}' and for '{name}', expected a key "
                    "of its own for each choice"
                )
            taken[frozenset(held)] = name


def _check_word(where: str, key: str, word: str) -> None:
    is_single = len(word) == 1 and word.isascii() and ((word.isalnum() and word.lower() == word) or word in MARKS)
    if not is_single and word not in WORDS:
        raise DeclarationError(
            f"{where}: action_keys has {key!r}, expected a lower-case letter, a digit, one of {' '.join(MARKS)} or "
            f"{', '.join(WORDS)}; '+' between keys that are held together.{suggest(word, WORDS)}"
        )
