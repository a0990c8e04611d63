"""Rates of a device: published ones by its name, or given ones; and the least time that work takes at them."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import dataclass

from warpworld.near_names import nearest

EXAMPLE = "3.0TB/s,67TFLOP/s,798TFLOP/s"
_NAMES = (("copy", "B/s"), ("float32 product", "FLOP/s"), ("bf16 product", "FLOP/s"))
_RATE = re.compile(r"([-+]?[\w.]*?(?:[eE][-+]?\d+)?)\s*([kMGTP]?)(B|FLOP)/s")
_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


@dataclass(frozen=True)
class Rates:
    """The most that a device does.

    Attributes:
        copy: bytes a second, read and written ones together.
        float32: FLOP a second of a product in float32.
        bf16: the same in bfloat16, added up in float32; 0 where the device has none.
    """

    copy: float
    float32: float
    bf16: float

    def seconds(self, nbytes: float, flop: float, is_bf16: bool = False) -> float:
        """The least time of work with so many bytes and such products (Williams et al. 2009, "Roofline")."""
        product = self.bf16 if is_bf16 else self.float32
        return max(nbytes / self.copy, flop / product if flop else 0.0)


# NVIDIA's data sheets: the memory's bandwidth, float32 without tensor cores, dense bfloat16.
DEVICES = {
    "h200": Rates(4.8e12, 67e12, 989e12),
    "h100": Rates(3.35e12, 67e12, 989e12),
    "a100": Rates(2.039e12, 19.5e12, 312e12),
    "3080ti": Rates(0.912e12, 34.1e12, 136e12),
    "2080ti": Rates(0.616e12, 13.45e12, 0.0),
}


def device_rates(text: str) -> Rates:
    """An argparse type: a device's name, or rates as ``rates`` reads them.

    Raises:
        argparse.ArgumentTypeError: says what was given and what was expected.
    """
    if "/s" in text:
        return rates(text)
    name = text.lower().replace("-", "").replace(" ", "")
    if name not in DEVICES:
        near = nearest(name, DEVICES)
        hint = f" Did you mean {near}?" if near else ""
        raise argparse.ArgumentTypeError(f"'{text}', expected {', '.join(DEVICES)}, or rates such as {EXAMPLE}.{hint}")
    return DEVICES[name]


def rates(text: str) -> Rates:
    """Read three rates, for argparse.

    Raises:
        argparse.ArgumentTypeError: says what was given and what was expected.
    """
    given = text.split(",")
    if len(given) != len(_NAMES):
        names = ", ".join(f"{name} in {unit}" for name, unit in _NAMES)
        count = f"{len(given)} rate{'s' * (len(given) != 1)}"
        raise argparse.ArgumentTypeError(f"'{text}' holds {count}, expected 3: {names}; such as {EXAMPLE}")
    return Rates(*(_rate(part, *name) for part, name in zip(given, _NAMES, strict=True)))


def _rate(text: str, name: str, unit: str) -> float:
    """One rate, in B/s or FLOP/s."""
    found = _RATE.fullmatch(text.strip())
    expected = f"expected a positive number and a unit of {unit}, with k, M, G, T or P before it; such as {EXAMPLE}"
    wrong = argparse.ArgumentTypeError(f"{name} '{text.strip()}', {expected}")
    if found is None or f"{found[3]}/s" != unit:
        raise wrong
    try:
        value = float(found[1])
    except ValueError:
        raise wrong from None
    if not (math.isfinite(value) and value > 0):
        raise wrong
    return value * _PREFIXES[found[2]]
