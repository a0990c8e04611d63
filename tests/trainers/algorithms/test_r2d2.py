"""R2D2's loss, its gradient and its priorities against loops over single windows; what is refused; a run of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from torch import Tensor
from torch.nn import functional

from warpworld.config import config_from_dict
from warpworld.environment import Group
from warpworld.errors import ConfigError
from warpworld.policies import RecurrentQNetwork, StatefulModel
from warpworld.trainers.algorithms.r2d2 import R2D2, R2D2Settings
from warpworld.trainers.algorithms.value_rescale import rescaled, unscaled
from warpworld.trainers.replay import Windows
from warpworld.trainers.trainer import Trainer

WINDOWS, BURN_IN, TRAINED, N_STEP, FEATURES = 5, 3, 6, 2, 4
LENGTH = BURN_IN + TRAINED + N_STEP


def made(heads: tuple[int, ...] = (3,), **settings: Any) -> R2D2:
    """R2D2 in float64, whose target is another network, on windows of any agents."""
    action = Discrete(heads[0]) if len(heads) == 1 else MultiDiscrete(heads)
    group = Group("agent", 1, Box(-1.0, 1.0, (FEATURES,)), action)
    model = {"recurrent": "gru", "recurrent_size": 5, "hidden_sizes": [6], **settings.pop("model", {})}
    model = {"type": model["type"]} if "type" in model else model
    sizes = {"burn_in": BURN_IN, "train_length": TRAINED, "n_step": N_STEP, "batch_size": WINDOWS}
    known = R2D2Settings(groups=("agent",), **{**sizes, **settings, "model": model})
    policy = R2D2.build_policy(known, group, torch.Generator().manual_seed(1), None).double()
    algorithm = R2D2(policy, known)
    with torch.no_grad():
        algorithm.parameters.vector.add_(0.3 * torch.randn(len(algorithm.parameters.vector), generator=seeded(2)))
        algorithm.target.vector.add_(0.3 * torch.randn(len(algorithm.target.vector), generator=seeded(3)))
    return algorithm


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn(algorithm: R2D2, masked: bool) -> Windows:
    """Windows of random numbers; the first has two ends of episodes, the last counts nowhere."""
    random, heads = seeded(4), algorithm._heads
    starts = torch.rand(LENGTH, WINDOWS, generator=random) < 0.15
    starts[0] = False
    starts[:, 0] = torch.arange(LENGTH).eq(2) | torch.arange(LENGTH).eq(7)
    learnt = torch.rand(TRAINED, WINDOWS, generator=random) < 0.7
    learnt[:, -1] = False
    discounts = torch.where(torch.rand(TRAINED, WINDOWS, generator=random) < 0.3, 0.0, 0.8).double()
    steps = torch.arange(TRAINED)[:, None]
    actions = [torch.randint(0, head, (TRAINED, WINDOWS), generator=random) for head in heads]
    mask = torch.rand(TRAINED + N_STEP, WINDOWS, sum(heads), generator=random) < 0.6
    mask[..., 0] = True
    return Windows(
        observations=torch.randn(LENGTH, WINDOWS, FEATURES, generator=random, dtype=torch.float64),
        states=torch.randn(WINDOWS, algorithm.policy.state_size, generator=random, dtype=torch.float64),
        starts=starts,
        actions=torch.stack(actions, -1).int(),
        returns=3 * torch.randn(TRAINED, WINDOWS, generator=random, dtype=torch.float64),
        discounts=discounts,
        following=steps + torch.randint(0, N_STEP + 1, (TRAINED, WINDOWS), generator=random),
        learnt=learnt,
        action_masks=mask if masked else None,
        weights=torch.rand(WINDOWS, generator=random, dtype=torch.float64),
    )


class Alone:
    """One window, walked through step by step."""

    def __init__(self, algorithm: R2D2, batch: Windows, window: int) -> None:
        self.algorithm, self.settings, self.batch, self.window = algorithm, algorithm.settings, batch, window
        own, target = algorithm.policy.model, algorithm.target.module
        assert isinstance(own, RecurrentQNetwork | StatefulModel)
        assert isinstance(target, RecurrentQNetwork | StatefulModel)
        with torch.no_grad():
            self.by_target = self.walked(target)
        self.values = self.walked(own)

    def walked(self, network: RecurrentQNetwork | StatefulModel) -> list[Tensor]:
        """The network's values of all choices behind burn-in, which leaves no gradient."""
        state, found = self.batch.states[self.window], []
        for t in range(LENGTH):
            if self.batch.starts[t, self.window]:
                state = torch.zeros_like(state)
            outputs, _, state = network.step(self.batch.observations[t, self.window], state)
            if t < BURN_IN:
                state = state.detach()
            else:
                found.append(outputs)
        return found

    def of(self, values: Tensor, choices: list[int]) -> Tensor:
        heads = values.split(self.algorithm._heads)
        return torch.stack([head[choice] for head, choice in zip(heads, choices, strict=True)]).mean()

    def error(self, t: int) -> tuple[Tensor, Tensor]:
        """Value of what was done in a trained step, and its target."""
        batch, i = self.batch, self.window
        value, discount = self.of(self.values[t], batch.actions[t, i].tolist()), float(batch.discounts[t, i])
        total = batch.returns[t, i]
        if discount:
            after = int(batch.following[t, i])
            chooses = (self.values if self.settings.double else self.by_target)[after].detach()
            heads = chooses.split(self.algorithm._heads)
            if batch.action_masks is not None:
                masks = batch.action_masks[after, i].split(self.algorithm._heads)
                allowed = [mask if mask.any() else ~mask for mask in masks]  # where nothing is allowed, all is
                heads = tuple(head.masked_fill(~mask, -1e30) for head, mask in zip(heads, allowed, strict=True))
            best = [int(head.argmax()) for head in heads]
            following = self.of(self.by_target[after], best)
            total = total + discount * (unscaled(following) if self.settings.value_rescale else following)
        return value, rescaled(total) if self.settings.value_rescale else total

    def loss_and_priority(self) -> tuple[Tensor, float]:
        steps = [t for t in range(TRAINED) if self.batch.learnt[t, self.window]]
        pairs = [self.error(t) for t in steps]
        if not pairs:
            return torch.zeros((), dtype=torch.float64), 0.0
        errors = torch.stack([(target - value).abs() for value, target in pairs]).detach()
        losses = [functional.smooth_l1_loss(value, target.detach()) for value, target in pairs]
        eta = self.settings.priority_eta
        return torch.stack(losses).sum(), float(eta * errors.max() + (1 - eta) * errors.mean())


