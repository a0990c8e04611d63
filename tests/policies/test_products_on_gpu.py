"""The settings of torch's products on a GPU: what holds within a run, and that a caller's own are given back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainers.small_worlds import Still, same_logits
from warpworld.policies.layers import precision as module
from warpworld.policies.layers.precision import products
from warpworld.trainers.collecting.actor import Actor
from warpworld.world import World

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
EXACT, TF32 = ("highest", False), ("high", True)


def settings() -> tuple[str, bool]:
    """Of products in general, and whether cuDNN may round to TF32."""
    return torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32


@pytest.fixture(params=[("highest", True), ("medium", True), ("high", False)], ids=str)
def own(request: pytest.FixtureRequest) -> Iterator[tuple[str, bool]]:
    """A caller's settings; the first are torch's own."""
    before = settings()
    torch.set_float32_matmul_precision(request.param[0])
    torch.backends.cudnn.allow_tf32 = request.param[1]
    yield request.param
    torch.set_float32_matmul_precision(before[0])
    torch.backends.cudnn.allow_tf32 = before[1]


@pytest.mark.parametrize(("precision", "within"), [("float32", EXACT), ("bf16", EXACT), ("tf32", TF32)])
def test_each_precision_sets_all_products_and_gives_the_callers_back(
    precision: str, within: tuple[str, bool], own: tuple[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    cast: list[str] = []
    monkeypatch.setattr(module, "_bf16", lambda device_type: cast.append(device_type) or nullcontext())
    with products(precision, GPU):
        assert settings() == within
    assert cast == (["cuda"] if precision == "bf16" else [])
    assert settings() == own
    with pytest.raises(KeyError), products(precision, GPU):
        raise KeyError("lost")
    assert settings() == own


def test_the_outer_precision_holds(own: tuple[str, bool]) -> None:
    with products("tf32", GPU):
        with products("float32", GPU):
            assert settings() == TF32
        assert settings() == TF32
    with products("float32", GPU):
        assert settings() == EXACT
    assert settings() == own


def test_a_processor_is_left_alone(own: tuple[str, bool]) -> None:
    with products("float32", CPU), products("bf16", CPU):
        assert settings() == own


def test_a_policy_acts_in_float32_wherever_it_plays(own: tuple[str, bool]) -> None:
    """In evaluations, replays and traces, too, which no trainer is around."""
    policy, seen = same_logits([0.0] * 5), list[tuple[str, bool]]()
    outputs = policy.outputs

    def noted(observations: Tensor, *given: Any) -> Tensor:
        seen.append(settings())
        return outputs(observations, *given)

    policy.outputs = noted  # type: ignore[method-assign]
    world = World(Still(left_heads=(5,)), 2)
    actor = Actor(world, "left", policy, "act")
    world.reset()
    actor.act()
    assert seen == [EXACT if world.device.type == "cuda" else own]
    assert settings() == own
