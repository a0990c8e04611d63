"""Models of one's own that declare a state: what they are called with, what they may return, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from gymnasium.spaces import Box, Discrete
from torch import Tensor

from tests.docs.pages import blocks, page
from tests.policies import stateful_models
from warpworld.cli.main import main
from warpworld.config import ModelConfig, config_from_dict
from warpworld.environment import Group
from warpworld.errors import ConfigError
from warpworld.policies import RecurrentPolicy, StatefulModel, build_policy
from warpworld.policies.fused import fuse
from warpworld.trainers.algorithms.r2d2 import R2D2, R2D2Settings
from warpworld.trainers.trainer import Trainer

STEPS, AGENTS, FEATURES = 7, 4, 3
FORMS = ["Remembering", "LongShort", "Recent"]


def policy_of(name: str, needs_critic: bool = True, **settings: Any) -> RecurrentPolicy:
    group = Group("agent", 1, Box(-1.0, 1.0, (FEATURES,)), Discrete(5))
    model = ModelConfig(type=f"tests.policies.stateful_models:{name}", **settings)
    policy = build_policy(model, group, torch.Generator().manual_seed(1), needs_critic)
    assert isinstance(policy, RecurrentPolicy)
    return policy


def alone(model: Any, observations: Tensor, state: Any, starts: Tensor) -> tuple[list[Tensor], list[Tensor], Any]:
    """One agent's way through the steps, by the author's module; its state in the module's own form."""
    outputs, values = [], []
    for seen, begins in zip(observations, starts, strict=True):
        state = mapped(lambda part: torch.zeros_like(part), state) if begins else state
        said, worth, state = model(seen[None], mapped(torch.clone, state))
        outputs.append(said[0])
        values.append(worth[0])
    return outputs, values, state


def mapped(change: Callable[[Tensor], Tensor], state: Any) -> Any:
    if isinstance(state, dict):
        return {key: change(part) for key, part in state.items()}
    return tuple(map(change, state)) if isinstance(state, tuple) else change(state)


def numbers_of(state: Any) -> Tensor:
    parts = state.values() if isinstance(state, dict) else state if isinstance(state, tuple) else [state]
    return torch.cat([part.flatten() for part in parts])


@pytest.mark.parametrize("name", FORMS)
def test_sequences_and_their_gradients_are_those_of_single_agents(name: str) -> None:
    """In float64, from the state that an earlier step left; steps one by one give the same."""
    network = policy_of(name).double().model
    assert isinstance(network, StatefulModel)
    random = torch.Generator().manual_seed(2)
    observations = torch.randn(STEPS, AGENTS, FEATURES, generator=random, dtype=torch.float64)
    starts = torch.rand(STEPS, AGENTS, generator=random) < 0.2
    starts[0], starts[:, 0], starts[3, 1] = False, False, True
    with torch.no_grad():
        empty = torch.zeros(AGENTS, network.state_size, dtype=torch.float64)
        state = network.step(torch.randn_like(observations[0]), empty)[2]
    weights = torch.randn(STEPS, AGENTS, 6, generator=random, dtype=torch.float64)

    def loss(outputs: Tensor, values: Tensor) -> Tensor:
        return (weights * torch.cat((outputs, values[..., None]), -1)).sum()

    found = network.replay(observations, state, starts)
    own = network.unroll(observations, state, starts)
    walks = [
        alone(network.model, observations[:, i], network._state.unpacked(state[i : i + 1]), starts[:, i])
        for i in range(AGENTS)
    ]
    outputs = torch.stack([torch.stack(outputs) for outputs, _, _ in walks], 1)
    values = torch.stack([torch.stack(values) for _, values, _ in walks], 1)
    torch.testing.assert_close(found, (outputs, values), rtol=0, atol=1e-12)
    torch.testing.assert_close(own[0], outputs, rtol=0, atol=1e-12)
    torch.testing.assert_close(own[1], torch.stack([numbers_of(after) for *_, after in walks]), rtol=0, atol=1e-12)
    weights_of = list(network.parameters())
    gradients = [torch.autograd.grad(loss(*made), weights_of) for made in (found, (outputs, values))]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)

    after = state
    for t in range(STEPS):
        said, worth, after = network.step(observations[t], after.masked_fill(starts[t, :, None], 0.0))
        torch.testing.assert_close((said, worth), (outputs[t], values[t]), rtol=0, atol=1e-12)
    torch.testing.assert_close(after, own[1], rtol=0, atol=1e-12)


def test_what_a_model_writes_into_its_state_stays_with_it() -> None:
    network, state = policy_of("Recent").model, torch.zeros(2, 2 * FEATURES + 2)
    network.step(torch.ones(2, FEATURES), state)
    assert not state.any()