@pytest.mark.parametrize(
    ("heads", "masked", "settings"),
    [
        ((3,), False, {}),
        ((3, 2), True, {"priority_eta": 0.6, "model": {"recurrent": "lstm"}}),
        ((3,), False, {"model": {"recurrent": "lstm", "recurrent_layers": 2}}),
        ((3,), True, {"model": {"recurrent": "transformer", "recurrent_heads": 1, "recurrent_window": 4}}),
        ((3, 2), True, {"model": {"type": "tests.policies.stateful_models:Valueless"}}),
        ((4,), True, {"double": False, "dueling": False, "value_rescale": False}),
    ],
)
def test_the_gradient_is_that_of_single_windows(heads: tuple[int, ...], masked: bool, settings: dict[str, Any]) -> None:
    algorithm = made(heads, **settings)
    batch = drawn(algorithm, masked)
    algorithm.replay = SimpleNamespace(draw=lambda beta: batch)  # type: ignore[assignment]
    vector = algorithm.parameters.vector
    found = algorithm.evaluate()
    algorithm.parameters.gradient.zero_()
    found.loss.backward()
    gradient = algorithm.parameters.gradient.clone()

    algorithm.parameters.gradient.zero_()
    alone = [Alone(algorithm, batch, i).loss_and_priority() for i in range(WINDOWS)]
    loss = torch.stack([weight * loss for weight, (loss, _) in zip(batch.weights, alone, strict=True)]).mean()
    loss.backward()
    torch.testing.assert_close(found.loss, loss, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(gradient, vector.grad, rtol=1e-9, atol=1e-12)
    expected = torch.tensor([priority for _, priority in alone], dtype=torch.float64)
    torch.testing.assert_close(found.errors, expected, rtol=1e-12, atol=1e-12)
    assert gradient.abs().max() > 1e-3 and expected[-1] == 0


def test_what_is_not_learnt_may_hold_anything() -> None:
    algorithm = made()
    batch = drawn(algorithm, False)
    algorithm.replay = SimpleNamespace(draw=lambda beta: batch)  # type: ignore[assignment]
    before = algorithm.evaluate()
    batch.returns[~batch.learnt] = torch.nan
    batch.discounts[~batch.learnt] = 0.5
    after = algorithm.evaluate()
    assert torch.equal(before.loss, after.loss) and torch.equal(before.errors, after.errors)
    after.loss.backward()
    assert algorithm.parameters.gradient.isfinite().all()


def test_no_burn_in_begins_with_what_was_remembered() -> None:
    """As if the window began later: the same states give the same loss."""
    with_burn_in, without = made(), made(burn_in=0)
    batch = drawn(with_burn_in, False)
    batch.states.zero_()
    batch.starts[BURN_IN] = True  # all memories are empty behind burn-in
    later = Windows(**{**vars(batch), "observations": batch.observations[BURN_IN:], "starts": batch.starts[BURN_IN:]})
    for algorithm, given in ((with_burn_in, batch), (without, later)):
        algorithm.replay = SimpleNamespace(draw=lambda beta, given=given: given)  # type: ignore[assignment]
    assert torch.equal(with_burn_in.evaluate().loss, without.evaluate().loss)


# ---- settings --------------------------------------------------------------------------------------------------------
SMALL = {
    **{"algorithm": "r2d2", "replay_size": 480, "learning_starts": 60, "batch_size": 8, "burn_in": 2},
    **{"train_length": 5, "n_step": 2, "target_every": 3, "updates": 2, "optimizer_eps": 1e-8},
    "model": {"recurrent": "gru", "recurrent_size": 6, "hidden_sizes": [8]},
}


def run_of(policy: dict[str, Any], **others: Any) -> dict[str, Any]:
    trainer = {"num_envs": 6, "num_steps": 3, "total_env_steps": 540}
    return {
        "name": "recall",
        "env": {"delay": 2},
        "trainer": trainer,
        "policy": {"agent": {**SMALL, **policy}},
        **others,
    }


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            {"model": {"hidden_sizes": [8]}},
            "policy.agent.model.recurrent is null, but r2d2 learns with a memory, expected lstm, gru, mingru or "
            "transformer; algorithm: dqn learns without one",
        ),
        (
            {"replay_size": 60},
            "policy.agent.replay_size is 60, expected at least 90: 15 rows of num_envs 6 x 1 agent",
        ),
        ({"priority_eta": 1.1}, "policy.agent.priority_eta is 1.1, expected at most 1"),
        ({"burn_in": -1}, "policy.agent.burn_in is -1, expected at least 0"),
        ({"train_length": 0}, "policy.agent.train_length is 0, expected at least 1"),
        (
            {"final_observations": True},
            "policy.agent.final_observations is true, but windows keep none, expected false or null",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(policy: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        config_from_dict(run_of(policy))
    assert str(refusal.value).removeprefix("config: ") == message


def test_dqn_refuses_a_memory() -> None:
    with pytest.raises(ConfigError) as refusal:
        config_from_dict(run_of({}) | {"policy": {"agent": {"algorithm": "dqn", "model": {"recurrent": "lstm"}}}})
    assert str(refusal.value) == (
        "config: policy.agent.model.recurrent is lstm, but dqn learns from transitions, expected null; algorithm: r2d2 "
        "learns with a memory"
    )


# ---- runs ------------------------------------------------------------------------------------------------------------
@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("first_priority", ["actor", "max"])
def test_several_groups_with_lives_and_rows_that_do_not_count(first_priority: str) -> None:
    policy = {**SMALL, "groups": ["left", "right"], "first_priority": first_priority, "replay_size": 1_440}
    config = run_of({}) | {
        "name": "tests.trainers.recall:Departed",
        "env": {"dying": 0.1, "counted": 0.7},
        "policy": {"both": policy},
    }
    trainer, metrics = Trainer(config_from_dict(config)), list[dict[str, Any]]()
    trainer.train(None, metrics.append)
    assert trainer.algorithms["both"].num_updates > 20  # type: ignore[attr-defined]
    assert metrics[-1]["losses/both/loss"] > 0
    assert metrics[-1]["charts/both/replay_ratio"] == pytest.approx(2 * 8 * 5 / (6 * 3 * 3))
    assert all(weight.isfinite().all() for weight in trainer.policies["both"].state_dict().values())  # type: ignore[union-attr]


@pytest.mark.exhaustive
@pytest.mark.slow
def test_recall_is_learnt(tmp_path: Path) -> None:
    from warpworld.config import load_config
    from warpworld.runs import Run
    from warpworld.trainers.evaluate import evaluate

    trainer = Trainer(load_config("recall_r2d2", ["trainer.seed=1", f"saving.directory={tmp_path}"]))
    run = trainer.create_run()
    assert run is not None
    trainer.train(run)
    assert evaluate(Run.open(run.path), 200)["agent"]["mean_return"] > 0.9
