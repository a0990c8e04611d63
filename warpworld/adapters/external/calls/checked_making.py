"""Checks of the envs in Gymnasium's vector environments, by their constructors."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from warpworld.adapters.external.calls.checked_env import CheckedEnv
from warpworld.adapters.external.forms import ActionForm, ObservationForm

_LOOPS: tuple[Any, ...] = (SyncVectorEnv, AsyncVectorEnv)
_LOCK = threading.RLock()  # of their constructors


@contextmanager
def checked_envs(where: str, group: str) -> Iterator[None]:
    """Check what each env returns in the vector environments that are made in this context.

    Only their constructor is the same place for all: ``gymnasium.make_vec``, a function of a user's, and worker
    processes, which make their envs themselves. So it is replaced for as long as the context lasts. Those that other
    threads make meanwhile are not checked.

    Args:
        where: library and environment, for messages.
        group: of the agent.

    Raises:
        DeclarationError: a vector environment refuses spaces that the store cannot hold; names a wrapper.
    """
    with _LOCK:
        own = [loop.__init__ for loop in _LOOPS]
        for loop, init in zip(_LOOPS, own, strict=True):
            loop.__init__ = _checking(init, where, group)
        try:
            yield
        finally:
            for loop, init in zip(_LOOPS, own, strict=True):
                loop.__init__ = init


def _checking(init: Callable[..., None], where: str, group: str) -> Callable[..., None]:
    """The constructor of a loop over envs, with checked ones in the present thread."""
    thread = threading.get_ident()

    @wraps(init)
    def begin(self: Any, env_fns: Iterable[Callable[[], Any]], *args: Any, **kwargs: Any) -> None:
        if threading.get_ident() != thread:
            init(self, env_fns, *args, **kwargs)
            return
        try:
            init(self, [partial(_checked, make, os.getpid()) for make in env_fns], *args, **kwargs)
        except Exception:  # of shared memory, which has no place for a Sequence, or of the env
            _refuse_spaces(self, where, group)
            raise

    return begin


def _refuse_spaces(loop: Any, where: str, group: str) -> None:
    """Refuse spaces that the store cannot hold, of a loop that could not be made."""
    observation, action = (getattr(loop, f"single_{name}_space", None) for name in ("observation", "action"))
    if action is not None and observation is not None:
        ObservationForm(observation, action, where, group)
    elif action is not None:
        ActionForm(action, f"{where}: group '{group}'")


def _checked(make: Callable[[], Any], caller: int) -> Any:
    """An env that is checked, if it is one of Gymnasium's.

    Args:
        make: makes it.
        caller: the process that makes the vector environment; another one is a worker, which it ends by SIGTERM. So a
            worker does not keep the handlers of a training, during which it may have been forked.
    """
    if os.getpid() != caller:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the training decides
    env = make()
    return CheckedEnv(env) if isinstance(env, gymnasium.Env) else env
