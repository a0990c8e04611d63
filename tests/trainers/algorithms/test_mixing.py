"""VDN and QMIX: values of teams, targets and losses against loops in float64, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from torch import Tensor
from torch.nn import functional

from warpworld.config import config_from_dict
from warpworld.environment import Group
from warpworld.errors import ConfigError
from warpworld.policies.networks.mixing import MonotonicMixer, TeamQNetwork
from warpworld.trainers.algorithms import get_algorithm
from warpworld.trainers.algorithms.mixing import Mixing
from warpworld.trainers.algorithms.value_rescale import rescaled, unscaled
from warpworld.trainers.replay import TeamTransitions

TEAMS, AGENTS, FEATURES, STATE = 7, 3, 4, 5


def made(algorithm: str, heads: tuple[int, ...] = (3,), declared: bool = False, **settings: Any) -> Mixing:
    """A learner in float64, whose target is another network."""
    action = Discrete(heads[0]) if len(heads) == 1 else MultiDiscrete(heads)
    group = Group("agent", AGENTS, Box(-1.0, 1.0, (FEATURES,)), action)
    cls = get_algorithm(algorithm)
    known = cls.Settings(groups=("agent",), batch_size=TEAMS, model={"hidden_sizes": [6]}, **settings)
    state = Box(-np.inf, np.inf, (STATE,), np.float32) if declared else None
    learner = cls(cls.build_policy(known, group, seeded(1), state).double(), known)
    assert isinstance(learner, Mixing)
    with torch.no_grad():
        learner.parameters.vector.add_(0.3 * torch.randn(len(learner.parameters.vector), generator=seeded(2)))
        learner.target.vector.add_(0.3 * torch.randn(len(learner.target.vector), generator=seeded(3)))
    return learner


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn(learner: Mixing, masked: bool, declared: bool) -> TeamTransitions:
    """Transitions of random numbers; nobody takes part in what follows the second, and nothing follows the third."""
    random, heads = seeded(4), learner._heads

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    def flags(share: float, *shape: int) -> Tensor:
        return torch.rand(*shape, generator=random) < share

    discounts = torch.full((TEAMS,), 0.8, dtype=torch.float64)
    discounts[2] = 0.0
    takes_part, then = flags(0.7, TEAMS, AGENTS), flags(0.7, TEAMS, AGENTS)
    takes_part[:, 0], then[:, 1], then[1] = True, True, False
    actions = [torch.randint(0, head, (TEAMS, AGENTS), generator=random) for head in heads]
    return TeamTransitions(
        observations=normal(TEAMS, AGENTS, FEATURES),
        actions=torch.stack(actions, -1).int(),
        returns=2 * normal(TEAMS),
        discounts=discounts,
        next_observations=normal(TEAMS, AGENTS, FEATURES),
        next_action_masks=flags(0.5, TEAMS, AGENTS, sum(heads)) if masked else None,
        weights=torch.rand(TEAMS, generator=random, dtype=torch.float64),
        takes_part=takes_part,
        next_takes_part=then,
        states=normal(TEAMS, STATE) if declared else None,
        next_states=normal(TEAMS, STATE) if declared else None,
    )


class ByHand:
    """One transition at a time, agent by agent, by the papers' formulas."""

    def __init__(self, learner: Mixing, batch: TeamTransitions) -> None:
        self.learner, self.batch, self.heads = learner, batch, learner._heads

    def own_and_target(self) -> tuple[TeamQNetwork, TeamQNetwork]:
        own, target = self.learner.policy.model, self.learner.target.module
        assert isinstance(own, TeamQNetwork) and isinstance(target, TeamQNetwork)
        return own, target

    def of_choices(self, values: Tensor, choices: list[int]) -> Tensor:
        heads = values.split(self.heads)
        return torch.stack([head[choice] for head, choice in zip(heads, choices, strict=True)]).mean()

    def best(self, values: Tensor, mask: Tensor | None) -> list[int]:
        found = []
        for i, head in enumerate(values.split(self.heads)):
            places = range(len(head))
            if mask is not None:
                allowed = mask.split(self.heads)[i]
                places = [k for k in places if allowed[k]] or places  # type: ignore[assignment]
            found.append(max(places, key=head.tolist().__getitem__))
        return found

    def total(self, network: TeamQNetwork, values: list[Tensor], takes_part: Tensor, state: Tensor) -> Tensor:
        """Q_tot: a sum, or elu(sum of Q_i |W1_i| + b1) . |w2| + v."""
        if not takes_part.any():
            return torch.zeros((), dtype=torch.float64)
        mixer = network.mixer
        if not isinstance(mixer, MonotonicMixer):
            return torch.stack([value for value, takes in zip(values, takes_part, strict=True) if takes]).sum()
        weights = mixer.first(state).abs().view(AGENTS, -1)
        hidden = mixer.bias(state)
        for agent, value in enumerate(values):
            if takes_part[agent]:
                hidden = hidden + value * weights[agent]
        hidden = torch.where(hidden > 0, hidden, hidden.exp() - 1)
        return hidden @ mixer.second(state).abs() + mixer.base(state).squeeze()

    def state(self, declared: Tensor | None, seen: Tensor, takes_part: Tensor) -> Tensor:
        if declared is not None:
            return declared
        members = zip(seen, takes_part, strict=True)
        return torch.cat([view if takes else torch.zeros_like(view) for view, takes in members])

    def error(self, i: int) -> tuple[Tensor, Tensor]:
        """Value of what a team did, and its target."""
        batch, (own, target), settings = self.batch, self.own_and_target(), self.learner.settings
        seen, takes_part = batch.observations[i], batch.takes_part[i]
        values = [self.of_choices(own.actor(seen[a]), batch.actions[i, a].tolist()) for a in range(AGENTS)]
        state = self.state(None if batch.states is None else batch.states[i], seen, takes_part)
        value, total = self.total(own, values, takes_part, state), batch.returns[i]
        if batch.discounts[i]:
            then, takes_part = batch.next_observations[i], batch.next_takes_part[i]
            following = []
            for agent in range(AGENTS):
                mask = None if batch.next_action_masks is None else batch.next_action_masks[i, agent]
                judge = own if settings.double else target
                following.append(self.of_choices(target.actor(then[agent]), self.best(judge.actor(then[agent]), mask)))
            state = self.state(None if batch.next_states is None else batch.next_states[i], then, takes_part)
            after = self.total(target, following, takes_part, state).detach()
            total = total + batch.discounts[i] * (unscaled(after) if settings.value_rescale else after)
        return value, (rescaled(total) if settings.value_rescale else total).detach()


