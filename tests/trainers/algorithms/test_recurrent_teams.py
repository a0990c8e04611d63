"""VDN and QMIX with a memory: loss, gradient and priorities of windows against walks through single ones in float64."""

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
from warpworld.policies import MonotonicMixer, RecurrentPolicy, RecurrentTeamQNetwork
from warpworld.trainers.algorithms import get_algorithm
from warpworld.trainers.algorithms.mixing import Mixing
from warpworld.trainers.algorithms.value_rescale import rescaled, unscaled
from warpworld.trainers.play import play
from warpworld.trainers.replay import TeamWindows
from warpworld.trainers.trainer import Trainer

WINDOWS, AGENTS, FEATURES, STATE, BURN_IN, TRAINED, N_STEP = 4, 3, 4, 5, 2, 5, 2
LENGTH, FOLLOWED = BURN_IN + TRAINED + N_STEP, TRAINED + N_STEP


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def made(algorithm: str, heads: tuple[int, ...] = (3,), declared: bool = False, **settings: Any) -> Mixing:
    """A learner in float64, whose target is another network."""
    action = Discrete(heads[0]) if len(heads) == 1 else MultiDiscrete(heads)
    group = Group("agent", AGENTS, Box(-1.0, 1.0, (FEATURES,)), action)
    model = {"recurrent": "gru", "recurrent_size": 5, "hidden_sizes": [6], **settings.pop("model", {})}
    sizes = {"burn_in": BURN_IN, "train_length": TRAINED, "n_step": N_STEP, "batch_size": WINDOWS}
    cls = get_algorithm(algorithm)
    known = cls.Settings(groups=("agent",), **{**sizes, **settings, "model": model})
    state = Box(-np.inf, np.inf, (STATE,), np.float32) if declared else None
    learner = cls(cls.build_policy(known, group, seeded(1), state).double(), known)
    assert isinstance(learner, Mixing) and isinstance(learner.policy, RecurrentPolicy)
    with torch.no_grad():
        learner.parameters.vector.add_(0.3 * torch.randn(len(learner.parameters.vector), generator=seeded(2)))
        learner.target.vector.add_(0.3 * torch.randn(len(learner.target.vector), generator=seeded(3)))
    return learner


def drawn(learner: Mixing, masked: bool, declared: bool) -> TeamWindows:
    """Windows of random numbers, with ends of episodes and of lives and with empty steps; the last is not learnt."""
    random, heads = seeded(4), learner._heads

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    def flags(share: float, *shape: int) -> Tensor:
        return torch.rand(*shape, generator=random) < share

    starts, learnt = flags(0.15, LENGTH, WINDOWS, AGENTS), flags(0.7, TRAINED, WINDOWS)
    starts[0], starts[4, 0], learnt[:, -1] = False, True, False
    takes_part, then = flags(0.7, TRAINED, WINDOWS, AGENTS), flags(0.7, FOLLOWED, WINDOWS, AGENTS)
    then[1, 0] = False
    mask = flags(0.5, FOLLOWED, WINDOWS, AGENTS, sum(heads))
    actions = [torch.randint(0, head, (TRAINED, WINDOWS, AGENTS), generator=random) for head in heads]
    steps = torch.arange(TRAINED)[:, None]
    return TeamWindows(
        observations=normal(LENGTH, WINDOWS, AGENTS, FEATURES),
        states=normal(WINDOWS, AGENTS, learner.policy.state_size),
        starts=starts,
        actions=torch.stack(actions, -1).int(),
        returns=2 * normal(TRAINED, WINDOWS),
        discounts=torch.where(flags(0.3, TRAINED, WINDOWS), 0.0, 0.8).double(),
        following=steps + torch.randint(1, N_STEP + 1, (TRAINED, WINDOWS), generator=random),
        learnt=learnt,
        action_masks=mask if masked else None,
        weights=torch.rand(WINDOWS, generator=random, dtype=torch.float64),
        takes_part=takes_part,
        next_takes_part=then,
        team_states=normal(FOLLOWED, WINDOWS, STATE) if declared else None,
    )


