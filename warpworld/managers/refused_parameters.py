"""The error that names all parameters of a kernel that cannot be bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpworld.errors import BindError
from warpworld.managers.numbers import Number
from warpworld.managers.signature import ParameterLeaf, Signature


@dataclass(frozen=True)
class Refused:
    """A reason why a leaf cannot be bound.

    Attributes:
        leaf: the parameter or field.
        subject: the leaf in words, and what was given for it.
        reason: what is wrong, and what to write.
        hint: a sentence with the nearest name or all known ones, or an empty string.
        near: the nearest name, for a leaf that is given no array or number; None where there is none.
        unnamed: whether the leaf's name is that of no array or number.
    """

    leaf: ParameterLeaf
    subject: str
    reason: str
    hint: str = ""
    near: str | None = None
    unnamed: bool = False

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.leaf.path}:{self.leaf.parameter.line}"


def refusal(
    signature: Signature, refused: Sequence[Refused], ported: bool, given: Mapping[str, str | Number]
) -> BindError:
    """The error for some leaves of a kernel: one line for one of them, else a line for each.

    Args:
        signature: the kernel's.
        refused: at least one leaf.
        ported: whether the file is to stay as it is, so that the remedy is a mapping of arguments.
        given: entries that are bound by hand already.
    """
    remedy = _remedy(signature, refused, given) if ported else ""
    if len(refused) == 1:
        (only,) = refused
        said = f"{only.place}: kernel '{signature.name}', {only.subject}: {only.reason}{only.hint}"
        return BindError(f"{said} {remedy}".rstrip())
    lines = [f"  {each.place}: {each.subject}: {each.reason}{_short(each.hint)}" for each in refused]
    head = f"{signature.path}:{signature.line}: kernel '{signature.name}': {len(refused)} of its"
    ending = [remedy] if remedy else []
    return BindError("\n".join([f"{head} {len(signature.leaves)} parameters cannot be bound:", *lines, *ending]))


def _short(hint: str) -> str:
    """The nearest name alone: a list of all names would stand in every line."""
    return hint if hint.startswith(" Did you mean") else ""


def _remedy(signature: Signature, refused: Sequence[Refused], given: Mapping[str, str | Number]) -> str:
    """A declaration that binds the parameters whose names are unknown; ``...`` stands for an entry yet to be found."""
    unnamed = [each for each in refused if each.unnamed]
    entries = {each.leaf.parameter.name: f'"{each.near}"' if each.near else "..." for each in unnamed}
    known = {name: f'"{entry}"' if isinstance(entry, str) else repr(entry) for name, entry in given.items()}
    listed = ", ".join(f'"{name}": {entry}' for name, entry in {**known, **entries}.items())
    written = f'Kernel("{signature.name}", arguments={{{listed}}})'
    return f"To bind those that have another name: {written}" if unnamed else ""