CASES: dict[str, dict[str, Any]] = {
    "vdn": {"algorithm": "vdn"},
    "vdn, by the target, masks": {"algorithm": "vdn", "double": False, "masked": True},
    "qmix": {"algorithm": "qmix"},
    "qmix, declared state, masks, dueling": {"algorithm": "qmix", "declared": True, "masked": True, "dueling": True},
    "qmix, heads, rescaled": {"algorithm": "qmix", "heads": (3, 2), "masked": True, "value_rescale": True},
}


@pytest.mark.parametrize("case", CASES)
def test_loss_gradient_and_errors_are_those_of_the_formulas(case: str) -> None:
    settings = {"masked": False, "declared": False, **CASES[case]}
    masked = settings.pop("masked")
    learner = made(**settings)
    batch = drawn(learner, masked, settings["declared"])
    learner.replay = SimpleNamespace(draw=lambda beta: batch)  # type: ignore[assignment]
    found = learner.evaluate()
    gradient = torch.autograd.grad(found.loss, learner.parameters.parts)

    pairs = [ByHand(learner, batch).error(i) for i in range(TEAMS)]
    losses = [weight * functional.huber_loss(*pair) for weight, pair in zip(batch.weights, pairs, strict=True)]
    loss = torch.stack(losses).mean()
    torch.testing.assert_close(found.loss, loss)
    torch.testing.assert_close(found.errors, torch.stack([target - value.detach() for value, target in pairs]))
    for own, expected in zip(gradient, torch.autograd.grad(loss, learner.parameters.parts), strict=True):
        torch.testing.assert_close(own, expected)


@pytest.mark.parametrize("algorithm", ["vdn", "qmix"])
def test_a_team_s_value_never_falls_as_an_agent_s_rises(algorithm: str) -> None:
    network = made(algorithm).policy.model
    assert isinstance(network, TeamQNetwork)
    values = 3 * torch.randn(200, AGENTS, generator=seeded(5), dtype=torch.float64)
    state = torch.randn(200, AGENTS * FEATURES, generator=seeded(6), dtype=torch.float64)
    takes_part = torch.rand(200, AGENTS, generator=seeded(7)) < 0.8
    mixed = network.mix(values.requires_grad_(), takes_part, state)
    (slopes,) = torch.autograd.grad(mixed.sum(), values)
    assert (slopes >= 0).all()
    assert (slopes[takes_part] > 0).all() and (slopes[~takes_part] == 0).all()


# ---- what is refused -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"groups": ["left", "right"]},
            "policy.all.groups has left, right, but vdn mixes the agents of one group, expected one; give each group a "
            "policy of its own",
        ),
        (
            {"groups": ["left"], "first_priority": "actor"},
            "policy.all.first_priority is actor, but the values that agents act by are not the team's, which vdn "
            "learns, expected max",
        ),
        (
            {"groups": ["left"], "replay_size": 12, "learning_starts": 12, "batch_size": 4},
            "policy.all.replay_size is 12, expected at least 24: 6 rows of num_envs 4 x 1 team",
        ),
        (
            {"groups": ["left"], "team_reward": "max"},
            "policy.all.team_reward is 'max', expected 'mean' or 'sum'",
        ),
    ],
)
def test_settings_that_no_team_can_have(entry: dict[str, Any], message: str) -> None:
    others = [group for group in ("left", "middle", "right") if group not in entry["groups"]]
    data = {
        "name": "tests.trainers.replay.varied:Varied",
        "trainer": {"num_envs": 4, "num_steps": 4, "total_env_steps": 1000},
        "policy": {"all": {"algorithm": "vdn", **entry}, "rest": {"algorithm": "random", "groups": others}},
    }
    with pytest.raises(ConfigError) as refused:
        config_from_dict(data)
    assert str(refused.value).endswith(message)


def test_a_box_is_refused() -> None:
    entry = {"algorithm": "qmix", "groups": ["left", "middle", "right"]}
    data = {
        "name": "tests.trainers.replay.varied:Varied",
        "env": {"actions": "box"},
        "trainer": {"num_envs": 4, "num_steps": 4, "total_env_steps": 1000},
        "policy": {"all": entry},
    }
    with pytest.raises(ConfigError) as refused:
        config_from_dict(data)
    assert str(refused.value).endswith(
        "policy.all.algorithm is qmix, but group 'left' acts in Box(-1.0, 2.0, (2,), float32), expected choices; ddpg "
        "and sac act in a Box"
    )
