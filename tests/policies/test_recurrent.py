"""Recurrent networks: cells, states and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from torch import nn

from warpworld.config import ModelConfig, RunConfig, config_from_dict
from warpworld.environment import Group
from warpworld.errors import ConfigError
from warpworld.policies import Recurrent, RecurrentPolicy, build_policy
from warpworld.policies.layers.cell_makers import make_cell

FEATURES, SIZE, CHOICES = 3, 5, 4
Weights = dict[str, np.ndarray]
KINDS = {
    "lstm": ("lstm", 1),
    "gru": ("gru", 1),
    "mingru": ("mingru", 1),
    "two lstms": ("lstm", 2),
    "three grus": ("gru", 3),
    "two mingrus": ("mingru", 2),
}


def network(kind: str, seed: int = 0, dtype: torch.dtype = torch.float32) -> Recurrent:
    """One whose biases and last layers are not what they are at first, so that a lost one would show."""
    torch.manual_seed(seed)
    encoder = nn.Sequential(nn.Linear(FEATURES, 6), nn.Tanh())
    name, layers = KINDS[kind]
    cell = make_cell(ModelConfig(recurrent=name, recurrent_size=SIZE, recurrent_layers=layers), 6)
    made = Recurrent(encoder, cell, CHOICES)
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.5)
    return made.to(dtype)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def slow_step(made: Recurrent, observation: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """One step of one agent in float64."""
    weights = {name: value.detach().double().numpy() for name, value in made.named_parameters()}
    encoded = np.tanh(weights["encoder.0.weight"] @ observation + weights["encoder.0.bias"])
    hidden, after = (slow_mingru if "cell.layers.0.weight" in weights else slow_layers)(weights, encoded, state)
    outputs = weights["actor_layer.weight"] @ hidden + weights["actor_layer.bias"]
    value = weights["critic_layer.weight"] @ hidden + weights["critic_layer.bias"]
    return outputs, float(value[0]), after


def slow_mingru(weights: Weights, encoded: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hidden state and state after a step, layer by layer."""
    hidden, after = encoded, []
    for number, before in enumerate(np.split(state, len(state) // SIZE)):
        said = weights[f"cell.layers.{number}.weight"] @ hidden + weights[f"cell.layers.{number}.bias"]
        update, candidate = sigmoid(said[:SIZE]), said[SIZE:]
        hidden = (1 - update) * before + update * candidate
        after.append(hidden)
    return hidden, np.concatenate(after)


def slow_layers(weights: Weights, encoded: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of LSTMs or GRUs, layer by layer."""
    prefixes = [name.removesuffix("weight_hh") for name in weights if name.endswith("weight_hh")]
    hidden, after = encoded, []
    for prefix, before in zip(prefixes, np.split(state, len(prefixes)), strict=True):
        own = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
        hidden, last = slow_gates(own, hidden, before)
        after.append(last)
    return hidden, np.concatenate(after)


def slow_gates(weights: Weights, encoded: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of one LSTM or GRU, gate by gate."""
    hidden = state[:SIZE]
    of_input = np.split(weights["weight_ih"] @ encoded + weights["bias_ih"], len(weights["bias_ih"]) // SIZE)
    of_hidden = np.split(weights["weight_hh"] @ hidden + weights["bias_hh"], len(weights["bias_hh"]) // SIZE)
    if len(of_input) == 4:
        into, forget, cell, out = (a + b for a, b in zip(of_input, of_hidden, strict=True))
        memory = sigmoid(forget) * state[SIZE:] + sigmoid(into) * np.tanh(cell)
        hidden = sigmoid(out) * np.tanh(memory)
        after = np.concatenate([hidden, memory])
    else:
        reset, update = (sigmoid(a + b) for a, b in zip(of_input[:2], of_hidden[:2], strict=True))
        new = np.tanh(of_input[2] + reset * of_hidden[2])
        after = hidden = (1 - update) * new + update * hidden
    return hidden, after


@pytest.mark.parametrize("kind", KINDS)
def test_a_replay_is_the_slow_one_with_each_agent_s_state_zeroed_where_its_episodes_begin(kind: str) -> None:
    made = network(kind)
    generator = torch.Generator().manual_seed(1)
    steps, agents = 9, 4
    observations = torch.randn(steps, agents, FEATURES, generator=generator)
    states = torch.randn(agents, made.state_size, generator=generator)
    starts = torch.rand(steps, agents, generator=generator) < 0.3
    starts[0], starts[:, 3] = False, False
    starts[4, 1] = True  # in the middle, of one agent alone
    outputs, values = made.replay(observations, states, starts)
    for agent in range(agents):
        state = states[agent].double().numpy()
        for t in range(steps):
            state = np.zeros_like(state) if starts[t, agent] else state
            expected, value, state = slow_step(made, observations[t, agent].double().numpy(), state)
            np.testing.assert_allclose(outputs[t, agent].detach(), expected, atol=2e-6)
            assert values[t, agent].item() == pytest.approx(value, abs=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_one_by_one_are_a_replay(kind: str) -> None:
    made = network(kind)
    observations = torch.randn(6, 2, 3, FEATURES)  # (T, envs, agents, features)
    starts = torch.rand(6, 2, 3) < 0.3
    state = first = torch.randn(2, 3, made.state_size)
    with torch.no_grad():
        found = []
        for seen, begins in zip(observations, starts, strict=True):
            outputs, values, state = made.step(seen, state.masked_fill(begins.unsqueeze(-1), 0.0))
            assert outputs.shape == (2, 3, CHOICES) and values.shape == (2, 3) and state.shape == first.shape
            found.append((outputs, values))
        sequences = observations.flatten(1, 2), first.flatten(0, 1), starts.flatten(1)
        outputs, values = made.replay(*sequences)
        after = made.unroll(*sequences)[1]
    torch.testing.assert_close(outputs, torch.stack([each for each, _ in found]).flatten(1, 2), rtol=0, atol=1e-6)
    torch.testing.assert_close(values, torch.stack([each for _, each in found]).flatten(1), rtol=0, atol=1e-6)
    torch.testing.assert_close(after, state.flatten(0, 1), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("begins", [False, True])
def test_the_gradient_of_two_steps_by_finite_differences(kind: str, begins: bool) -> None:
    """Of a loss of both steps' outputs and values, against the slow one's central differences in float64."""
    made = network(kind)
    generator = torch.Generator().manual_seed(2)
    observations = torch.randn(2, 1, FEATURES, generator=generator)
    state = torch.randn(1, made.state_size, generator=generator)
    starts = torch.tensor([[False], [begins]])
    weights = torch.randn(2, 1 + CHOICES, generator=generator).double().numpy()

    outputs, values = made.replay(observations, state, starts)
    told = torch.cat([values.unsqueeze(-1), outputs], -1)[:, 0]
    (told * torch.from_numpy(weights).float()).sum().backward()

    def slow_loss() -> float:
        now, loss = state[0].double().numpy(), 0.0
        for t in range(2):
            now = np.zeros_like(now) if starts[t, 0] else now
            expected, value, now = slow_step(made, observations[t, 0].double().numpy(), now)
            loss += float(weights[t] @ np.concatenate([[value], expected]))
        return loss

    for name, parameter in made.named_parameters():
        assert parameter.grad is not None
        flat, gradient = parameter.data.view(-1), parameter.grad.view(-1)
        for i in range(0, len(flat), 7):
            kept, differences = flat[i].item(), []
            for nudge in (1e-3, -1e-3):
                flat[i] = kept + nudge
                differences.append((float(flat[i].double()), slow_loss()))
            flat[i] = kept
            slope = (differences[0][1] - differences[1][1]) / (differences[0][0] - differences[1][0])
            assert gradient[i].item() == pytest.approx(slope, rel=2e-4, abs=2e-5), (name, i)


@pytest.mark.parametrize("kind", KINDS)
def test_no_gradient_passes_the_beginning_of_an_episode(kind: str) -> None:
    made = network(kind)
    observations = torch.randn(3, 2, FEATURES, requires_grad=True)
    starts = torch.tensor([[False, False], [False, False], [True, False]])
    outputs, _ = made.replay(observations, torch.randn(2, made.state_size), starts)
    outputs[2].sum().backward()
    assert observations.grad is not None
    assert not observations.grad[:2, 0].any() and observations.grad[:2, 1].all()
    assert observations.grad[2].all()


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("lstm", 2 * SIZE),
        ("gru", SIZE),
        ("mingru", SIZE),
        ("two lstms", 4 * SIZE),
        ("three grus", 3 * SIZE),
        ("two mingrus", 2 * SIZE),
    ],
)
def test_actor_and_critic_are_those_of_a_first_step(kind: str, size: int) -> None:
    made = network(kind)
    observations = torch.randn(7, 2, FEATURES)
    outputs, values, _ = made.step(observations, torch.zeros(7, 2, size))
    assert torch.equal(made.actor(observations), outputs) and torch.equal(made.critic(observations), values)


# ---- from settings to a policy ---------------------------------------------------------------------------------------
def group(observation: Any = None) -> Group:
    return Group("agent", 2, observation or Box(-1.0, 1.0, (6,)), Discrete(5))


@pytest.mark.parametrize(
    ("settings", "observation", "width"),
    [
        ({"hidden_sizes": (16, 8), "activation": "tanh"}, None, 8),
        ({"hidden_sizes": (), "activation": "tanh"}, None, 6),
        (
            {
                "type": "multi_input",
                **dict(
                    channels=(4,), kernel_sizes=(3,), strides=(2,), branch_size=9, hidden_sizes=(), activation="relu"
                ),
            },
            Dict({"depth": Box(0.0, 1.0, (1, 16)), "imu": Box(-1.0, 1.0, (3,))}),
            18,
        ),
    ],
)
def test_each_built_in_model_can_be_recurrent(settings: dict[str, Any], observation: Any, width: int) -> None:
    model = ModelConfig(recurrent="gru", recurrent_size=12, normalise_observations=True, **settings)
    policy = build_policy(model, group(observation), torch.Generator().manual_seed(0))
    assert isinstance(policy, RecurrentPolicy)
    cell = policy.model.cell
    assert isinstance(cell, nn.GRUCell) and (cell.input_size, cell.hidden_size, policy.state_size) == (width, 12, 12)
    assert not cell.bias_hh.any() and not cell.bias_ih.any()
    torch.testing.assert_close(cell.weight_hh.t() @ cell.weight_hh, torch.eye(12))
    assert policy.model.actor_layer.weight.norm(dim=1).tolist() == pytest.approx([0.01] * 5, rel=1e-4)
    assert policy.normaliser is not None
    same = build_policy(model, group(observation), torch.Generator().manual_seed(0))
    assert all(torch.equal(a, b) for a, b in zip(policy.parameters(), same.parameters(), strict=True))


def test_a_new_mingru_forgets_at_many_rates() -> None:
    """Of a thousand numbers, each keeps between a half and all but a 128th in a step; candidates begin at zero."""
    model = ModelConfig(recurrent="mingru", recurrent_size=500, recurrent_layers=2)
    policy = build_policy(model, group(), torch.Generator().manual_seed(0))
    assert isinstance(policy, RecurrentPolicy) and policy.state_size == 1000
    network: Any = policy.model
    with torch.no_grad():
        for layer in network.cell.layers:
            gates, candidates = layer(torch.zeros(layer.in_features)).chunk(2)
            lasting = 1.0 / gates.sigmoid()
            assert 2.0 <= lasting.min() < 6.0 and 120.0 < lasting.max() <= 128.0
            assert lasting.mean().item() == pytest.approx(65.0, abs=5.0)
            assert not candidates.any()
            for part in layer.weight.split(500):
                eye = part.t() @ part if len(part) > part.shape[1] else part @ part.t()
                torch.testing.assert_close(eye, torch.eye(len(eye)))


def cartpole(model: dict[str, Any], **policy: Any) -> RunConfig:
    trainer = {"num_envs": 6, "num_steps": 8, "total_env_steps": 96, "device": "cpu"}
    return config_from_dict(
        {"name": "cartpole", "trainer": trainer, "policy": {"agent": {"num_minibatches": 2, **policy, "model": model}}}
    )


@pytest.mark.parametrize(
    ("model", "policy", "words"),
    [
        ({"recurrent": "rnn"}, {}, r"recurrent is 'rnn', expected 'lstm', 'gru', 'mingru' or 'transformer'"),
        ({"recurrent": True}, {}, r"recurrent is true, expected 'lstm', 'gru', 'mingru' or 'transformer'"),
        ({"recurrent": "lstm", "recurrent_size": 0}, {}, "model.recurrent_size is 0, expected at least 1"),
        ({"recurrent": "lstm", "recurrent_size": 70000}, {}, "recurrent_size is 70000, expected at most 65536"),
        ({"recurrent": "mingru", "recurrent_layers": 0}, {}, "model.recurrent_layers is 0, expected at least 1"),
        ({"recurrent": "lstm", "recurrent_layers": -1}, {}, "model.recurrent_layers is -1, expected at least 1"),
        ({"recurrent": "gru", "recurrent_layers": 65}, {}, "model.recurrent_layers is 65, expected at most 64"),
        ({"recurrent": "gru", "recurrent_layers": 2.5}, {}, "model.recurrent_layers is 2.5, expected a whole number$"),
        (
            {"recurrent": "gru", "recurrent_layers": True},
            {},
            "model.recurrent_layers is true, expected a whole number$",
        ),
        (
            {"recurrent_layers": 2},
            {},
            "policy.agent.model.recurrent_layers is 2, but model.recurrent is null, expected 1; set model.recurrent to "
            "lstm, gru, mingru or transformer for a memory$",
        ),
        (
            {"recurrent": "transformer", "recurrent_size": 30},
            {"num_minibatches": 2},
            "policy.agent.model.recurrent_heads is 4, expected a divisor of recurrent_size, 30$",
        ),
        (
            {"recurrent": "gru", "recurrent_window": 16},
            {"num_minibatches": 2},
            "policy.agent.model.recurrent_window is 16, but model.recurrent is gru, expected 32; only a "
            "transformer has it$",
        ),
        (
            {"recurrent_heads": 2},
            {"num_minibatches": 2},
            "policy.agent.model.recurrent_heads is 2, but model.recurrent is null, expected 4; only a "
            "transformer has it$",
        ),
        ({"recurrent": "transformer", "recurrent_window": 1}, {}, "recurrent_window is 1, expected at least 2$"),
        ({"recurrent": "transformer", "recurrent_heads": 0}, {}, "recurrent_heads is 0, expected at least 1$"),
        ({"recurrent": "lstm", "recurent_size": 3}, {}, r"not a known key. Did you mean 'recurrent_size'\?"),
        (
            {"recurrent": "lstm"},
            {"num_minibatches": 4},
            r"policy.agent.num_minibatches is 4, expected a divisor of the 6 sequences that a recurrent policy learns "
            r"from: num_envs 6 x 1 agent$",
        ),
    ],
)
def test_wrong_settings_are_refused_with_the_config(model: dict[str, Any], policy: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        cartpole(model, **policy)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "Shared",
            r"cannot be made recurrent: it has no encoder\(observation, \*\*settings\), expected one that gives",
        ),
        ("LoosePieces", r"its encoder gave \(3, 2, 4\) torch.float32 for observations \(3, 6\), expected \(3, width\)"),
    ],
)
def test_models_that_cannot_be_recurrent(name: str, words: str) -> None:
    model = ModelConfig(type=f"tests.policies.my_models:{name}", recurrent="lstm", width=4)
    with pytest.raises(ConfigError, match=f"^model 'tests.policies.my_models:{name}'.*{words}"):
        build_policy(model, group(), torch.Generator())


def test_a_model_of_ones_own_can_be_recurrent() -> None:
    model = ModelConfig(type="tests.policies.my_models:Encoding", width=7, recurrent="lstm", recurrent_size=4)
    policy = build_policy(model, group(), torch.Generator())
    assert isinstance(policy, RecurrentPolicy) and policy.model.cell.input_size == 7
    assert policy.outputs(torch.zeros(2, 6)).shape == (2, 5)