class ByHand:
    """One window, agent by agent and step by step, by the papers' formulas."""

    def __init__(self, learner: Mixing, batch: TeamWindows, window: int) -> None:
        self.learner, self.settings, self.batch, self.window = learner, learner.settings, batch, window
        self.own, self.target = learner.policy.model, learner.target.module
        self.values = [self.walked(self.own, agent) for agent in range(AGENTS)]
        with torch.no_grad():
            self.by_target = [self.walked(self.target, agent) for agent in range(AGENTS)]

    def walked(self, network: Any, agent: int) -> list[Tensor]:
        """An agent's values behind burn-in, which leaves no gradient."""
        state, found = self.batch.states[self.window, agent], []
        for t in range(LENGTH):
            if self.batch.starts[t, self.window, agent]:
                state = torch.zeros_like(state)
            outputs, _, state = network.step(self.batch.observations[t, self.window, agent], state)
            if t < BURN_IN:
                state = state.detach()
            else:
                found.append(outputs)
        return found

    def of(self, values: Tensor, choices: list[int]) -> Tensor:
        heads = values.split(self.learner._heads)
        return torch.stack([head[choice] for head, choice in zip(heads, choices, strict=True)]).mean()

    def best(self, values: Tensor, mask: Tensor | None) -> list[int]:
        heads = values.detach().split(self.learner._heads)
        allowed = [torch.ones_like(head, dtype=torch.bool) for head in heads]
        if mask is not None:
            allowed = [part if part.any() else ~part for part in mask.split(self.learner._heads)]
        return [int(head.masked_fill(~part, -1e30).argmax()) for head, part in zip(heads, allowed, strict=True)]

    def total(self, network: Any, values: list[Tensor], t: int, takes_part: Tensor) -> Tensor:
        """Q_tot in a step behind burn-in: a sum, or elu(sum of Q_i |W1_i| + b1) . |w2| + v."""
        if not takes_part.any():
            return torch.zeros((), dtype=torch.float64)
        mixer = network.mixer
        if not isinstance(mixer, MonotonicMixer):
            return torch.stack([value for value, takes in zip(values, takes_part, strict=True) if takes]).sum()
        if self.batch.team_states is not None:
            state = self.batch.team_states[t, self.window]
        else:
            seen = self.batch.observations[BURN_IN + t, self.window]
            state = torch.cat([seen[i] if takes_part[i] else torch.zeros_like(seen[i]) for i in range(AGENTS)])
        weights, hidden = mixer.first(state).abs().view(AGENTS, -1), mixer.bias(state)
        for agent, value in enumerate(values):
            hidden = hidden + value * weights[agent] if takes_part[agent] else hidden
        return functional.elu(hidden) @ mixer.second(state).abs() + mixer.base(state).squeeze()

    def error(self, t: int) -> tuple[Tensor, Tensor]:
        """Value of what a team did in a trained step, and its target."""
        batch, i, settings = self.batch, self.window, self.settings
        done = [self.of(self.values[agent][t], batch.actions[t, i, agent].tolist()) for agent in range(AGENTS)]
        value, total = self.total(self.own, done, t, batch.takes_part[t, i]), batch.returns[t, i]
        if batch.discounts[t, i]:
            then, after = int(batch.following[t, i]), []
            for agent in range(AGENTS):
                judge = self.values if settings.double else self.by_target
                mask = None if batch.action_masks is None else batch.action_masks[then, i, agent]
                after.append(self.of(self.by_target[agent][then], self.best(judge[agent][then], mask)))
            following = self.total(self.target, after, then, batch.next_takes_part[then, i]).detach()
            total = total + batch.discounts[t, i] * (unscaled(following) if settings.value_rescale else following)
        return value, rescaled(total) if settings.value_rescale else total

    def loss_and_priority(self) -> tuple[Tensor, float]:
        pairs = [self.error(t) for t in range(TRAINED) if self.batch.learnt[t, self.window]]
        if not pairs:
            return torch.zeros((), dtype=torch.float64), 0.0
        errors = torch.stack([(target - value).abs() for value, target in pairs]).detach()
        losses = [functional.smooth_l1_loss(value, target.detach()) for value, target in pairs]
        eta = self.settings.priority_eta
        return torch.stack(losses).sum(), float(eta * errors.max() + (1 - eta) * errors.mean())


CASES: dict[str, dict[str, Any]] = {
    "vdn": {"algorithm": "vdn"},
    "vdn, by the target, masks, lstm": {
        **{"algorithm": "vdn", "double": False, "masked": True},
        "model": {"recurrent": "lstm"},
    },
    "qmix": {"algorithm": "qmix", "priority_eta": 0.5},
    "qmix, declared state, masks, dueling, layers": {
        **{"algorithm": "qmix", "declared": True, "masked": True, "dueling": True},
        "model": {"recurrent_layers": 2},
    },
    "qmix, heads, rescaled, transformer": {
        **{"algorithm": "qmix", "heads": (3, 2), "masked": True, "value_rescale": True},
        "model": {"recurrent": "transformer", "recurrent_heads": 1, "recurrent_window": 3},
    },
}


