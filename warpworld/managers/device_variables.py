"""``__constant__`` and ``__device__`` variables of a kernel file that the host fills once, after loading it."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from warpworld.errors import BindError, StoreError, suggest
from warpworld.managers.array_values import converted
from warpworld.managers.c_types import C_TYPES, canonical_type
from warpworld.managers.source_text import without_comments

_DECLARATION = re.compile(
    r"((?:\b(?:static|extern|const|constexpr)\s+)*)\b__(?:constant|device)__\b([^;{}()=]*)([;={])"
)
_ALIGNMENT = re.compile(r"\b(?:alignas|__align__)\s*\([^()]*\)")
_DECLARATOR = re.compile(r"([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)$")
_QUALIFIERS = {"static", "extern", "volatile", "inline", "const", "constexpr", "__constant__", "__device__"}


@dataclass(frozen=True)
class Declaration:
    """A variable as the file declares it.

    Attributes:
        name: of the variable.
        type: the C type of its elements, in the spelling of ``C_TYPES``.
        dimensions: what is in its brackets: "[10]".
        words: what stands before the type: "static", "const", ...
    """

    name: str
    type: str
    dimensions: str
    words: frozenset[str]

    def __str__(self) -> str:
        return f"{self.name} ({self.type}{self.dimensions})"


@dataclass(frozen=True)
class Filled:
    """A variable with its contents.

    Attributes:
        name: of the variable.
        type: the C type of its elements.
        values: the contents, in the dtype of that type.
    """

    name: str
    type: str
    values: np.ndarray

    @property
    def digest(self) -> str:
        """Distinguishes contents."""
        return hashlib.sha256(self.values.tobytes()).hexdigest()[:16]


def read_declarations(texts: Iterable[str]) -> dict[str, Declaration]:
    """The variables at any place of some files, by name; those that a macro makes are not seen."""
    found: dict[str, Declaration] = {}
    for text in texts:
        for match in _DECLARATION.finditer(_ALIGNMENT.sub(" ", without_comments(text))):
            first, *others = match.group(2).split(",")
            words = [*match.group(1).split(), *re.findall(r"[A-Za-z_][\w:]*", re.sub(r"\[.*", "", first))[:-1]]
            if match.group(3) != ";":
                words = [word for word in words if word != "extern"]  # it has contents, so it is defined here
            c_type = canonical_type([word for word in words if word not in _QUALIFIERS])
            for declarator in (first, *others):
                named = _DECLARATOR.search(declarator.strip())
                if named and c_type and not ("extern" in words and named.group(1) in found):
                    name, dimensions = named.group(1), named.group(2).replace(" ", "")
                    found[name] = Declaration(name, c_type, dimensions, frozenset(words) & _QUALIFIERS)
    return found


def fill(path: Path, declared: Mapping[str, Declaration], contents: Mapping[str, Any]) -> tuple[Filled, ...]:
    """Pair contents with the variables that they are for.

    Args:
        path: the kernel file, for messages.
        declared: its variables.
        contents: what the environment's ``constants()`` gives.

    Raises:
        BindError: there is no such variable, it is const, or its type holds other values; with what was expected.
    """
    if not isinstance(contents, Mapping) or not all(isinstance(name, str) for name in contents):
        raise BindError(f"{path}: constants() is {contents!r}; expected a mapping from variables' names to contents")
    return tuple(_filled(path, declared, name, given) for name, given in contents.items())


def _filled(path: Path, declared: Mapping[str, Declaration], name: str, given: Any) -> Filled:
    variable = declared.get(name)
    where = f"{path}: constant '{name}'"
    # a variable that the host can fill
    if variable is None:
        has = ", ".join(map(str, declared.values())) or "none"
        raise BindError(
            f"{where}: the file has no `__constant__` or `__device__` variable of that name."
            f"{suggest(name, declared)} It has: {has}"
        )
    if variable.words & {"const", "constexpr"}:
        raise BindError(f"{where} is const in the file, which gives it its contents: leave it out of constants()")
    if "static" in variable.words:
        raise BindError(f"{where} is static in the file, so the host cannot find it: remove `static`")
    if "extern" in variable.words:
        raise BindError(f"{where} is extern in the file, so it has no memory: remove `extern`")
    if variable.type not in C_TYPES:
        raise BindError(f"{where} is of type `{variable.type}`; only numbers and vectors of them can be filled")
    # numbers of its type
    dtype, components = C_TYPES[variable.type]
    declared_as = f"{variable.type}{variable.dimensions}"
    try:
        values = converted(given, dtype, where)
    except StoreError as error:
        raise BindError(f"{error}; the file has {declared_as}") from error
    # as many as its dimensions hold
    sizes = _sizes(variable.dimensions)
    is_turned = sizes is not None and components == 1 and len(sizes) == values.ndim and sizes != values.shape
    if is_turned or (sizes is not None and values.size != math.prod(sizes) * components):
        expected = math.prod(sizes or ()) * components
        shaped = f" of shape {sizes}, or in one row" if sizes and len(sizes) > 1 else ""
        raise BindError(
            f"{where} is {declared_as}: expected {expected} number{'s' * (expected != 1)}{shaped}, given "
            f"{values.size}, of shape {values.shape}"
        )
    return Filled(name, variable.type, np.ascontiguousarray(values))


def _sizes(dimensions: str) -> tuple[int, ...] | None:
    """The dimensions of a variable, where they are plain numbers."""
    sizes = re.findall(r"\[([^\]]*)\]", dimensions.replace("'", ""))
    return tuple(map(int, sizes)) if all(size.isdecimal() for size in sizes) else None
