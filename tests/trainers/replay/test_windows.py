"""Every window that a replay draws is what was played and remembered, and nothing else can be drawn."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainers.replay.filled import Compared
from tests.trainers.replay.varied import Varied
from tests.trainers.replay.witness import Moment, Witness
from warpworld.config import ModelConfig
from warpworld.policies import RecurrentPolicy, build_policy
from warpworld.policies.layers.cell_makers import make_cell
from warpworld.policies.networks.q_network import DuelingHeads, RecurrentQNetwork
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.players import Slot
from warpworld.trainers.replay import ReplaySizes, WindowReplay, WindowSizes
from warpworld.world import World

ENDS = {"terminating": 0.1, "truncating": 0.1}
ALL = {**ENDS, "dying": 0.1, "cutting": 0.1, "resting": 0.3, "forbidding": 0.3}
STATE = 4


def remembering(world: World, group: str, kind: str) -> RecurrentPolicy:
    """A recurrent policy whose outputs are values; what it remembers shows in them."""
    placed, generator = world.groups[group], torch.Generator().manual_seed(5)
    heads = tuple(placed.action.nvec) if hasattr(placed.action, "nvec") else (placed.action.n,)

    model = ModelConfig(recurrent=kind, recurrent_size=STATE, hidden_sizes=[4])

    def network(encoder: torch.nn.Module, width: int) -> RecurrentQNetwork:
        of_state = DuelingHeads(STATE, heads, True)
        return RecurrentQNetwork(encoder, make_cell(model, width), of_state)

    policy = build_policy(model, placed, generator, needs_critic=False, heads=network).to(world.device)
    assert isinstance(policy, RecurrentPolicy)
    return policy


class FilledWindows(Compared):
    """Collector, replay of windows and witness of one world; windows are known by their number since the beginning."""

    def __init__(self, num_steps: int = 3, slots: Any = (), kind: str = "gru", **given: Any) -> None:
        keys = {"rows": 25, "batch_size": 512, "burn_in": 2, "train_length": 5, "n_step": 2, "gamma": 0.9}
        own = {key: given.pop(key) for key in list(given) if key in WindowSizes.__dataclass_fields__}
        self.groups, self.slots = list(given.pop("groups", ("left", "right"))), slots
        self.world = World(Varied(**{**ENDS, **given}), 3)
        self.policy = remembering(self.world, self.groups[0], kind)
        self.sizes = WindowSizes(**{**keys, "state_size": self.policy.state_size, **own})
        self.collector = Collector(self.world, num_steps, graph_steps=0, slots=slots)
        self.replay = WindowReplay(self.collector, self.groups, self.sizes)
        for group in self.world.groups:
            if group in self.groups:
                self.replay.act(group, self.policy)
            else:
                self.collector.act(group)
        self.witness = Witness(self.collector, self.groups)
        same = {name: getattr(self.sizes, name) for name in ("n_step", "gamma", "reward_scale", "reward_clip")}
        self.as_transitions = ReplaySizes(rows=1, batch_size=1, **same)
        self.twin = copy.deepcopy(self.policy).cpu()
        self.states: dict[int, torch.Tensor] = {}  # before moments
        self.world.reset()

    def array(self, what: str) -> Any:
        return self.world[self.replay.policy_agents.array(what)].cpu().numpy()

    def own(self, env: int, agent: int) -> bool:
        names = [group.name for group in self.replay.policy_agents.groups for _ in range(group.size)]
        return not any(env in range(3)[slot.envs] and names[agent] in slot.groups for slot in self.slots)

    def window(self, number: int, env: int, agent: int) -> list[Moment]:
        first = number * self.sizes.train_length
        return [step[env, agent] for step in self.witness.steps[first : first + self.sizes.length]]

    def trained(self, window: list[Moment]) -> list[Moment]:
        return window[self.sizes.burn_in : self.sizes.burn_in + self.sizes.train_length]

    def is_learnt(self, moment: Moment, env: int, agent: int) -> bool:
        return moment.counts and not moment.out_of_time and self.own(env, agent)

    def drawable(self) -> dict[int, tuple[int, int, int]]:
        """Items that can be drawn, and of which window, env and agent they are."""
        sizes, written, found = self.sizes, len(self.witness.steps), {}
        places = list(itertools.product(range(3), range(self.replay.policy_agents.size)))
        for number in range(max(0, written - sizes.rows) // sizes.train_length, written // sizes.train_length + 1):
            first = number * sizes.train_length
            if first + sizes.length > written or first <= written - sizes.rows:
                continue
            for place, (env, agent) in enumerate(places):
                if any(self.is_learnt(each, env, agent) for each in self.trained(self.window(number, env, agent))):
                    found[number % sizes.slots * len(places) + place] = (number, env, agent)
        return found

    def check(self) -> int:
        """Draw until every window came, and compare all that was drawn; gives how many could be drawn."""
        drawable = self.drawable()
        assert {int(item) for item in np.flatnonzero(self.array("leaves"))} == set(drawable)
        if not drawable:
            return 0
        drawn = self.replay.draw()
        items = self.array("batch_items")
        assert set(items) == set(drawable)
        batch = {key: None if value is None else value.cpu().numpy() for key, value in vars(drawn).items()}
        for i, item in enumerate(items):
            if i == 0 or item != items[i - 1]:
                self.compare(batch, i, *drawable[int(item)])
        return len(drawable)

    def compare(self, batch: dict[str, Any], i: int, number: int, env: int, agent: int) -> None:
        """One window of a batch against what was witnessed."""
        sizes, window = self.sizes, self.window(number, env, agent)
        assert np.array_equal(batch["observations"][:, i], [moment.seen for moment in window])
        assert batch["starts"][:, i].tolist() == [False, *(moment.begins for moment in window[1:])]
        np.testing.assert_allclose(batch["states"][i], self.remembered(window[0]), atol=1e-5)
        for t, moment in enumerate(self.trained(window)):
            assert batch["learnt"][t, i] == self.is_learnt(moment, env, agent)
            if not batch["learnt"][t, i]:
                continue
            transition = self.witness.expected(moment, self.as_transitions)
            assert transition is not None and np.array_equal(batch["actions"][t, i], moment.action)
            np.testing.assert_allclose(batch["returns"][t, i], transition.total, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(batch["discounts"][t, i], transition.discount, rtol=1e-6)
            if transition.discount:
                following = batch["following"][t, i]
                assert np.array_equal(window[sizes.burn_in + following].seen, transition.next_seen)
                if batch["action_masks"] is not None:
                    allowed = batch["action_masks"][following, i]
                    assert transition.next_allowed is not None
                    assert np.array_equal(allowed, transition.next_allowed[: len(allowed)])

    def remembered(self, moment: Moment) -> np.ndarray:
        """What an agent remembers before a moment, by playing its episode again from the start."""
        episode = [moment]
        while not episode[0].begins and id(episode[0]) not in self.states:
            assert episode[0].before is not None
            episode.insert(0, episode[0].before)
        state = torch.zeros(self.policy.state_size)
        for each in episode:
            state = self.states.setdefault(id(each), torch.zeros_like(state) if each.begins else state)
            with torch.no_grad():
                state = self.twin.step(torch.from_numpy(each.seen), state)[2]
        return self.states[id(moment)].numpy()


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize(
    "given",
    [
        pytest.param(ALL, id="everything"),
        pytest.param(
            {**ALL, "seen": "mixed", "actions": "several", "kind": "lstm", "burn_in": 0}, id="a Dict, an lstm"
        ),
        pytest.param(
            {
                **{"num_steps": 12, "rows": 20, "burn_in": 1, "train_length": 5, "n_step": 1, "groups": ["middle"]},
                **{"reward_scale": 1.7, "reward_clip": 0.5},
            },
            id="the smallest ring, long iterations",
        ),
        pytest.param(
            {"slots": [Slot(("left",), slice(0, 2))], "seen": "many bytes", "n_step": 3, "train_length": 4, "rows": 24},
            id="opponents, bytes",
        ),
    ],
)
def test_windows_are_those_that_were_played(given: dict[str, Any]) -> None:
    """The ring wraps around twice or more."""
    assert FilledWindows(**given).run(60 // given.get("num_steps", 3)) > 30


SELDOM = [pytest.param(*sizes, marks=pytest.mark.exhaustive) for sizes in ((1, 4), (3, 1))]


@pytest.mark.slow
@pytest.mark.parametrize(("train_length", "num_steps"), [(8, 9), *SELDOM])
def test_windows_are_those_that_were_played_for_long(train_length: int, num_steps: int) -> None:
    rows = 48 if train_length == 3 else 40
    filled = FilledWindows(**ALL, num_steps=num_steps, train_length=train_length, rows=rows, burn_in=3, n_step=3)
    assert filled.run(240 // num_steps) > 500


@pytest.mark.long
def test_first_priorities_are_of_the_errors_as_they_were_acted() -> None:
    """eta times the largest and 1 - eta times the mean of what the actors' values were off, rescaled."""
    filled = FilledWindows(actors_priority=True, alpha=0.5, eta=0.7, value_rescale=True, n_step=2)
    taken, best = {}, {}
    for _ in range(20):
        filled.collector.collect()
        newest = len(filled.witness.steps)
        for number in range(newest - 3, newest):
            row = number % filled.sizes.rows
            taken[number], best[number] = (filled.array(f"ring_{of}_values")[row].copy() for of in ("taken", "best"))
    numbers = {id(step[place]): (t, place) for t, step in enumerate(filled.witness.steps) for place in step}
    for item, (number, env, agent) in filled.drawable().items():
        errors = []
        for moment in filled.trained(filled.window(number, env, agent)):
            if filled.is_learnt(moment, env, agent):
                transition = filled.witness.expected(moment, filled.as_transitions)
                assert transition is not None
                now, total = numbers[id(moment)][0], transition.total
                if transition.discount:
                    after = now + (1 if transition.discount > 0.85 else 2)  # gamma is 0.9
                    total += transition.discount * unscaled(best[after][env, agent])
                errors.append(abs(rescaled(total) - taken[now][env, agent]))
        expected = (0.7 * max(errors) + 0.3 * np.mean(errors) + 1e-6) ** 0.5
        np.testing.assert_allclose(filled.array("leaves")[item], expected, rtol=1e-4)


def rescaled(x: float) -> float:
    return float(np.sign(x) * (np.sqrt(abs(x) + 1) - 1) + 1e-3 * x)


def unscaled(x: float) -> float:
    root = np.sqrt(1 + 4e-3 * (abs(x) + 1 + 1e-3))
    return float(np.sign(x) * (((root - 1) / 2e-3) ** 2 - 1))