def test_act_returns_the_state_and_takes_it() -> None:
    policy, seen = policy_of("LongShort"), torch.ones(2, FEATURES)
    _, state = policy.act(seen, greedy=True)
    assert state.shape == (2, 12) and state.any()
    _, after = policy.act(seen, greedy=True, state=state)
    assert not torch.equal(state, after)


def test_values_of_choices_need_no_critic() -> None:
    settings = R2D2Settings(groups=("agent",), model={"type": "tests.policies.stateful_models:Valueless"})
    group = Group("agent", 1, Box(-1.0, 1.0, (FEATURES,)), Discrete(4))
    policy = R2D2.build_policy(settings, group, torch.Generator(), None)
    outputs, values, _ = policy.step(torch.ones(2, FEATURES), torch.zeros(2, 6))  # type: ignore[operator]
    assert outputs.shape == (2, 4) and values.tolist() == [0.0, 0.0]


def test_the_log_names_the_class_of_its_author(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        assert not fuse(policy_of("Remembering"), "agent")
    assert "its model is a Remembering, none of the packaged ones" in caplog.text


# ---- what is refused -------------------------------------------------------------------------------------------------
EXPECTED = "expected float32 zeros of one agent: a tensor, or a tuple, list or dict of tensors"


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (6, f"initial_state() gave int, {EXPECTED}"),
        (None, f"initial_state() gave None, {EXPECTED}"),
        ((torch.zeros(6), None), f"initial_state() gave ((6,) float32, None), {EXPECTED}"),
        ({"h": torch.zeros(6).double()}, f"initial_state() gave {{'h': (6,) float64}}, {EXPECTED}"),
        (torch.zeros(6, dtype=torch.int64), f"initial_state() gave (6,) int64, {EXPECTED}"),
        ((), f"initial_state() gave no number, {EXPECTED}"),
        (torch.zeros(3, 0), f"initial_state() gave no number, {EXPECTED}"),
        (
            torch.ones(6),
            f"initial_state() gave numbers other than 0, {EXPECTED}; a state is zeroed where an episode begins, so let "
            "forward add what it begins with",
        ),
        (
            torch.zeros(6, requires_grad=True),
            f"initial_state() gave a tensor that requires a gradient, {EXPECTED}",
        ),
    ],
)
def test_states_that_cannot_be_kept(declared: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stateful_models.Declaring, "declared", declared)
    with pytest.raises(ConfigError) as refusal:
        policy_of("Declaring")
    assert str(refusal.value) == f"model 'tests.policies.stateful_models:Declaring': {words}"


def test_a_state_that_forward_cannot_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stateful_models.Declaring, "declared", torch.zeros(7))
    words = r"forward fails on observations \(3, 3\) and the state that initial_state\(\) declares: .*7.*6"
    with pytest.raises(ConfigError, match=f"^model 'tests.policies.stateful_models:Declaring': {words}"):
        policy_of("Declaring")


