"""Epidemics of several numbers of regions."""

from __future__ import annotations

from .case import Case

CASES = tuple(
    Case(f"epidemic, {count} regions", "epidemic", 8192 // count, {"regions": count}) for count in (8, 51, 512)
)
