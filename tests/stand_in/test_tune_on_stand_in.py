"""What `warpworld tune` measures where worlds are on a GPU, as the stand-in has it."""

from __future__ import annotations

import pytest

from tests.cases import seldom
from warpworld.cli.tune.measure import measure
from warpworld.config import load_config

pytestmark = [pytest.mark.stand_in, pytest.mark.heavy]


@pytest.mark.parametrize(
    ("asked", "packed"), [({}, 32), ({"envs_per_warp": 8}, 8), pytest.param({"envs_per_warp": 0}, 0, marks=seldom)]
)
def test_packing_is_the_device_s_or_as_asked(asked: dict[str, int], packed: int) -> None:
    config = load_config("cartpole", ["trainer.num_envs=32", "trainer.num_steps=8"])
    found = measure(config, {"graph_steps": 4, **asked}, 0.01)
    assert found.envs_per_warp == packed and found.training > 0
