"""A replay of Varied, filled by random play beside a witness."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tests.trainers.replay.varied import Varied
from tests.trainers.replay.witness import Expected, Moment, Witness
from warpworld.trainers.algorithms.exploration import Epsilon
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.players import Player, Slot
from warpworld.trainers.replay import ReplaySizes, TransitionReplay
from warpworld.world import World


class Compared:
    """What is collected and compared with a witness, again and again.

    Attributes:
        collector: collects.
    """

    collector: Collector

    def check(self) -> int:
        """Compare what was collected; how many items were."""
        raise NotImplementedError

    def run(self, iterations: int) -> int:
        """Collect and check so many times; how many items were compared."""
        compared = 0
        for _ in range(iterations):
            self.collector.collect()
            compared += self.check()
        return compared


class Filled(Compared):
    """Collector, replay and witness of one world.

    Args:
        groups: that the policy plays.
        sizes: keys of ``ReplaySizes``.
        num_envs: of the world.
        num_steps: of an iteration.
        slots: envs that opponents play.
        players: of the policy's groups; at random if not given.
        world: keys of ``World``.
        overlaps: whether rows are written while others are drawn.
        exploration: share of random actions, where the players' outputs are values; None draws from them.
        params: of Varied.
    """

    def __init__(
        self,
        groups: Sequence[str] = ("left", "right"),
        sizes: dict[str, Any] | None = None,
        num_envs: int = 3,
        num_steps: int = 2,
        slots: Sequence[Slot] = (),
        players: dict[str, Player] | None = None,
        world: dict[str, Any] | None = None,
        exploration: Any = None,
        overlaps: bool = False,
        **params: Any,
    ) -> None:
        self.sizes = ReplaySizes(**{"rows": 24, "batch_size": 512, "gamma": 0.9, **(sizes or {})})
        self.world = World(Varied(**params), num_envs, **(world or {}))
        self.collector = Collector(self.world, num_steps, graph_steps=0, slots=slots)
        self.collector.overlaps = overlaps
        self.replay = TransitionReplay(self.collector, groups, self.sizes)
        explores = None if exploration is None else Epsilon(self.collector, groups, exploration)
        for group in groups:
            player: Any = (players or {}).get(group)
            if explores is None:
                self.replay.act(group, player)
            else:
                explores.act(self.replay, group, player)
        for group in self.world.groups:
            if group not in groups:
                self.collector.act(group)
        self.witness = Witness(self.collector, list(groups))
        self.slots, self.num_steps = slots, num_steps
        self.world.reset()

    def array(self, what: str) -> Any:
        return self.world[self.replay.policy_agents.array(what)]

    def own(self, env: int, agent: int) -> bool:
        """Whether the policy itself plays there."""
        names = [group.name for group in self.replay.policy_agents.groups for _ in range(group.size)]
        return not any(
            env in range(slot.envs.start, slot.envs.stop) and names[agent] in slot.groups for slot in self.slots
        )

    def held(self) -> Iterator[tuple[int, Moment | None]]:
        """Every item of the ring, and the moment that it may be drawn for; None where it may not be drawn."""
        steps, sizes = self.witness.steps, self.sizes
        row_of = {number % sizes.rows: number for number in range(len(steps))}  # the last to take a row has it
        room = max(0, sizes.rows - len(steps))  # rows that nothing was written to yet
        ahead = self.collector.rows_ahead  # may be written over at any moment, and a row is kept apart from these
        # of the oldest steps: they, or frames before them, are written over
        lacking = max(0, sizes.frame_stack - 1 + (ahead + 1 if ahead else 0) - room)
        oldest = max(0, len(steps) - sizes.rows) + lacking
        places = itertools.product(range(sizes.rows), range(self.world.num_envs), range(self.replay.policy_agents.size))
        for item, (row, env, agent) in enumerate(places):
            number = row_of.get(row, -1)
            yield item, steps[number][env, agent] if number >= oldest and self.own(env, agent) else None

    def expected(self) -> dict[int, Expected]:
        """The transitions that may be drawn, by item."""
        found = (
            (item, self.witness.expected(moment, self.sizes)) for item, moment in self.held() if moment is not None
        )
        return {item: transition for item, transition in found if transition is not None}

    def check(self) -> int:
        """Draw until every item came, and compare all that was drawn with what was witnessed; gives how many."""
        leaves, expected = self.array("leaves").cpu().numpy(), self.expected()
        drawable = set(expected)
        assert {int(item) for item in np.flatnonzero(leaves)} == drawable
        if not drawable:
            return 0
        drawn = self.replay.draw()
        items = self.array("batch_items").cpu().numpy()
        assert set(items) == drawable
        found = {
            name: getattr(drawn, name).cpu().numpy() for name in ("observations", "actions", "returns", "discounts")
        }
        following = drawn.next_observations.cpu().numpy()
        masks = None if drawn.next_action_masks is None else drawn.next_action_masks.cpu().numpy()
        for i, item in enumerate(items):
            transition = expected[int(item)]
            assert np.array_equal(found["observations"][i], transition.seen)
            assert np.array_equal(found["actions"][i], transition.action)
            np.testing.assert_allclose(found["returns"][i], transition.total, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(found["discounts"][i], transition.discount, rtol=1e-6)
            if transition.discount:
                assert np.array_equal(following[i], transition.next_seen)
                if masks is not None:
                    assert transition.next_allowed is not None
                    assert np.array_equal(masks[i], transition.next_allowed[: masks.shape[1]])
        return len(drawable)
