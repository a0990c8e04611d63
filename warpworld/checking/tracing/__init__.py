"""Trace of one env, step by step, as a table."""

from warpworld.checking.tracing.trace import Trace

__all__ = ["Trace"]
