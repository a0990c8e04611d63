"""Searches of many envs at once, beside one that is written down from the paper."""

from __future__ import annotations

import numpy as np
import pytest

from tests.trainers.searching.by_recursion import Node
from tests.trainers.searching.by_recursion import search as by_recursion
from warpworld.trainers.searching.trees import Arrived, Scales, Seen, considered_visits, search

CHOICES = 5


def position(env: int, way: tuple[int, ...], players: int) -> tuple[Node, float, float]:
    """A position that follows from the actions so far, the last one's reward and its discount."""
    generator = np.random.default_rng([env, players, *(a + 1 for a in way)])
    logits, legal = 2 * generator.standard_normal(CHOICES), generator.random(CHOICES) < 0.7
    legal[generator.integers(CHOICES)] = True
    value, reward = generator.uniform(-1, 1), float(generator.integers(-1, 2)) / 2
    is_over, keeps_turn = generator.random() < 0.15, players == 1 or generator.random() < 0.2
    return Node(list(logits), list(legal), value), reward, 0.0 if is_over else 0.9 * (1 if keeps_turn else -1)


def stacked(nodes: list[Node]) -> Seen:
    return Seen(
        np.array([node.logits for node in nodes]),
        np.array([node.legal for node in nodes]),
        np.array([node.value for node in nodes]),
    )


@pytest.mark.parametrize(
    ("simulations", "considered", "players", "noise", "workers"),
    [(40, 16, 2, 1.0, 1), (7, 3, 2, 0.0, 3), (24, 4, 1, 1.0, 2), (1, 1, 1, 1.0, 1)],
)
def test_a_search_is_that_of_the_paper(
    simulations: int, considered: int, players: int, noise: float, workers: int
) -> None:
    """Actions, improved policies, values and visits of 30 envs."""
    envs = 30
    ways: list[list[tuple[int, ...]]] = [[()] * envs]

    def step(nodes: np.ndarray, actions: np.ndarray) -> Arrived:
        ways.append([(*ways[nodes[e]][e], int(actions[e])) for e in range(envs)])
        after, rewards, discounts = zip(*(position(e, ways[-1][e], players) for e in range(envs)), strict=True)
        return Arrived(stacked(list(after)), np.array(rewards), np.array(discounts))

    gumbels = noise * np.random.default_rng(1).gumbel(size=(envs, CHOICES))
    root = stacked([position(e, (), players)[0] for e in range(envs)])
    found = search(root, step, gumbels, simulations, considered, Scales(0.1, 50.0), workers)
    for e in range(envs):
        expected = by_recursion(
            lambda way, e=e: position(e, way, players), gumbels[e], simulations, considered, 0.1, 50
        )
        action, policy, value, visits = expected
        assert found.actions[e] == action
        assert found.values[e] == pytest.approx(value, abs=1e-12)
        np.testing.assert_array_equal(found.visits[e], [visits.get(a, 0) for a in range(CHOICES)])
        np.testing.assert_allclose(found.policy[e], [policy.get(a, 0.0) for a in range(CHOICES)], atol=1e-12)
    assert found.visits.sum(1).tolist() == [simulations] * envs


def test_visits_are_halved_in_phases() -> None:
    """The paper's figure 1: of 16 actions and 200 simulations 3 go to each of 16, then 6 to each of 8, and so on."""
    wanted = considered_visits(16, 200)
    assert wanted[:32] == (0,) * 16 + (1,) * 16
    counts = np.zeros(16, int)
    for visit in wanted:
        counts[np.flatnonzero(counts == visit)[0]] += 1
    assert sorted(counts.tolist(), reverse=True) == [*[counts.max()] * 2, *[21] * 2, *[9] * 4, *[3] * 8]
    assert counts.sum() == 200
    assert considered_visits(1, 3) == (0, 1, 2)
