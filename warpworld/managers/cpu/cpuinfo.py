"""The processor, as far as machine code depends on it."""

from __future__ import annotations

import functools
import platform
import re
from pathlib import Path


@functools.cache
def processor() -> str:
    """Features of the processor that native code depends on: machines may share a cache."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    wanted = r"^(flags|Features|isa|cpu|model name|CPU implementer|CPU part)\s*:.*$"
    return "\n".join(sorted({match.group() for match in re.finditer(wanted, text, re.MULTILINE)}))