@pytest.mark.parametrize("case", CASES)
def test_loss_gradient_and_priorities_are_those_of_single_windows(case: str) -> None:
    settings = {"masked": False, "declared": False, **CASES[case]}
    masked = settings.pop("masked")
    learner = made(**settings)
    batch = drawn(learner, masked, settings["declared"])
    learner.replay = SimpleNamespace(draw=lambda beta: batch)  # type: ignore[assignment]
    found = learner.evaluate()
    gradient = torch.autograd.grad(found.loss, learner.parameters.parts)

    alone = [ByHand(learner, batch, i).loss_and_priority() for i in range(WINDOWS)]
    loss = torch.stack([weight * loss for weight, (loss, _) in zip(batch.weights, alone, strict=True)]).mean()
    torch.testing.assert_close(found.loss, loss, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(found.errors, found.errors.new_tensor([priority for _, priority in alone]))
    for own, expected in zip(gradient, torch.autograd.grad(loss, learner.parameters.parts), strict=True):
        torch.testing.assert_close(own, expected, rtol=1e-9, atol=1e-12)
    assert isinstance(learner.policy.model, RecurrentTeamQNetwork) and found.errors[-1] == 0


def test_what_is_not_learnt_may_hold_anything() -> None:
    learner = made("qmix")
    batch = drawn(learner, False, False)
    learner.replay = SimpleNamespace(draw=lambda beta: batch)  # type: ignore[assignment]
    before = learner.evaluate()
    batch.returns[~batch.learnt] = torch.nan
    batch.discounts[~batch.learnt] = 0.5
    after = learner.evaluate()
    assert torch.equal(before.loss, after.loss) and torch.equal(before.errors, after.errors)


# ---- settings --------------------------------------------------------------------------------------------------------
OWN = "tests.policies.stateful_models:Valueless"
GRU = {"recurrent": "gru", "recurrent_size": 4, "hidden_sizes": [8]}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"model": {"type": OWN}},
            f"model.type is {OWN}, which declares a state in initial_state(), but vdn puts heads of its own behind an "
            "encoder, expected a model with one; r2d2, ppo and a2c train yours",
        ),
        (
            {"burn_in": 3},
            "burn_in is 3, but model.recurrent is null, expected 8; only a policy with a memory learns from windows",
        ),
        (
            {"train_length": 5},
            "train_length is 5, but model.recurrent is null, expected 32; only a policy with a memory learns from "
            "windows",
        ),
        (
            {"priority_eta": 0.5},
            "priority_eta is 0.5, but model.recurrent is null, expected 0.9; only a policy with a memory learns from "
            "windows",
        ),
        (
            {"model": GRU, "final_observations": True},
            "final_observations is true, but windows keep none, expected false or null",
        ),
        (
            {"model": GRU, "replay_size": 200, "learning_starts": 150},
            "replay_size is 200, expected at least 384: 96 rows of num_envs 4 x 1 team",
        ),
    ],
)
def test_settings_that_do_not_go_together(entry: dict[str, Any], message: str) -> None:
    data = {
        "name": "tests.trainers.replay.varied:Varied",
        "trainer": {"num_envs": 4, "num_steps": 4, "total_env_steps": 1000},
        "policy": {
            "left": {"algorithm": "vdn", **entry},
            "rest": {"algorithm": "random", "groups": ["middle", "right"]},
        },
    }
    with pytest.raises(ConfigError) as refused:
        config_from_dict(data)
    assert str(refused.value).endswith(f"policy.left.{message}")


# ---- learning --------------------------------------------------------------------------------------------------------
def recalled(algorithm: str, model: dict[str, Any], **settings: Any) -> float:
    """Share of cues that the members of a team recall, each its own, paid by the team's mean; chance is a half."""
    entry = {
        **dict(algorithm=algorithm, learning_rate=[[0, 1e-2], [12_000, 1e-3]], gamma=0.9, batch_size=32, updates=2),
        **dict(replay_size=8_192, learning_starts=640, target_every=50, exploration=0.1, **settings),
        "model": {"hidden_sizes": [16], "activation": "relu", **model},
    }
    config = config_from_dict(
        {
            "name": "tests.trainers.recall:Recall",
            "env": {"agents": 2, "episode_length": 4},
            "trainer": {"num_envs": 16, "num_steps": 4, "total_env_steps": 12_000, "torch_threads": 1},
            "policy": {"agent": entry},
        }
    )
    trainer = Trainer(config)
    metrics = trainer.train(None)
    steps = 12 if model else 1
    assert metrics["charts/agent/replay_ratio"] == pytest.approx(2 * 32 * steps / (16 * 4))
    return float(play(config, trainer.policies, 300, greedy=True).returns["agent"].mean())


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.cpu_backend
@pytest.mark.parametrize("algorithm", ["vdn", "qmix"])
@pytest.mark.usefixtures("optimised")
def test_a_team_recalls_its_cues_with_a_memory_alone(algorithm: str) -> None:
    windows = {"burn_in": 0, "train_length": 12}
    assert recalled(algorithm, {"recurrent": "gru", "recurrent_size": 16}, **windows) > 0.95
    assert 0.35 < recalled(algorithm, {}) < 0.65
