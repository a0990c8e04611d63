"""Copies of adapters: whole and on their own with copy.deepcopy, refused by copy.copy and pickle."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, SupportsIndex

from warpworld.errors import StoreError

if TYPE_CHECKING:
    from typing_extensions import Self


class Copied:
    """An adapter that copy.deepcopy copies together with its world.

    All attributes are copied but those that refer to the memory of the world: ``_bind`` makes these anew.
    """

    _bound: ClassVar[tuple[str, ...]] = ()  # attributes that `_bind` sets

    def _bind(self) -> None:
        """Make what refers to the memory of the world."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A second env in the same state: both follow the same trajectory from here, and neither affects the other.

        Raises:
            StoreError: the env is closed, or its environment cannot be copied.
        """
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        kept = {name: value for name, value in vars(self).items() if name not in self._bound}
        vars(copied).update({name: copy.deepcopy(value, memo) for name, value in kept.items()})
        copied._bind()
        return copied

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be pickled, and copied by copy.copy, which would share the world."""
        raise StoreError(
            f"{type(self).__name__} steps a World, which is bound to memory and kernels of this process, so pickle and "
            "copy.copy cannot copy it. Use copy.deepcopy in this process, world.fork() for single envs of a world, or "
            "save world.snapshot() and restore() it in an env made in the same way"
        )
