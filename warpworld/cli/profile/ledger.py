"""What parts of a program use, each without the parts within it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Part:
    """Something that an iteration does.

    Attributes:
        name: of what is done.
        policy: for which policy; empty for all.
    """

    name: str
    policy: str = ""


class Ledger:
    """Books what a meter counts to the innermost part that is under way.

    Attributes:
        totals: of each part, in the order in which parts ended first; as many numbers as the meter gives.

    Args:
        read: the meter: running totals, such as seconds.
    """

    def __init__(self, read: Callable[[], Sequence[float]]) -> None:
        self.totals: dict[Part, list[float]] = {}
        self._read = read
        self._under_way: list[Part] = []
        self._mark: Sequence[float] = ()
        self._replaced: list[tuple[Any, str, Any, bool]] = []

    # ---- booking -----------------------------------------------------------------------------------------------------
    def enter(self, part: Part) -> None:
        """From now on numbers are this part's."""
        self._book()
        self._under_way.append(part if part.policy or not self._under_way else self._inherited(part.name))

    def leave(self) -> None:
        """From now on numbers are those of the part around it again."""
        self._book()
        self._under_way.pop()

    def _inherited(self, name: str) -> Part:
        """A part belongs to the policy that the part around it belongs to."""
        return Part(name, self._under_way[-1].policy)

    def _book(self) -> None:
        now = self._read()
        if self._under_way:
            sums = self.totals.setdefault(self._under_way[-1], [0.0] * len(now))
            for place, (before, after) in enumerate(zip(self._mark, now, strict=True)):
                sums[place] += after - before
        self._mark = self._read()

    # ---- what is watched ---------------------------------------------------------------------------------------------
    def watch(self, owner: Any, name: str, part: Part) -> None:
        """Book each call of a function as a part, until ``restore``; of a generator, each item.

        Args:
            owner: an object, a class or a module.
            name: of the attribute.
            part: without a policy it is that of the part around it.
        """
        self._replaced.append((owner, name, getattr(owner, name), name in vars(owner)))
        setattr(owner, name, self._watched(getattr(owner, name), part))

    def _watched(self, function: Callable[..., Any], part: Part) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            self.enter(part)
            try:
                made = function(*given, **named)
            finally:
                self.leave()
            return self._items(made, part) if isinstance(made, Iterator) else made

        return watched

    def _items(self, made: Iterator[Any], part: Part) -> Iterator[Any]:
        while True:
            self.enter(part)
            try:
                item = next(made, self)
            finally:
                self.leave()
            if item is self:
                return
            yield item

    def restore(self) -> None:
        """Watch nothing any more."""
        for owner, name, before, was_own in reversed(self._replaced):
            if was_own:
                setattr(owner, name, before)
            else:
                delattr(owner, name)
        self._replaced.clear()
