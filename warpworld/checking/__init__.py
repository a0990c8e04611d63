"""`warpworld check`: what is wrong with an environment's kernels, found on a CPU."""

from warpworld.checking.check import check
from warpworld.checking.findings import KINDS, Finding, Place, Report

__all__ = ["KINDS", "Finding", "Place", "Report", "check"]
