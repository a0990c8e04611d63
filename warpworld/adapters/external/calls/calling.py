"""Calls into a library's code, which may raise anything: one error names the call, and chains what was raised."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from warpworld.adapters.external.calls.checked_env import BadResultError
from warpworld.adapters.external.calls.missing import missing_package, one_line
from warpworld.adapters.external.results import RESET_OF_ONE, STEP_OF_ONE, Place
from warpworld.errors import DeclarationError, WarpworldError

_RESULTS = {"reset": RESET_OF_ONE, "step": STEP_OF_ONE}
_LONGEST = 80  # characters of an action in a message
_VECTOR_LOOPS = ("SyncVectorEnv", "AsyncVectorEnv")


class Calling:
    """A context that reports an exception of a library as one error; warpworld's own errors and interrupts pass.

    Args:
        where: library and environment.
        call: name of the method; or of the attribute, see ``attribute``.
        env: index of the env, if it is known; else that of Gymnasium's loop over envs is taken.
        agent: the agent whom the call concerns.
        action: handed over to ``env``, or to all envs of a vector environment.
        is_attribute: whether no method is called, so that messages have no parentheses.

    Raises:
        DeclarationError: in place of an exception of another kind, from which it is raised.
    """

    __slots__ = ("_action", "_agent", "_call", "_env", "_is_attribute", "_where")

    def __init__(
        self,
        where: str,
        call: str,
        env: int | None = None,
        agent: Any = None,
        action: Any = None,
        *,
        is_attribute: bool = False,
    ) -> None:
        self._where, self._call, self._env, self._agent, self._action = where, call, env, agent, action
        self._is_attribute = is_attribute

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, WarpworldError):
            raise DeclarationError(self._report(error, trace)) from error

    def _report(self, error: Exception, trace: TracebackType | None) -> str:
        # the env, from the trace of a loop over envs
        env, action, raised = self._env, self._action, error
        if env is None:
            env, raised = _in_loop(error, trace)
            action = action if env is None or action is None else of_env(action, env)
        # place of the call
        where = f"{Place(self._where, env, self._agent)}:"
        # the fault
        if isinstance(raised, BadResultError):
            return f"{where} {raised}"
        arguments = "" if self._is_attribute else f"({'' if action is None else _short(action)})"
        called, missing = f"{where} {self._call}{arguments}", missing_package(raised)
        if missing:
            return f"{called} needs {missing}"
        return (
            f"{called} raised {_raised(raised, self._call)}. Look for the fault in the environment; from Python, "
            "__cause__ of this error has the traceback"
        )


def attribute(env: Any, name: str, where: str, index: int | None = None) -> Any:
    """An attribute of a library's env, None if it lacks it.

    Args:
        env: of the library.
        name: of the attribute.
        where: library and environment.
        index: of the env, if there are several.

    Raises:
        DeclarationError: reading it raises another exception.
    """
    with Calling(where, name, index, is_attribute=True):
        return getattr(env, name, None)


def _raised(error: Exception, call: str) -> str:
    """Type and text of an exception in one line, and the meaning of those that pipes to workers raise."""
    text = one_line(error)
    named = text if text.startswith(type(error).__name__) else f"{type(error).__name__}: {text}"
    if "values to unpack" in text and call in _RESULTS:
        named += f" ({call}() must return ({', '.join(_RESULTS[call])}))"
    if isinstance(error, (EOFError, ConnectionError)):
        named += " (a worker process of the library has ended)"
    return named


def _in_loop(error: Exception, trace: TracebackType | None) -> tuple[int | None, Exception]:
    """The env at which a loop of Gymnasium's vector environments stopped, and the exception that it met there.

    A worker process hands an exception over in parts, from which another kind may have been raised here.
    """
    found, raised = None, error
    while trace is not None:
        names = trace.tb_frame.f_locals
        following = trace.tb_next
        if _is_a(names.get("self"), *_VECTOR_LOOPS):
            is_in_env = following is not None and following.tb_frame.f_code.co_name in ("reset", "step")
            index = names.get("index", names.get("i") if is_in_env else None)
            found = int(index) if isinstance(index, int) else found
            value = names.get("value")
            raised = value if isinstance(value, Exception) else raised
        trace = following
    return found, raised


def _is_a(given: Any, *names: str) -> bool:
    """Whether an object's class, or one that it is derived from, has one of these names."""
    return any(cls.__name__ in names for cls in type(given).__mro__)


def of_env(batch: Any, env: int) -> Any:
    """Take one env's part of a batch of actions or masks, which may be nested in tuples and mappings."""
    if isinstance(batch, Mapping):
        return {key: of_env(part, env) for key, part in batch.items()}
    return tuple(of_env(part, env) for part in batch) if isinstance(batch, tuple) else batch[env]


def row_of(batch: Any, env: int, where: str) -> Any:
    """Take one env's part of a batch that a library returned.

    Raises:
        DeclarationError: it has none; the message begins with ``where``.
    """
    try:
        return of_env(batch, env)
    except (IndexError, KeyError, TypeError) as error:
        raise DeclarationError(f"{where} is {_short(batch)}, expected a row for each env, and for env {env}") from error


def _short(action: Any) -> str:
    text = " ".join(repr(action).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


@contextmanager
def quietly(envs: Any) -> Iterator[None]:
    """Keep Gymnasium from printing the tracebacks of its worker processes, of which an error names the last line."""
    if not _is_a(getattr(envs, "unwrapped", envs), "AsyncVectorEnv"):
        yield
        return
    with _QUIET:
        yield


class _Quiet:
    """A context in which Gymnasium's errors are not printed; threads may be in it at the same time."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._filters = warnings.catch_warnings()
                self._filters.__enter__()
                warnings.filterwarnings("ignore", message=r".*ERROR: ")  # as gymnasium.logger.error begins
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._filters.__exit__(None, None, None)


_QUIET = _Quiet()  # filters are the whole process's
