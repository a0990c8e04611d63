"""Settings that hold for all tests."""

import pytest
from hypothesis import settings

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
