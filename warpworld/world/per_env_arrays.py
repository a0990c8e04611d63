"""Parameters of which each env has a value of its own: their arrays, setting them, and drawing them at resets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.environment import Array, Environment, per_env_dtypes
from warpworld.errors import DeclarationError, StoreError, suggest
from warpworld.managers import DataManager, FunctionManager, RunKernel, converted

if TYPE_CHECKING:
    import torch

RANDOMIZE_SOURCE = Path(__file__).resolve().parent / "randomize.cu"
_KERNELS = {"float32": "draw_floats", "int32": "draw_ints", "bool": "draw_bools"}


def per_env_arrays(environment: Environment, num_envs: int) -> list[Array]:
    """The array of each parameter in ``per_env``.

    Raises:
        DeclarationError: values are given, but not one for each env.
    """
    for name, values in environment.per_env_values.items():
        if len(values) != num_envs:
            raise DeclarationError(
                f"{environment.name}: {name} has {len(values)} values, expected one for each of {num_envs} envs"
            )
    return [
        Array(
            name,
            dtype,
            per="env",
            initial=environment.per_env_values.get(name, getattr(environment.params, name)),
            read_only=True,
            on_reset="keep",
            doc="a parameter, of each env",
        )
        for name, dtype in per_env_dtypes(type(environment)).items()
    ]


def draws(environment: Environment, functions: FunctionManager, index: int) -> list[RunKernel]:
    """The launches that draw the parameters in ``randomize`` anew, for the envs that are reset.

    Args:
        environment: whose parameters they are.
        functions: the built kernels of ``RANDOMIZE_SOURCE``.
        index: the number of these launches in the world.
    """
    return [
        functions.step(_KERNELS[dtype], index, active_only=True, given=(name, *environment.randomize[name], place))
        for place, (name, dtype) in enumerate(per_env_dtypes(type(environment)).items())
        if name in environment.randomize
    ]


def set_params(data: DataManager, environment: Environment, active: Any, values: Mapping[str, Any]) -> None:
    """Set parameters of some envs; see ``World.set_params``."""
    import torch

    for name in values:
        if name not in environment.per_env:
            known = ", ".join(environment.per_env) or "none"
            raise StoreError(f"no parameter per env '{name}'.{suggest(name, environment.per_env)} Known: {known}")
        if name in environment.randomize:
            raise StoreError(f"parameter '{name}' is drawn at each reset; leave it out of randomize to set it")
    data["active"] = True if active is None else active
    for name, value in values.items():
        data[name] = torch.where(data["active"], _as_tensor(data, name, value), data[name])


def _as_tensor(data: DataManager, name: str, value: Any) -> torch.Tensor:
    """One number, or one for each env, in an array's dtype and where it lies; floats may be rounded."""
    import torch

    view = data[name]
    if not isinstance(value, torch.Tensor):
        value = torch.from_numpy(converted(value, data.array(name).dtype, f"parameter '{name}': the value"))
    if value.shape not in ((), view.shape):
        raise StoreError(f"parameter '{name}': shape {tuple(value.shape)}, expected one number or {tuple(view.shape)}")
    if not torch.can_cast(value.dtype, view.dtype):
        given = str(value.dtype).removeprefix("torch.")
        raise StoreError(f"parameter '{name}' is {data.array(name).dtype}, the value is {given}; convert it first")
    return value.to(view.dtype).to(view.device)
