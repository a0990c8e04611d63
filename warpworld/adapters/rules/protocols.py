"""Protocols that ``make(api=...)`` offers; their classes are imported when they are asked for."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from dataclasses import dataclass
from typing import Any

from warpworld.errors import DeclarationError, suggest
from warpworld.managers import Autoreset
from warpworld.world import World


@dataclass(frozen=True)
class Protocol:
    """Entry of the table of protocols.

    Attributes:
        name: the value of ``api``.
        adapter: ``module:callable`` that takes a World and keyword options; empty for the World itself.
        autoresets: the ways to reset that it can speak of; the first is the usual one.
        one_env: whether it speaks of one env only.
        package: what must be installed for it.
        of_many: of one env: the protocol that has many.
    """

    name: str
    adapter: str
    autoresets: tuple[Autoreset, ...] = ("disabled",)
    one_env: bool = False
    package: str = "gymnasium"
    of_many: str = "gymnasium"

    def spoken_by(self, world: World, **options: Any) -> Any:
        """The adapter of a world; errors as of ``load``, and the adapter's own."""
        return self.load()(world, **options) if self.adapter else world

    def options(self) -> set[str]:
        """Names of the adapter's own keyword options; errors as of ``load``."""
        parameters = inspect.signature(self.load()).parameters.values() if self.adapter else ()
        return {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}

    def load(self) -> Any:
        """Import the adapter.

        Raises:
            DeclarationError: the package that it needs is not installed.
        """
        if importlib.util.find_spec(self.package) is None:
            raise DeclarationError(
                f"api='{self.name}' needs {self.package}, which is not installed: pip install 'warpworld[adapters]'"
            )
        module, _, attribute = self.adapter.partition(":")
        return getattr(importlib.import_module(module), attribute)

    def check(self, world: Any) -> None:
        """Check a world that an adapter is to speak for.

        Raises:
            DeclarationError: it is no World, or the protocol cannot speak of so many envs, or of envs that reset in
                this way.
        """
        if not isinstance(world, World):
            raise DeclarationError(f"api='{self.name}' wraps a World, not {world!r}")
        if self.one_env and world.num_envs != 1:
            given, many = f"num_envs={world.num_envs}", f"api='{self.of_many}'"
            raise DeclarationError(f"api='{self.name}' is one env: {given}, expected 1; many envs are {many}")
        if world.autoreset not in self.autoresets:
            expected = " or ".join(map(repr, self.autoresets))
            raise DeclarationError(f"api='{self.name}': autoreset='{world.autoreset}', expected {expected}")


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("world", "", ("same_step", "next_step", "disabled")),
        Protocol("gymnasium", "warpworld.adapters.vector:VectorEnv", ("next_step", "same_step", "disabled")),
        Protocol("single", "warpworld.adapters.single:Env", one_env=True),
        Protocol(
            "parallel", "warpworld.adapters.parallel:ParallelEnv", ("disabled",), True, "pettingzoo", "parallel_vector"
        ),
        Protocol(
            "parallel_vector",
            "warpworld.adapters.parallel_vector:ParallelVectorEnv",
            ("next_step", "same_step", "disabled"),
        ),
        Protocol("aec", "warpworld.adapters.parallel:aec_env", ("disabled",), True, "pettingzoo", "parallel_vector"),
        Protocol("dm", "warpworld.adapters.dm:DmEnv", ("next_step",), package="dm_env"),
        Protocol("gym", "warpworld.adapters.old_gym:Gym26", one_env=True),
        Protocol("gym21", "warpworld.adapters.old_gym:Gym21", one_env=True),
        Protocol("sb3", "warpworld.adapters.sb3:Sb3VecEnv", ("same_step",), package="stable_baselines3"),
        Protocol("pool", "warpworld.adapters.pools:pool", ("next_step", "same_step")),
    )
}


def protocol_of(api: str) -> Protocol:
    """The protocol that ``api`` names.

    Raises:
        DeclarationError: there is none of that name; the nearest one is suggested.
    """
    if isinstance(api, str) and api in PROTOCOLS:
        return PROTOCOLS[api]
    raise DeclarationError(f"api={api!r}: expected one of {', '.join(PROTOCOLS)}.{suggest(str(api), PROTOCOLS)}")
