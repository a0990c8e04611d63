"""Envs of rware that begin where a world's do, and ask for the shelves that it asks for."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch

from warpworld import World
from warpworld.world.random import Random

REWARDS = {"global": 0, "individual": 1, "two_stage": 2}  # rware's numbers


def graphs_in_order() -> Any:
    """networkx as rware uses it, but for the order of a graph's parts: that in which their cells were added.

    networkx goes through a small part in the order of Python's hashes. Of two queues of one length, that order decides
    which one drives.
    """
    import networkx as nx

    class Part:
        def __init__(self, graph: nx.DiGraph, nodes: Iterable[Any]) -> None:
            self._graph, self._nodes = graph, set(nodes)

        def copy(self) -> nx.DiGraph:
            part = nx.DiGraph()
            part.add_nodes_from(node for node in self._graph if node in self._nodes)
            part.add_edges_from((node, to) for node in part for to in self._graph[node])
            return part

    class Graph(nx.DiGraph):
        def subgraph(self, nodes: Iterable[Any]) -> Part:
            return Part(self, nodes)

    ours = types.SimpleNamespace(DiGraph=Graph, algorithms=nx.algorithms, NetworkXNoCycle=nx.NetworkXNoCycle)
    ours.weakly_connected_components = nx.weakly_connected_components
    return ours


class Draws:
    """In place of NumPy's generator: what the kernel makes of the words that it draws."""

    def __init__(self) -> None:
        self.words: Iterator[int] = iter(())

    def choice(self, candidates: list[Any]) -> Any:
        """The next shelf that is asked for."""
        return candidates[next(self.words) * len(candidates) >> 32]


class Originals:
    """An env of the package for each env of a world, in its state.

    Args:
        world: of warehouse, after its first reset.
    """

    def __init__(self, world: World) -> None:
        from rware.warehouse import RewardType, Warehouse

        p = world.environment.params
        letters = np.where(p.floor.cells == 1, "x", ".")
        letters[tuple(p.floor.goals.T)] = "g"
        layout = "\n".join("".join(row) for row in letters)
        given = (0, 0, 0, p.agents, 0, p.sensor_range, p.request_queue_size, p.max_inactivity_steps, p.episode_length)
        self._envs = [
            Warehouse(*given, RewardType(REWARDS[p.reward]), layout, normalised_coordinates=p.normalised_coordinates)
            for _ in range(world.num_envs)
        ]
        for env in self._envs:
            env.reset(seed=0)
            env._np_random = Draws()
        self._margin, self._stride = p.sensor_range, p.width + 2 * p.sensor_range
        self.follow(world, np.ones(world.num_envs, bool))

    def follow(self, world: World, envs: np.ndarray) -> None:
        """Begin an episode with the robots and the requests of the world, in some envs."""
        from rware.warehouse import Direction

        state = {name: world.data.numpy(name) for name in ("cell", "direction", "carrying", "shelf_cell", "requested")}
        for number in np.flatnonzero(envs):
            env, own = self._envs[number], {name: values[number] for name, values in state.items()}
            for shelf, cell in zip(env.shelfs, own["shelf_cell"], strict=True):
                shelf.x, shelf.y = self._place(cell)
            for agent, cell, direction, shelf in zip(
                env.agents, own["cell"], own["direction"], own["carrying"], strict=True
            ):
                agent.x, agent.y = self._place(cell)
                agent.dir, agent.has_delivered = Direction(int(direction)), False
                agent.carrying_shelf = env.shelfs[shelf - 1] if shelf else None
            env.request_queue = [shelf for shelf, asked in zip(env.shelfs, own["requested"], strict=True) if asked]
            env._cur_steps = env._cur_inactive_steps = 0
            env._recalc_grid()

    def step(self, world: World, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observations (envs, robots, features), rewards (envs, robots) and ends (envs,); before the world."""
        clock = (world["clock"].view(torch.int64) + 1).view(torch.uint64)
        goals = world.environment.params.num_goals
        words = Random(clock, world["random_key"], world["random_stream"], 1, 0).env_bits(goals)
        made = []
        for env, own, drawn in zip(self._envs, actions, words.tolist(), strict=True):
            env._np_random.words = iter(drawn)
            made.append(env.step(own.tolist()))
        seen, rewards, ended = ([result[k] for result in made] for k in range(3))
        return np.array(seen), np.array(rewards, np.float32), np.array(ended)

    def state(self) -> dict[str, np.ndarray]:
        """Cells, directions and shelves of robots, cells of shelves, and which are asked for: the world's arrays."""
        robots = [env.agents for env in self._envs]
        return {
            "cell": np.array([[self._cell(agent) for agent in own] for own in robots]),
            "direction": np.array([[agent.dir.value for agent in own] for own in robots]),
            "carrying": np.array(
                [[agent.carrying_shelf.id if agent.carrying_shelf else 0 for agent in own] for own in robots]
            ),
            "has_delivered": np.array([[agent.has_delivered for agent in own] for own in robots]),
            "shelf_cell": np.array([[self._cell(shelf) for shelf in env.shelfs] for env in self._envs]),
            "requested": np.array([[shelf in env.request_queue for shelf in env.shelfs] for env in self._envs]),
        }

    def _place(self, cell: int) -> tuple[int, int]:
        return int(cell) % self._stride - self._margin, int(cell) // self._stride - self._margin

    def _cell(self, thing: Any) -> int:
        return (thing.y + self._margin) * self._stride + thing.x + self._margin
