"""What an explorer's new life has of the last one: nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tests.packaged import packaged

SMALL: dict[str, Any] = {"num_plans": 3, "max_rooms": 8, "res": 64, "subsample": 4}  # as in test_explorer.py


def test_every_life_begins_with_what_its_first_look_shows() -> None:
    """As many bits are set as texels were counted, also in words that the last life had full."""
    world = packaged("explorer", 6, device="cpu", seed=1, patience=5, episode_length=12, **SMALL)
    world.reset()
    draws, births = torch.Generator().manual_seed(1), 0
    for _ in range(60):
        world["actions"] = torch.randint(0, 7, tuple(world["actions"].shape), generator=draws, dtype=torch.int32)
        world.step()
        bits = np.unpackbits(world.data.numpy("seen").view(np.uint8), axis=1).sum(1)
        assert np.array_equal(bits, world.data.numpy("potential").ravel())
        births += int((world.data.numpy("terminated") | world.data.numpy("truncated")).sum())
    assert births > 20
