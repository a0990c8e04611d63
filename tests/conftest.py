"""Settings that hold for all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Compiled kernels are kept from one run of the tests to the next, apart from the user's own.
os.environ.setdefault("WARPWORLD_CACHE", str(Path(__file__).resolve().parent.parent / ".pytest_cache" / "kernels"))
# Tests run side by side; with a thread per core each, torch's would fight for the cores. Read when torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The first example of a test may compile a kernel, so no example has a deadline.
settings.register_profile("warpworld", settings(), deadline=None)
settings.load_profile("warpworld")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a CUDA device where there is none; torch is asked only if something does."""
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if not on_gpu:
        return
    import torch

    if not torch.cuda.is_available():
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What kernels need on a GPU, where tests/cuda/test_nvcc.py compiled them, also in parallel workers."""
    reports = (report for group in terminalreporter.stats.values() for report in group)
    calls = (report for report in reports if getattr(report, "when", None) == "call")
    rows = [value for call in calls for name, value in call.user_properties if name == "kernel_usage"]
    if not rows:
        return
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    terminalreporter.section("kernels under nvcc: registers a thread, static shared memory a block")
    for row in sorted(rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line("  ".join(cells).rstrip())
