"""Gumbel AlphaZero's tree search (Danihelka et al. 2022: "Policy improvement by planning with Gumbel"), many at once.

Details that the paper leaves open are those of mctx's ``gumbel_muzero_policy``: values are rescaled in each node, and
visits are dealt by its table of sequential halving.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpworld.managers.cpu import MAX_WORKERS, NativeLibrary, WorkerLoop

SOURCE = Path(__file__).resolve().parent / "trees.cpp"
ROOT, NONE = 0, -1


@dataclass(frozen=True)
class Seen:
    """Positions of B envs as a network sees them, from the view of the agent that moves next.

    Attributes:
        logits: (B, A) floats, finite.
        legal: (B, A) bool, at least one in each row.
        values: (B,) floats.
    """

    logits: np.ndarray
    legal: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Arrived:
    """Positions after a move of each env.

    Attributes:
        seen: the positions.
        rewards: (B,) floats, of the agent that moved.
        discounts: (B,) floats: what the value that follows counts to the agent that moved; 0 where the episode is
            over, negative where the other player moves next.
    """

    seen: Seen
    rewards: np.ndarray
    discounts: np.ndarray


@dataclass(frozen=True)
class Scales:
    """Weights of values beside logits.

    Attributes:
        value_scale: c_scale of the paper.
        maxvisit_init: c_visit of the paper.
    """

    value_scale: float = 0.1
    maxvisit_init: float = 50.0


@dataclass(frozen=True)
class Found:
    """Results of the searches of B envs.

    Attributes:
        actions: (B,) int64, to be taken.
        policy: (B, A) float64, the improved policy.
        values: (B,) float64, of the roots, as the searches find them.
        visits: (B, A) int64, of the roots' actions.
    """

    actions: np.ndarray
    policy: np.ndarray
    values: np.ndarray
    visits: np.ndarray


Step = Callable[[np.ndarray, np.ndarray], Arrived]
"""Takes the nodes (B,) that envs move from and their actions (B,); the k-th call arrives in node k, from 1."""


def search(
    root: Seen,
    step: Step,
    gumbels: np.ndarray,
    num_simulations: int,
    most_considered: int,
    scales: Scales,
    num_workers: int = 1,
) -> Found:
    """Search from the positions of B envs; the results are the same for any number of workers.

    Args:
        root: the positions.
        step: moves envs on in the model, from nodes that it has arrived in; node 0 is the root.
        gumbels: (B, A) float64, noise of the roots; 0 for none.
        num_simulations: of each env.
        most_considered: actions of a root that are considered.
        scales: weights of values.
        num_workers: threads that share the envs.
    """
    trees = _Trees(root, gumbels, num_simulations, scales, num_workers)
    table = np.array([considered_visits(m, num_simulations) for m in range(root.logits.shape[1] + 1)], np.int32)
    considered = np.minimum(root.legal.sum(1), most_considered)
    for k in range(num_simulations):
        parents, actions = trees.select(table[considered, k])
        trees.expand(step(parents, actions), k + 1)
    return trees.conclude()


@functools.lru_cache(1024)
def considered_visits(considered: int, num_simulations: int) -> tuple[int, ...]:
    """Number of visits that the root's next action must have had, simulation by simulation: sequential halving.

    All considered actions are visited equally often in a phase; then half of them are left. Phases have equal budgets.
    """
    if considered <= 1:
        return tuple(range(num_simulations))
    phases, left, visits, found = math.ceil(math.log2(considered)), considered, [0] * considered, list[int]()
    while len(found) < num_simulations:
        for _ in range(max(1, num_simulations // (phases * left))):
            found += visits[:left]
            visits[:left] = [count + 1 for count in visits[:left]]
        left = max(2, left // 2)
    return tuple(found[:num_simulations])


class _Call(ctypes.Structure):
    """Struct of trees.cpp."""

    _OF_NODES = ("raw_values", "values"), ("visits", "parents", "moves")
    _OF_EDGES = ("logits", "rewards", "discounts", "child_values"), ("child_visits", "children")
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("nodes", "choices", "newest")),
        *((name, ctypes.c_double) for name in ("value_scale", "maxvisit")),
        *((name, ctypes.c_void_p) for name in (*_OF_NODES[0], *_OF_NODES[1], *_OF_EDGES[0], *_OF_EDGES[1], "legal")),
        *((name, ctypes.c_void_p) for name in ("gumbels", "new_logits", "new_legal")),
        *((name, ctypes.c_void_p) for name in ("new_values", "new_rewards", "new_discounts")),
        *((name, ctypes.c_void_p) for name in ("wanted", "from", "actions", "scores")),
    ]


@functools.cache
def _library() -> NativeLibrary:
    return NativeLibrary(SOURCE)


class _Trees:
    """A tree for each of B envs, of as many nodes as simulations, and the root; C++ walks them.

    Its arrays are of nodes (B, N) and of their edges (B, N, A): logits, legal moves, rewards, discounts, children.
    """

    def __init__(self, root: Seen, gumbels: np.ndarray, num_simulations: int, scales: Scales, num_workers: int) -> None:
        envs, choices = root.logits.shape
        nodes = envs, num_simulations + 1
        self._envs = envs
        self._call = _Call(
            nodes=nodes[1], choices=choices, value_scale=scales.value_scale, maxvisit=scales.maxvisit_init
        )
        self._arrays: dict[str, np.ndarray] = {}
        # of nodes and edges
        for shape, (numbers, counts) in ((nodes, _Call._OF_NODES), ((*nodes, choices), _Call._OF_EDGES)):
            self._keep({name: np.empty(shape, np.float64) for name in numbers})
            self._keep({name: np.empty(shape, np.int32) for name in counts})
        self._keep({"legal": np.empty((*nodes, choices), bool)})
        # of calls
        self._keep({"gumbels": np.ascontiguousarray(gumbels, np.float64), "scores": np.empty((envs, choices))})
        self._keep({"from": np.empty(envs, np.int64), "actions": np.empty(envs, np.int64)})
        workers = min(num_workers, MAX_WORKERS)
        self._run = {
            name: WorkerLoop(_library(), name, self._call, workers)
            for name in ("plant", "select", "expand", "conclude")
        }
        self._look(root, ROOT)
        self._run["plant"](envs)

    def _keep(self, arrays: dict[str, np.ndarray]) -> None:
        """Keep arrays, and point the C++ to them."""
        self._arrays |= arrays
        for name, array in arrays.items():
            setattr(self._call, name, array.ctypes.data)

    def _look(self, seen: Seen, node: int) -> None:
        """Point the C++ to what the new node is made of."""
        self._call.newest = node
        logits, values = (np.ascontiguousarray(each, np.float64) for each in (seen.logits, seen.values))
        self._keep({"new_logits": logits, "new_legal": np.ascontiguousarray(seen.legal, bool), "new_values": values})

    def select(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The last nodes (B,) and actions (B,) of ways from the roots, by the paper's equation 14.

        They have not been tried there, or end the episode.

        Args:
            wanted: (B,) int32, how often a root's actions were visited of which the best begins the way.
        """
        self._keep({"wanted": np.ascontiguousarray(wanted, np.int32)})
        self._run["select"](self._envs)
        return self._arrays["from"], self._arrays["actions"]

    def expand(self, arrived: Arrived, node: int) -> None:
        """Add a node to each tree, or come to an episode's end once more; its value counts in all nodes above it."""
        self._look(arrived.seen, node)
        rewards, discounts = (np.ascontiguousarray(each, np.float64) for each in (arrived.rewards, arrived.discounts))
        self._keep({"new_rewards": rewards, "new_discounts": discounts})
        self._run["expand"](self._envs)

    def conclude(self) -> Found:
        """Results, by equation 11 with values as of equations 8, 10 and 33."""
        self._run["conclude"](self._envs)
        arrays = self._arrays
        visits = arrays["child_visits"][:, ROOT].astype(np.int64)
        return Found(arrays["actions"], arrays["scores"], arrays["values"][:, ROOT].copy(), visits)
