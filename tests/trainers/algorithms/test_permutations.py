"""The permutations that an update draws on the device."""

from __future__ import annotations

from typing import cast

import pytest
import torch

import warpworld
from tests.trainers.recorded import batches_of
from warpworld.config import config_from_dict
from warpworld.trainers.algorithms.on_policy import OnPolicy
from warpworld.trainers.algorithms.updates.device_inputs import DeviceInputs
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.trainer import Trainer

EPOCHS, ROWS = 3, 41


def made(rows: int = ROWS, passes: int = 1) -> DeviceInputs:
    world = warpworld.make("cartpole", num_envs=5)
    inputs = DeviceInputs(Collector(world, 4), "agent", rows, ["rate", "weight"], passes)
    world.reset()
    return inputs


def write(inputs: DeviceInputs, seed: int) -> None:
    inputs.write(torch.from_numpy(inputs.words(torch.Generator().manual_seed(seed), [0.25, -3.0])))


def drawn(inputs: DeviceInputs, seed: int) -> torch.Tensor:
    write(inputs, seed)
    return torch.stack([inputs.permutation(torch.tensor([epoch])).clone() for epoch in range(EPOCHS)])


def test_each_epoch_has_all_rows_in_an_order_of_its_own() -> None:
    permutations = drawn(made(), 1)
    assert permutations.shape == (EPOCHS, ROWS) and permutations.dtype == torch.int64
    for order in permutations:
        assert order.sort().values.tolist() == list(range(ROWS))
    assert len({tuple(order.tolist()) for order in permutations}) == EPOCHS


def test_orders_belong_to_the_seed() -> None:
    one, other = made(), made()
    first = drawn(one, 1)
    assert torch.equal(first, drawn(other, 1))
    second = drawn(one, 2)
    assert not any(torch.equal(a, b) for a in first for b in second)
    assert torch.equal(drawn(one, 1), first)


def test_numbers_are_what_the_host_wrote() -> None:
    inputs = made()
    drawn(inputs, 1)
    assert {name: float(number) for name, number in inputs.numbers().items()} == {"rate": 0.25, "weight": -3.0}


def test_every_order_of_three_rows_is_drawn_as_often() -> None:
    """Chi-square of 6 permutations in 1,800 draws: 5 degrees of freedom, 0.999 of all such sums are below 20.5."""
    inputs, counts = made(3), dict[tuple[int, ...], int]()
    for seed in range(600):
        for order in drawn(inputs, seed).tolist():
            counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    assert len(counts) == 6
    assert sum((count - 300) ** 2 / 300 for count in counts.values()) < 20.5


def test_several_passes_are_drawn_at_once() -> None:
    """The same ones as one by one."""
    inputs = made(passes=EPOCHS)
    write(inputs, 1)
    together = inputs.permutation(torch.tensor([0])).view(EPOCHS, ROWS)
    assert torch.equal(together, drawn(made(), 1))


def test_every_row_comes_to_every_place_as_often() -> None:
    """Chi-square of 41 rows at 41 places in 1,800 draws: 1,600 degrees of freedom, 0.999 are below 1,780."""
    inputs, counts = made(), torch.zeros(ROWS, ROWS)
    for seed in range(600):
        for order in drawn(inputs, seed):
            counts[torch.arange(ROWS), order.cpu()] += 1
    expected = 1800 / ROWS
    assert float(((counts - expected) ** 2 / expected).sum()) < 1780


@pytest.mark.parametrize("at_once", [False, True], ids=["pass by pass", "all at once"])
def test_orders_may_be_given(at_once: bool) -> None:
    """A function gives the order of a pass, or of all, and is asked for no more."""
    policy = {"agent": {"num_minibatches": 2, "update_epochs": EPOCHS}}
    trainer = {"num_envs": 5, "num_steps": 8, "total_env_steps": 400, "device": "auto"}
    config = config_from_dict({"name": "cartpole", "trainer": trainer, "policy": policy})
    orders = torch.stack([torch.randperm(40, generator=torch.Generator().manual_seed(k)) for k in range(EPOCHS)])
    asked, weights = list[int](), []
    for size in (1, EPOCHS if at_once else 1):
        made = Trainer(config)
        made.collector.collect()
        learner, here = cast(OnPolicy, made.algorithms["agent"]), made.world.device

        def given(number: torch.Tensor, size: int = size, here: torch.device = here) -> torch.Tensor:
            asked.append(int(number))
            return orders[int(number) : int(number) + size].flatten().to(here)

        learner.update(batches_of(made, "agent")["agent"], given)
        weights.append(learner.parameters.vector.detach().clone())
    assert torch.equal(*weights)
    assert asked[:EPOCHS] == list(range(EPOCHS)) and asked[EPOCHS:] == ([0] if at_once else list(range(EPOCHS)))
