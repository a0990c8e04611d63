"""Precision of a run's products: its check against the device, and contexts that multiply in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import torch

from warpworld.config import RunConfig, TrainerConfig
from warpworld.errors import ConfigError
from warpworld.managers.devices import open_backend
from warpworld.managers.products import NAMES, products_of
from warpworld.policies import FLOAT32, products
from warpworld.runs import processor_name


def check_precision(config: RunConfig) -> None:
    """Refuse a precision that the device of a run does not have, before anything is built.

    Raises:
        ConfigError: names the device, and what it lacks.
        DeviceError: the device cannot be used.
    """
    precision = config.trainer.precision
    if precision == FLOAT32:
        return
    device = open_backend(config.device).device
    has, what = products_of(device, precision)
    if not has:
        raise ConfigError(
            f"trainer.precision is {precision}, but {_named(device)} has no products of {NAMES[precision]}: {what}; "
            "set it to float32"
        )


def products_of_run(trainer: TrainerConfig, device: torch.device) -> Callable[[], AbstractContextManager[None]]:
    """Contexts in which torch multiplies in a run's precision, one for each call."""
    return partial(products, trainer.precision, device)


def _named(device: torch.device) -> str:
    """A device with the name that its maker gives it."""
    if device.type == "cuda":
        return f"the GPU, {torch.cuda.get_device_name(device)},"
    return f"the processor, {processor_name()}," if device.type == "cpu" else f"device '{device.type}'"
