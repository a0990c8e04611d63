"""A module that raises where it is imported."""

from __future__ import annotations

Net = 1 / 0
