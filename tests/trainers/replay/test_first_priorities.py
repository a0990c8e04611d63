"""New transitions have the priority that their actor's own values give them, or the largest so far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.trainers.replay.filled import Filled
from tests.trainers.replay.witness import Expected
from tests.trainers.small_worlds import seen_as_logits
from warpworld.trainers.algorithms.value_rescale import rescaled, unscaled

pytestmark = pytest.mark.long

ALL = {"terminating": 0.1, "truncating": 0.1, "dying": 0.1, "resting": 0.1, "cutting": 0.1}
MASKED = {**ALL, "forbidding": 0.3, "actions": "several"}
CASES: dict[str, tuple[list[int], dict[str, Any], dict[str, Any]]] = {
    "one step": ([3], {"n_step": 1}, ALL),
    "heads, masks": (
        [3, 2],
        {"n_step": 3, "final_observations": True},
        {**ALL, "forbidding": 0.3, "actions": "several"},
    ),
    "rescaled": ([3], {"n_step": 2, "value_rescale": True}, ALL),
}


def head_values(seen: np.ndarray, heads: list[int]) -> list[np.ndarray]:
    """As ``seen_as_logits``."""
    numbers = np.concatenate([seen] * sum(heads))[: sum(heads)].astype(np.float64)
    return np.split(numbers, np.cumsum(heads)[:-1])


def best_value(seen: np.ndarray, allowed: np.ndarray | None, heads: list[int]) -> float:
    """Mean over heads of the best allowed value; where nothing is allowed, all is."""
    values, found, first = head_values(seen, heads), [], 0
    for own in values:
        mask = np.ones(len(own), bool) if allowed is None else allowed[first : first + len(own)]
        found.append(own[mask].max() if mask.any() else own.max())
        first += len(own)
    return float(np.mean(found))


def error(transition: Expected, heads: list[int], rescales: bool) -> float:
    """By hand, from what was witnessed."""
    following = 0.0
    if transition.discount:
        following = best_value(transition.next_seen, transition.next_allowed, heads)
    if rescales:
        following = unscaled(torch.tensor(following, dtype=torch.float64)).item()
    target = transition.total + transition.discount * following
    if rescales:
        target = rescaled(torch.tensor(target, dtype=torch.float64)).item()
    values = head_values(transition.seen, heads)
    return target - float(np.mean([own[choice] for own, choice in zip(values, transition.action, strict=True)]))


@pytest.mark.parametrize("case", CASES)
def test_actors_priorities(case: str) -> None:
    heads, sizes, params = CASES[case]
    sizes, players = {"alpha": 0.7, "actors_priority": True, **sizes}, {}
    for group in ("left", "right"):
        players[group] = seen_as_logits(sum(heads))
    filled = Filled(sizes=sizes, players=players, exploration=0.4, **params)  # type: ignore[arg-type]
    compared = 0
    for _ in range(12):
        filled.collector.collect()
        leaves = filled.array("leaves").cpu().numpy()
        for item, transition in filled.expected().items():
            off = error(transition, heads, filled.sizes.value_rescale)
            expected = 1.0 if transition.is_final else (abs(off) + 1e-6) ** 0.7
            assert leaves[item] == pytest.approx(expected, rel=1e-3, abs=1e-4)
            compared += 1
    assert compared > 500


def test_the_largest_so_far() -> None:
    filled = Filled(sizes={"alpha": 1.0, "n_step": 1})
    filled.collector.collect()
    assert set(filled.array("leaves").unique().tolist()) == {0.0, 1.0}
    filled.replay.draw()
    filled.replay.update(torch.full((filled.sizes.batch_size,), 5.0, device=filled.world.device))
    filled.collector.collect()
    fresh = filled.array("leaves")[filled.array("batch_items").max().item() + 1 :]
    assert fresh.max().item() == pytest.approx(5.0)


def test_weights_are_those_of_the_batch() -> None:
    heads = seen_as_logits(3)
    sizes = {"alpha": 0.7, "actors_priority": True, "batch_size": 32}
    filled = Filled(sizes=sizes, players={"left": heads, "right": heads}, exploration=0.4)  # type: ignore[dict-item]
    for _ in range(6):
        filled.collector.collect()
        leaves = filled.array("leaves").cpu().numpy()
        weights = filled.replay.draw(0.5).weights.cpu().numpy()
        drawn = leaves[filled.array("batch_items").cpu().numpy()]
        np.testing.assert_allclose(weights, (drawn.min() / drawn) ** 0.5, rtol=1e-5)
