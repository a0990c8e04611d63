"""A system's measurement in this process: ``python -m benchmarks.learning.measured WORK SYSTEM SETTING SECONDS``."""

from __future__ import annotations

import dataclasses
import json
import sys

import torch

from warpworld.cli.profile.peak import measure_peak
from warpworld.trainers.cpu_tuning import quick_products

from .works import WORKS


def main(work: str, system: str, setting: int, seconds: float) -> None:
    """Measure, then measure a plain product on the same threads, and print both as a line of JSON."""
    found = WORKS[work]
    times = found.systems[system].measure(found.settings[setting], seconds)
    quick_products()  # a product as warpworld lets torch compute it
    product = measure_peak(torch.device("cpu"), lambda: None).operations
    print(json.dumps({**dataclasses.asdict(times), "product": product}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
