"""Devices and the precisions that they multiply in: a run is refused one that its device does not have."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import torch

from warpworld.config import TrainerConfig
from warpworld.errors import ConfigError
from warpworld.managers.cpu import processor
from warpworld.managers.devices import open_backend
from warpworld.policies import FLOAT32, products
from warpworld.runs import processor_name

NAMES = {"bf16": "bfloat16", "tf32": "TF32"}
FLAGS = ("avx512_bf16", "amx_bf16", "bf16")  # of processors with products of bfloat16; the last is ARM's
LEAST_CAPABILITY = (8, 0)  # of GPUs with products of bfloat16 and TF32: Ampere


def check_precision(trainer: TrainerConfig) -> None:
    """Refuse a precision that the device of a run does not have, before anything is built.

    Raises:
        ConfigError: names the device, and what it lacks.
        DeviceError: the device cannot be used.
    """
    if trainer.precision == FLOAT32:
        return
    device = open_backend(trainer.device).device
    has, what = products_of(device, trainer.precision)
    if not has:
        raise ConfigError(
            f"trainer.precision is {trainer.precision}, but {_named(device)} has no products of "
            f"{NAMES[trainer.precision]}: {what}; set it to float32"
        )


def products_of_run(trainer: TrainerConfig, device: torch.device) -> Callable[[], AbstractContextManager[None]]:
    """Contexts in which torch multiplies in a run's precision, one for each call."""
    return partial(products, trainer.precision, device)


def products_of(device: torch.device, precision: str) -> tuple[bool, str]:
    """Whether a device has products of bf16 or tf32, and by what; or what it lacks, in words."""
    if device.type == "cpu" and precision == "tf32":
        return False, "only GPUs have them"
    if device.type == "cpu":
        lines = re.findall(r"^(?:flags|Features)\s*:(.*)$", processor(), re.MULTILINE)
        found = [flag for flag in FLAGS if flag in " ".join(lines).split()]
        return (True, " and ".join(found)) if found else (False, f"none of {', '.join(FLAGS)} is among its flags")
    if device.type == "cuda":
        capability = torch.cuda.get_device_capability(device)
        words, least = ("{}.{}".format(*each) for each in (capability, LEAST_CAPABILITY))
        has = capability >= LEAST_CAPABILITY
        return has, f"compute capability {words}" + ("" if has else f", expected at least {least}")
    return False, "only a processor and a GPU with CUDA are known to have them"


def describe_products(precision: str) -> str:
    """The devices here that have products of bf16 or tf32, in words."""
    devices = [torch.device("cpu"), *([torch.device("cuda")] if torch.cuda.is_available() else [])]
    found = {device.type: products_of(device, precision) for device in devices}
    return "; ".join(f"{'on' if has else 'not on'} {name}, {what}" for name, (has, what) in found.items())


def _named(device: torch.device) -> str:
    """A device with the name that its maker gives it."""
    if device.type == "cuda":
        return f"the GPU, {torch.cuda.get_device_name(device)},"
    return f"the processor, {processor_name()}," if device.type == "cpu" else f"device '{device.type}'"
