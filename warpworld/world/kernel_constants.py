"""What kernels know as numbers: scalars that are passed to them, and macros that they are compiled with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from warpworld.environment import Environment, Group
from warpworld.environment.spaces import space_constants
from warpworld.errors import DeclarationError, suggest
from warpworld.managers.numbers import Number, Scalar, scalar_of


def scalars_of(environment: Environment, own: Mapping[str, int]) -> dict[str, Scalar]:
    """The environment's Params as they are declared, and the world's ``own`` numbers, such as ``num_envs``.

    Raises:
        DeclarationError: the Params have another value under one of those names.
    """
    params = dataclasses.asdict(environment.params)
    for name, value in own.items():
        if params.get(name, value) != value:
            raise DeclarationError(
                f"{environment.name}: Params has {name}={params[name]!r}, but the world's own {name} is {value}; "
                "give the parameter another name"
            )
    declared = {field.name: field.type for field in dataclasses.fields(environment.params)}
    numbers = {name: scalar_of(value, declared[name]) for name, value in params.items()}
    return {**numbers, **{name: scalar_of(value) for name, value in own.items()}}


def macros_of(environment: Environment, groups: Mapping[str, Group]) -> dict[str, Number]:
    """``NUM_AGENTS``, what the groups' spaces make, and the Params that ``compile_time`` names.

    Raises:
        DeclarationError: one of these is no number, or has the name of another constant.
    """
    constants: dict[str, Number] = {
        "NUM_AGENTS": sum(group.size for group in groups.values()),
        **space_constants(groups),
    }
    params = dataclasses.asdict(environment.params)
    for name in environment.compile_time:
        if not isinstance(params.get(name), (bool, int, float)):
            raise DeclarationError(
                f"{environment.name}: compile_time names '{name}', which is no number among the Params."
                f"{suggest(name, params)}"
            )
        if constants.get(name.upper(), params[name]) != params[name]:
            raise DeclarationError(
                f"{environment.name}: compile_time '{name}' makes the constant {name.upper()}={params[name]}, which "
                f"the world sets to {constants[name.upper()]}; give the parameter another name"
            )
        constants[name.upper()] = params[name]
    return constants
