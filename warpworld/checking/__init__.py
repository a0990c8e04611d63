"""Faults of an environment's kernels: found by watching them, and by a reference beside them."""

from warpworld.checking.check import check
from warpworld.checking.compare import Comparison, Difference, compare
from warpworld.checking.findings import KINDS, Finding, Report
from warpworld.checking.places import Place

__all__ = ["KINDS", "Comparison", "Difference", "Finding", "Place", "Report", "check", "compare"]