def halves(outputs: Tensor, values: Tensor, state: Tensor) -> Any:
    return outputs, values, state.chunk(2, -1)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda outputs, values, state: outputs, "forward returned Tensor, expected (outputs, values, state)"),
        (
            lambda outputs, values, state: (outputs, state),
            "forward returned a tuple of 2, expected (outputs, values, state)",
        ),
        (
            lambda outputs, values, state: [outputs, values, state],
            "forward returned list, expected (outputs, values, state)",
        ),
        (
            lambda outputs, values, state: (outputs, values, None),
            "forward returned the state None, expected (3, 6) float32, as initial_state() declares it, for 3 agents",
        ),
        (
            lambda outputs, values, state: (outputs, values, state[:, :5]),
            "forward returned the state (3, 5) float32, expected (3, 6) float32, as initial_state() declares it, for 3 "
            "agents",
        ),
        (
            lambda outputs, values, state: (outputs, values, state[0]),
            "forward returned the state (6,) float32, expected (3, 6) float32, as initial_state() declares it, for 3 "
            "agents",
        ),
        (
            lambda outputs, values, state: (outputs, values, state.double()),
            "forward returned the state (3, 6) float64, expected (3, 6) float32, as initial_state() declares it, for 3 "
            "agents",
        ),
        (
            halves,
            "forward returned the state ((3, 3) float32, (3, 3) float32), expected (3, 6) float32, as initial_state() "
            "declares it, for 3 agents",
        ),
        (
            lambda outputs, values, state: (outputs, values, {"h": state}),
            "forward returned the state {'h': (3, 6) float32}, expected (3, 6) float32, as initial_state() declares "
            "it, for 3 agents",
        ),
        (
            lambda outputs, values, state: (outputs, values[:, None], state),
            "forward returned values (3, 1) float32, expected (3,) float32",
        ),
        (
            lambda outputs, values, state: (outputs, None, state),
            "forward returned values of type NoneType, expected (3,) float32",
        ),
        (
            lambda outputs, values, state: (outputs[:, :4], values, state),
            "forward returned outputs (3, 4) float32, expected (3, 5) float32",
        ),
        (
            lambda outputs, values, state: (outputs.double(), values, state),
            "forward returned outputs (3, 5) float64, expected (3, 5) float32",
        ),
    ],
)
def test_answers_that_are_none(changed: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stateful_models.Answering, "changed", staticmethod(changed))
    with pytest.raises(ConfigError) as refusal:
        policy_of("Answering")
    assert str(refusal.value) == f"model 'tests.policies.stateful_models:Answering': {words}"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Failing", "model 'tests.policies.stateful_models:Failing': initial_state fails: KeyError: 'size'"),
        (
            "WithoutForward",
            "model 'tests.policies.stateful_models:WithoutForward' has initial_state, but not both initial_state() and "
            "forward(observations, state); see warpworld.policies.ModelWithState",
        ),
        (
            "Attribute",
            "model 'tests.policies.stateful_models:Attribute' has initial_state, but not both initial_state() and "
            "forward(observations, state); see warpworld.policies.ModelWithState",
        ),
        (
            "Growing",
            "model 'tests.policies.stateful_models:Growing': forward returned the state (3, 7) float32, expected (3, "
            "6) float32, as initial_state() declares it, for 3 agents",
        ),
    ],
)
def test_models_that_do_not_do_what_one_with_a_state_does(name: str, words: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        policy_of(name)
    assert str(refusal.value) == words


# ---- configs and runs ------------------------------------------------------------------------------------------------
OWN = "tests.policies.stateful_models:Remembering"


def cartpole(model: dict[str, Any], **policy: Any) -> dict[str, Any]:
    trainer = {"num_envs": 6, "num_steps": 8, "total_env_steps": 96, "device": "cpu"}
    return {"name": "cartpole", "trainer": trainer, "policy": {"agent": {**policy, "model": {"type": OWN, **model}}}}


@pytest.mark.parametrize(
    ("model", "policy", "words"),
    [
        (
            {"recurrent": "lstm"},
            {"num_minibatches": 2},
            f"policy.agent.model.recurrent is lstm, but model '{OWN}' declares a state of its own, expected null",
        ),
        (
            {"shared": True},
            {"num_minibatches": 2},
            f"policy.agent.model.shared is true, but model '{OWN}' declares a state of its own, expected false",
        ),
        (
            {},
            {"num_minibatches": 4},
            "policy.agent.num_minibatches is 4, expected a divisor of the 6 sequences that a recurrent policy learns "
            "from: num_envs 6 x 1 agent",
        ),
        (
            {},
            {"algorithm": "dqn"},
            f"policy.agent.model.type is {OWN}, which declares a state in initial_state(), but dqn learns from "
            "transitions, expected a model without one; algorithm: r2d2 learns with a memory",
        ),
        (
            {},
            {"algorithm": "mappo", "num_minibatches": 2},
            f"policy.agent.model.type is {OWN}, which declares a state in initial_state(), but mappo puts an actor and "
            "a critic of its own behind an encoder, expected a model with one; ppo and a2c train yours",
        ),
    ],
)
def test_settings_that_do_not_go_with_it(model: dict[str, Any], policy: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        config_from_dict(cartpole(model, **policy))
    assert str(refusal.value) == f"config: {words}"


def test_a_frozen_policy_is_refused_as_a_trained_one() -> None:
    config = config_from_dict(cartpole({"recurrent": "lstm"}, train=False))
    with pytest.raises(ConfigError, match=f"^model.recurrent is lstm, but model '{OWN}' declares a state of its own"):
        Trainer(config)


def test_a_state_that_grows_in_a_training_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.yaml"
    data = cartpole({"type": "tests.policies.stateful_models:Late"}, num_minibatches=2)
    path.write_text(yaml.safe_dump({**data, "saving": {"directory": str(tmp_path)}}), encoding="utf-8")
    assert main(["train", str(path)]) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert error[-1].endswith(
        "model 'tests.policies.stateful_models:Late': forward returned the state (6, 7) float32, expected (6, 6) "
        "float32, as initial_state() declares it, for 6 agents"
    )
    assert not any("Traceback" in line for line in error)


def test_the_guide_s_model_with_a_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = next(block for block in blocks(page("learning"), "python") if "initial_state" in block)
    (tmp_path / "remembering_models.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    trainer = Trainer(config_from_dict(cartpole({"type": "remembering_models:Noted"}, num_minibatches=2)))
    assert trainer.train(None)["losses/agent/grad_norm"] > 0
