"""Precisions that the devices here multiply in, beside float32; found without torch where there is no GPU."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from warpworld.errors import DeviceError
from warpworld.managers.cpu import processor
from warpworld.managers.devices import open_backend

if TYPE_CHECKING:
    import torch

NAMES = {"bf16": "bfloat16", "tf32": "TF32"}
FLAGS = ("avx512_bf16", "amx_bf16", "bf16")  # of processors with products of bfloat16; the last is ARM's
LEAST_CAPABILITY = (8, 0)  # of GPUs with products of bfloat16 and TF32: Ampere


def products_of(device: torch.device, precision: str) -> tuple[bool, str]:
    """Whether a device has products of bf16 or tf32, and by what; or what it lacks, in words."""
    if device.type == "cpu":
        return _of_processor(precision)
    if device.type == "cuda":
        import torch

        capability = torch.cuda.get_device_capability(device)
        words, least = ("{}.{}".format(*each) for each in (capability, LEAST_CAPABILITY))
        has = capability >= LEAST_CAPABILITY
        return has, f"compute capability {words}" + ("" if has else f", expected at least {least}")
    return False, "only a processor and a GPU with CUDA are known to have them"


def _of_processor(precision: str) -> tuple[bool, str]:
    if precision == "tf32":
        return False, "only GPUs have them"
    lines = re.findall(r"^(?:flags|Features)\s*:(.*)$", processor(), re.MULTILINE)
    found = [flag for flag in FLAGS if flag in " ".join(lines).split()]
    return (True, " and ".join(found)) if found else (False, f"none of {', '.join(FLAGS)} is among its flags")


def describe_products(precision: str) -> str:
    """The usable devices that have products of bf16 or tf32, in words."""
    found = {"cpu": _of_processor(precision)}
    with contextlib.suppress(DeviceError):  # which the line of the device explains
        found["cuda"] = products_of(open_backend("cuda").device, precision)
    return "; ".join(f"{'on' if has else 'not on'} {name}, {what}" for name, (has, what) in found.items())
