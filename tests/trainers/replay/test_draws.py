"""What is drawn from given leaves, with which weights, and what new priorities make of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from warpworld.environment import get_environment
from warpworld.trainers.replay import Priorities
from warpworld.trainers.replay.priorities import FAN
from warpworld.world import World
from warpworld.world.random import philox

BLOCK, BATCH, SEED = 6, 64, 7


class Drawn:
    """Priorities of a small world, whose leaves are set by hand."""

    def __init__(self, leaves: np.ndarray, alpha: float = 0.6, batch: int = BATCH, **world: Any) -> None:
        self.world = World(get_environment("cartpole")(), 40, **{"seed": SEED, **world})
        self.priorities = Priorities(self.world, "cart", len(leaves) // BLOCK, BLOCK, batch, alpha)
        self.draw = lambda: None
        self.world.when_sealed(self._freeze)
        self.world.reset()
        self.array("leaves")[: len(leaves)] = torch.from_numpy(leaves)
        self.priorities.add_up_all()

    def _freeze(self) -> None:
        self.draw = self.world.program(self.priorities.draw_steps())

    def array(self, what: str) -> torch.Tensor:
        return self.world[f"replay_{what}_cart"]

    def numpy(self, what: str) -> np.ndarray:
        return self.array(what).cpu().numpy().copy()

    def items(self) -> np.ndarray:
        """A draw."""
        self.draw()
        return self.numpy("batch_items")

    def update(self, errors: Any) -> None:
        self.priorities.update(torch.as_tensor(errors, dtype=torch.float32, device=self.world.device))

    def sums(self) -> list[np.ndarray]:
        return [self.numpy(name) for name in ("sums_1", "sums_2", "sums_3", "prefix")]


def random_leaves(count: int = 3000, seed: int = 0) -> np.ndarray:
    """Leaves of which every third is 0."""
    draws = np.random.default_rng(seed)
    return (draws.random(count) * (draws.random(count) < 0.67)).astype(np.float32)


def uniform(update: int, name_key: int, batch: int = BATCH) -> np.ndarray:
    """The random numbers of a draw, as the contract in priorities.cu has them."""
    lanes = torch.arange(batch)
    rest = [torch.full_like(lanes, word) for word in (0, update, 0xFFFE)]
    words = philox((lanes, *rest), torch.tensor(name_key))
    return (words[0].double().numpy() + 0.5) / 2**32


def test_items_are_those_that_numpy_finds() -> None:
    leaves = random_leaves()
    drawn = Drawn(leaves)
    key, running = int(drawn.numpy("key").view(np.int64)[0]), leaves.astype(np.float64).cumsum()
    for update in range(30):
        targets = (np.arange(BATCH) + uniform(update, key)) * (running[-1] / BATCH)
        items = drawn.items()
        assert np.array_equal(items, np.searchsorted(running, targets, side="right"))
        np.testing.assert_allclose(drawn.numpy("batch_shares"), leaves[items] / running[-1], rtol=1e-6)


def test_what_rounding_leads_past_the_end_is_the_last_leaf_above_0() -> None:
    leaves = random_leaves()
    drawn, blocks = Drawn(leaves), leaves[: BATCH * FAN].reshape(BATCH, FAN)
    drawn.array("batch_items").copy_(torch.arange(BATCH) * FAN)
    drawn.array("batch_rests").copy_(torch.from_numpy(blocks.sum(1, dtype=np.float64)))
    drawn.world.program([drawn.priorities.step("draw_items")])()
    assert np.array_equal(drawn.numpy("batch_items") % FAN, [np.flatnonzero(block)[-1] for block in blocks])


def test_frequencies_are_those_of_the_leaves() -> None:
    leaves, batch = random_leaves(600), 5000
    drawn, counts = Drawn(leaves, batch=batch), np.zeros(600)
    for _ in range(100):
        items = drawn.items()
        assert (np.diff(items) >= 0).all()
        np.add.at(counts, items, 1)
    assert not counts[leaves == 0].any()
    expected = counts.sum() * leaves[leaves > 0].astype(np.float64) / leaves.sum(dtype=np.float64)
    statistic, freedom = ((counts[leaves > 0] - expected) ** 2 / expected).sum(), (leaves > 0).sum() - 1
    bound = freedom * (1 - 2 / (9 * freedom) + 3.09 * math.sqrt(2 / (9 * freedom))) ** 3  # Wilson and Hilferty, 99.9 %
    assert statistic < bound


@pytest.mark.cpu_backend
def test_workers_do_not_matter() -> None:
    one, two = (Drawn(random_leaves(), device="cpu", num_workers=workers) for workers in (1, 2))
    errors = torch.rand(BATCH, generator=torch.Generator().manual_seed(0))
    for _ in range(200):
        assert np.array_equal(one.items(), two.items())
        for drawn in (one, two):
            drawn.update(errors)
    for mine, other in zip(one.sums(), two.sums(), strict=True):
        assert np.array_equal(mine, other)


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
def test_weights_make_up_for_shares(beta: float) -> None:
    leaves = random_leaves()
    drawn = Drawn(leaves)
    items = drawn.items()
    weights = (leaves[items].astype(np.float64) / leaves.sum(dtype=np.float64)) ** -beta
    found = drawn.priorities.weights(beta).cpu().numpy()
    np.testing.assert_allclose(found, weights / weights.max(), rtol=1e-5)
    of_tensor = drawn.priorities.weights(torch.tensor(beta, device=drawn.world.device)).cpu().numpy()
    assert np.array_equal(found, of_tensor)


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        ({5: 1.0, 700: 1e30, 2000: 1.0}, {700}),
        ({3: 1e-45, 1500: 1e-45, 2999: 1e-45}, {3, 1500, 2999}),
        ({2999: 0.5}, {2999}),
        ({0: 0.5}, {0}),
    ],
)
def test_extreme_leaves(leaves: dict[int, float], expected: set[int]) -> None:
    given = np.zeros(3000, np.float32)
    given[list(leaves)] = list(leaves.values())
    drawn = Drawn(given)
    assert set(drawn.items().tolist()) == expected
    assert (drawn.priorities.weights(0.5) == 1).all()


def test_the_smallest_share_and_the_largest_leaf_are_found_at_any_place() -> None:
    batch = 70  # lanes have different numbers of them
    drawn = Drawn(random_leaves(), batch=batch)
    drawn.draw()
    for place in range(batch):
        special = torch.arange(batch) == place
        drawn.array("batch_shares").copy_(torch.where(special, 0.25, 0.5))
        weights = drawn.priorities.weights(1.0).cpu()
        assert torch.equal(weights, torch.where(special, 1.0, 0.5))
        drawn.array("largest_leaf").zero_()
        drawn.update(torch.where(special, 2.0, 1.0))
        assert drawn.numpy("largest_leaf") == pytest.approx(2.0**0.6, rel=1e-5)


@pytest.mark.heavy
@pytest.mark.long
def test_sums_do_not_drift() -> None:
    drawn, errors = Drawn(random_leaves()), torch.rand(100, BATCH, generator=torch.Generator().manual_seed(0))
    errors = errors.to(drawn.world.device)
    for update in range(10_000):
        drawn.draw()
        drawn.update(errors[update % 100] * 10.0 ** (update % 7 - 3))
    kept = drawn.sums()
    drawn.priorities.add_up_all()
    for before, anew in zip(kept, drawn.sums(), strict=True):
        assert np.array_equal(before, anew)
    np.testing.assert_allclose(kept[-1][-1], drawn.numpy("leaves").sum(dtype=np.float64), rtol=1e-12)


def test_new_leaves() -> None:
    drawn = Drawn(random_leaves())
    items, errors = drawn.items(), np.linspace(-3, 3, BATCH, dtype=np.float32)
    before = drawn.numpy("leaves")
    drawn.update(errors)
    firsts = np.unique(items, return_index=True)[1]  # of equal items the first counts
    before[items[firsts]] = (np.abs(errors[firsts]).astype(np.float64) + 1e-6) ** 0.6
    np.testing.assert_allclose(drawn.numpy("leaves"), before, rtol=1e-5)
    np.testing.assert_allclose(drawn.numpy("largest_leaf"), 3.0**0.6, rtol=1e-5)


def test_of_an_item_that_was_drawn_several_times_the_first_error_counts() -> None:
    leaves = np.zeros(3000, np.float32)
    leaves[1234] = 0.5
    drawn = Drawn(leaves, alpha=1.0)
    assert (drawn.items() == 1234).all()
    drawn.update(np.arange(2, BATCH + 2, dtype=np.float32))
    assert drawn.numpy("leaves")[1234] == pytest.approx(2.0)


def test_errors_of_what_was_overwritten_are_dropped() -> None:
    leaves = random_leaves()
    drawn = Drawn(leaves)
    items = drawn.items()
    over = np.unique(items // BLOCK)[::2]
    drawn.array("generation")[torch.from_numpy(over).long().to(drawn.world.device)] += 1
    drawn.update(np.full(BATCH, 9.0))
    changed = np.flatnonzero(drawn.numpy("leaves")[: len(leaves)] != leaves)
    assert set(changed) == {item for item in items.tolist() if item // BLOCK not in over}


def test_what_cannot_be_drawn_any_more_stays_so() -> None:
    drawn = Drawn(random_leaves())
    lost = int(drawn.items()[10])
    drawn.array("leaves")[lost] = 0.0  # frames before it were written over
    drawn.update(np.full(BATCH, 9.0))
    assert drawn.numpy("leaves")[lost] == 0


@pytest.mark.parametrize("error", [math.nan, math.inf, -math.inf])
def test_errors_that_are_not_finite_are_left_out(error: float) -> None:
    leaves = random_leaves()
    drawn = Drawn(leaves)
    items, errors = drawn.items(), np.full(BATCH, 2.0)
    errors[items == items[20]] = error
    drawn.update(errors)
    found = drawn.numpy("leaves")
    assert found[items[20]] == leaves[items[20]]
    assert np.isfinite(found).all()
    assert drawn.numpy("largest_leaf") == pytest.approx(2.0**0.6, rel=1e-5)


def test_uniform_draws_keep_their_leaves() -> None:
    drawn = Drawn(random_leaves(), alpha=0.0)
    before = drawn.numpy("leaves")
    drawn.items()
    drawn.update(np.full(BATCH, 9.0))
    assert np.array_equal(drawn.numpy("leaves"), before)
