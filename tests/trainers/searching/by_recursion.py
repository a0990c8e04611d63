"""Gumbel AlphaZero's search of one position, written down from the paper: dictionaries, float64, no arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class Node:
    """A position: what the network says, and what was found of it."""

    logits: Sequence[float]
    legal: Sequence[bool]
    value: float
    children: dict[int, Node] = field(default_factory=dict)
    rewards: dict[int, float] = field(default_factory=dict)
    discounts: dict[int, float] = field(default_factory=dict)
    returns: list[float] = field(default_factory=list)  # of each visit

    def mean(self) -> float:
        return sum(self.returns) / len(self.returns)

    def visits(self, action: int) -> int:
        return len(self.children[action].returns) if action in self.children else 0

    def q(self, action: int) -> float:
        return self.rewards[action] + self.discounts[action] * self.children[action].mean()


Model = Callable[[tuple[int, ...]], tuple[Node, float, float]]
"""Gives the position after some actions, the reward of the last of them and its discount."""


def softmax(logits: dict[int, float]) -> dict[int, float]:
    weights = {action: math.exp(logit - max(logits.values())) for action, logit in logits.items()}
    return {action: weight / sum(weights.values()) for action, weight in weights.items()}


def improved_logits(node: Node, value_scale: float, maxvisit_init: float) -> dict[int, float]:
    """Equation 11, of legal actions; v_mix is equation 33, and values are rescaled as mctx does."""
    actions = [action for action, is_legal in enumerate(node.legal) if is_legal]
    prior = softmax({action: node.logits[action] for action in actions})
    visited = [action for action in actions if node.visits(action)]
    total = sum(node.visits(action) for action in actions)
    mixed = node.value
    if visited:
        found = sum(prior[a] * node.q(a) for a in visited) / sum(prior[a] for a in visited)
        mixed = (node.value + total * found) / (1 + total)
    completed = {action: node.q(action) if action in visited else mixed for action in actions}
    low, high = min(completed.values()), max(completed.values())
    most = max(node.visits(action) for action in actions)
    return {
        a: node.logits[a] + (maxvisit_init + most) * value_scale * (completed[a] - low) / max(high - low, 1e-8)
        for a in actions
    }


def search(
    model: Model,
    gumbels: Sequence[float],
    num_simulations: int,
    most_considered: int,
    value_scale: float,
    maxvisit: float,
) -> tuple[int, dict[int, float], float, dict[int, int]]:
    """The action, the improved policy, the root's value and its actions' visits."""
    root, *_ = model(())
    root.returns.append(root.value)
    legal = [action for action, is_legal in enumerate(root.legal) if is_legal]

    def scores() -> dict[int, float]:
        return {a: logit + gumbels[a] for a, logit in improved_logits(root, value_scale, maxvisit).items()}

    def simulate(first: int) -> None:
        path, way, action = [root], [first], first
        while action in path[-1].children and path[-1].discounts[action] != 0:
            node = path[-1].children[action]
            path.append(node)
            policy, total = (
                softmax(improved_logits(node, value_scale, maxvisit)),
                sum(map(node.visits, range(len(node.legal)))),
            )
            action = max(policy, key=lambda a: (policy[a] - node.visits(a) / (1 + total), -a))
            way.append(action)
        if action not in path[-1].children:
            leaf, reward, discount = model(tuple(way))
            path[-1].children[action], path[-1].rewards[action], path[-1].discounts[action] = leaf, reward, discount
        leaf = path[-1].children[action]
        leaf.returns.append(leaf.value)
        gain = leaf.value
        for node, chosen in zip(reversed(path), reversed(way), strict=True):
            gain = node.rewards[chosen] + node.discounts[chosen] * gain
            node.returns.append(gain)

    # sequential halving (algorithm 2), as mctx deals it: each visit goes to the best of those that are due
    left, done, visited = min(most_considered, len(legal)), 0, 0
    phases = max(1, math.ceil(math.log2(left)))
    while done < num_simulations:
        for _ in range(max(1, num_simulations // (phases * left))):
            for _ in range(left):
                if done < num_simulations:
                    now = scores()
                    simulate(max((a for a in legal if root.visits(a) == visited), key=lambda a: now[a]))
                    done += 1
            visited += 1
        left = max(min(2, left), left // 2)
    most = max(map(root.visits, legal))
    final = scores()
    action = max((a for a in legal if root.visits(a) == most), key=lambda a: final[a])
    policy = softmax(improved_logits(root, value_scale, maxvisit))
    return action, policy, root.mean(), {a: root.visits(a) for a in legal}
