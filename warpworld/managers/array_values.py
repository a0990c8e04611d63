"""Values for the arrays of the store: numbers in an array's dtype, or the reason why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.environment import Array
from warpworld.errors import StoreError

if TYPE_CHECKING:
    import torch


def torch_dtype(name: str) -> torch.dtype:
    """Torch's dtype of this name."""
    import torch

    return getattr(torch, name)


def initial_value(array: Array, shape: tuple[int, ...]) -> np.ndarray:
    """The initial value in the array's dtype.

    Args:
        array: the declaration, with an initial value.
        shape: of the whole array.

    Raises:
        StoreError: the value does not broadcast to the shape, or the dtype does not hold it.
    """
    where = f"array '{array.name}': initial value"
    value = converted(array.initial, array.dtype, where)
    try:
        np.broadcast_to(value, shape)
    except ValueError as error:
        raise StoreError(f"{where} has shape {value.shape}, expected one that broadcasts to {shape}") from error
    return value


def as_tensor(array: Array, value: Any) -> torch.Tensor:
    """A value for an array: a tensor or a NumPy array in its own dtype, anything else in the array's.

    Raises:
        StoreError: it has no numbers, numbers that the dtype does not hold, or keeps them as no array does.
    """
    import torch

    if isinstance(value, torch.Tensor):
        return _dense(array.name, value)
    # numbers as a NumPy array
    if not isinstance(value, np.ndarray):
        value = converted(value, array.dtype, f"array '{array.name}': the value")
    if not value.dtype.isnative:
        raise StoreError(
            f"array '{array.name}' is {array.dtype}, the value is {value.dtype.str}, which has another byte order "
            f"than this machine; convert it first, with .astype('{value.dtype.name}')"
        )
    # a tensor on its memory, or on a copy that torch can take
    try:
        return torch.from_numpy(np.require(value, requirements=["C", "W"]))
    except TypeError as error:
        raise StoreError(f"array '{array.name}' is {array.dtype}, the value is {value.dtype}") from error


def _dense(name: str, value: torch.Tensor) -> torch.Tensor:
    """The numbers of a tensor, without what autograd knows of them.

    Raises:
        StoreError: it has no numbers, or keeps them in another way than an array does.
    """
    import torch

    kind = "nested" if value.is_nested else "meta" if value.is_meta else "sparse"
    if value.is_nested or value.is_meta or value.layout is not torch.strided:
        raise StoreError(f"array '{name}': the value is a {kind} tensor; expected a dense one that holds numbers")
    return value.detach()


def write(view: torch.Tensor, value: np.ndarray) -> None:
    """Copy a value of the view's dtype into it; a number without a copy from the host, which would be waited for."""
    import torch

    if value.ndim > 0:
        view.copy_(torch.from_numpy(value))
        return
    if value.dtype.kind == "u" and value.dtype.itemsize > 1:  # which torch can do little with
        signed = f"int{8 * value.dtype.itemsize}"
        view, value = view.view(torch_dtype(signed)), value.view(signed)
    view.fill_(value.item())


def converted(value: Any, dtype: str, where: str) -> np.ndarray:
    """A number or numbers in ``dtype``, which must hold them; floats may be rounded."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biuf":
            raise TypeError(f"{given.dtype} is not a kind of number that arrays hold")
        with np.errstate(all="ignore"):
            converted = given.astype(dtype)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise StoreError(f"{where} is {value!r}, expected numbers that {dtype} holds: {error}") from error
    if converted.dtype.kind == "f":
        kept = bool(np.all(np.isfinite(converted) | ~np.isfinite(given)))
    else:
        kept = np.array_equal(given, converted)
    if not kept:
        raise StoreError(f"{where} is {value!r}, which {dtype} does not hold")
    return converted
