"""Named spans of a training iteration, for `warpworld profile`; without a recorder they do nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")

# of an iteration
ROLLOUT, CHECKS, UPDATE, OTHER = "rollout", "checks, episodes", "update", "other"
# of a rollout; the last is all three in one call of C++
POLICY, SAMPLING, ENV_STEP = "policy", "sampling", "env step"
ACT_AND_STEP = "policies, sampling, env step"
# of an update; the last is the three before it in one call of C++
VALUES, RETURNS, ORDER, NORMALISER = "values", "returns", "order of rows", "normaliser"
DRAW, PRIORITIES = "draw from the replay", "priorities"
GRADIENT, LOSS, STEP = "gradient", "forward and loss", "optimiser"
PASSES = "gradients, optimiser"


@dataclass(frozen=True)
class Span:
    """A named span of an iteration.

    Attributes:
        name: of what is done.
        policy: for which policy; empty for all, or for the policy of the span around it. Of a span that acts, the
            group that the policy acts for.
    """

    name: str
    policy: str = ""


class Recorder(Protocol):
    """A receiver of the beginnings and ends of spans, in order; they are nested."""

    def enter(self, span: Span) -> None:
        """Take note that a span begins."""

    def leave(self) -> None:
        """Take note that the innermost span ends."""


_recorder: Recorder | None = None
_OFF = nullcontext()


def span(name: str, policy: str = "") -> AbstractContextManager[None]:
    """A context that is a span of this name; arguments as a ``Span``'s."""
    return _OFF if _recorder is None else _recorded(_recorder, Span(name, policy))


def spanned(name: str) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """A decorator that makes each call of a function a span."""

    def decorate(function: Callable[Given, Made]) -> Callable[Given, Made]:
        @functools.wraps(function)
        def run(*args: Given.args, **kwargs: Given.kwargs) -> Made:
            if _recorder is None:
                return function(*args, **kwargs)
            with span(name):
                return function(*args, **kwargs)

        return run

    return decorate


def spanned_items(name: str, items: Iterator[Made]) -> Iterator[Made]:
    """Yield the items of an iterator; making each is a span, and work between two is not."""
    end: Any = object()
    while True:
        with span(name):
            item = next(items, end)
        if item is end:
            return
        yield item


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Report all spans to a recorder meanwhile."""
    global _recorder
    before, _recorder = _recorder, recorder
    try:
        yield
    finally:
        _recorder = before


@contextmanager
def _recorded(recorder: Recorder, entered: Span) -> Iterator[None]:
    recorder.enter(entered)
    try:
        yield
    finally:
        recorder.leave()
