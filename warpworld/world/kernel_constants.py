"""Numbers that kernels know: the world's own, those passed to them, and macros that they are compiled with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from warpworld.environment import Environment, Group, plain_types, space_constants
from warpworld.errors import DeclarationError, suggest
from warpworld.managers import AUTORESET, Number, Scalar, WorldConstants, scalar_of


def world_constants(num_envs: Any, first_env: Any, seed: Any, autoreset: Any) -> WorldConstants:
    """Arguments of a world, in plain types.

    Raises:
        DeclarationError: a number is not whole or out of its range, or there is no such way to reset.
    """
    if autoreset not in AUTORESET:
        raise DeclarationError(
            f"autoreset={autoreset!r}: expected one of {', '.join(AUTORESET)}.{suggest(str(autoreset), AUTORESET)}"
        )
    return WorldConstants(
        whole_number("num_envs", num_envs, 1),
        whole_number("first_env", first_env, 0, bits=31),
        whole_number("seed", seed, 0, bits=64),
        autoreset,
    )


def whole_number(name: str, value: Any, lowest: int, bits: int | None = None) -> int:
    """A whole number of at least ``lowest``, and below two to the power of ``bits``; a bool does not count.

    Raises:
        DeclarationError: it is not; with what was given and what is expected.
    """
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < lowest or (bits is not None and value >= 2**bits):
        below = "" if bits is None else f" and below 2^{bits}"
        raise DeclarationError(f"{name}={value!r}: expected a whole number of at least {lowest}{below}")
    return int(value)


def scalars_of(environment: Environment, world: WorldConstants, num_agents: int) -> dict[str, Scalar]:
    """The environment's Params as they are declared, and the world's own ``num_envs``, ``num_agents`` and ``seed``.

    Params of which each env has a value of its own are arrays instead.

    Raises:
        DeclarationError: the Params have another value under one of those names.
    """
    own = {"num_envs": world.num_envs, "num_agents": num_agents, "seed": world.seed}
    params = dataclasses.asdict(environment.params)
    for name, value in own.items():
        if params.get(name, value) != value:
            raise DeclarationError(
                f"{environment.name}: Params has {name}={params[name]!r}, but the world's own {name} is {value}; "
                "give the parameter another name"
            )
    declared = plain_types(environment.Params)
    by_value = {name: value for name, value in params.items() if name not in environment.per_env}
    numbers = {name: scalar_of(value, declared[name]) for name, value in by_value.items()}
    return {**numbers, **{name: scalar_of(value) for name, value in own.items()}}


def macros_of(environment: Environment, groups: Mapping[str, Group]) -> dict[str, Number]:
    """``NUM_AGENTS``, what the groups' spaces make, and the Params that ``compile_time`` names.

    Raises:
        DeclarationError: one of these is not a number, or has the name of another constant.
    """
    constants: dict[str, Number] = {
        "NUM_AGENTS": sum(group.size for group in groups.values()),
        **space_constants(groups),
        **({"RESIDENT_BYTES": environment.resident_bytes} if environment.resident_bytes else {}),
    }
    params = dataclasses.asdict(environment.params)
    for name in environment.compile_time:
        if not isinstance(params.get(name), (bool, int, float)):
            raise DeclarationError(
                f"{environment.name}: compile_time names '{name}', which is not a number among the Params."
                f"{suggest(name, params)}"
            )
        if constants.get(name.upper(), params[name]) != params[name]:
            raise DeclarationError(
                f"{environment.name}: compile_time '{name}' makes the constant {name.upper()}={params[name]}, which "
                f"the world sets to {constants[name.upper()]}; give the parameter another name"
            )
        constants[name.upper()] = params[name]
    return constants
