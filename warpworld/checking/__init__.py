"""Faults of an environment's kernels: found by watching them, and by a reference beside them."""

from warpworld.checking.check import NUM_ENVS, check, check_with
from warpworld.checking.compare import Comparison, Difference, compare
from warpworld.checking.findings import KINDS, Finding, Report
from warpworld.checking.places import Place
from warpworld.checking.tracing import Trace

__all__ = [
    "KINDS",
    "NUM_ENVS",
    "Comparison",
    "Difference",
    "Finding",
    "Place",
    "Report",
    "Trace",
    "check",
    "check_with",
    "compare",
]
