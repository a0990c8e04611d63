"""Actor-critic networks and how spaces and model settings lead to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from warpworld.errors import ConfigError, DeclarationError
from warpworld.policies import ActorCritic, build_policy, head_sizes, observation_size


@dataclass(frozen=True)
class Model:
    type: str = "mlp"
    hidden_sizes: tuple[int, ...] = (64, 32)
    activation: str = "tanh"


BOX = spaces.Box(-1.0, 1.0, (6,))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def linears(network: torch.nn.Module) -> list[torch.nn.Linear]:
    return [module for module in network.modules() if isinstance(module, torch.nn.Linear)]


def test_shapes() -> None:
    policy = build_policy(Model(), BOX, spaces.MultiDiscrete([3, 5]), seeded())
    assert isinstance(policy, ActorCritic)
    assert (policy.observation_size, policy.head_sizes) == (6, (3, 5))
    for lead in ((), (4,), (4, 2), (7, 4, 2)):
        observations = torch.zeros(*lead, 6)
        assert policy.logits(observations).shape == (*lead, 8)
        assert policy.value(observations).shape == lead
    logits, values = policy(torch.ones(4, 6))
    assert torch.equal(logits, policy.logits(torch.ones(4, 6)))
    assert torch.equal(values, policy.value(torch.ones(4, 6)))


def test_a_strided_view_of_one_group_gives_what_its_copy_gives() -> None:
    policy = build_policy(Model(), BOX, spaces.Discrete(5), seeded())
    group = torch.randn(8, 5, 6, generator=seeded(1))[:, 3:]
    torch.testing.assert_close(policy.logits(group), policy.logits(group.contiguous()))


def test_initial_weights_are_orthogonal_with_their_gains() -> None:
    policy = build_policy(Model(hidden_sizes=(64, 32)), BOX, spaces.Discrete(5), seeded())
    for network, last_gain in ((policy.actor, 0.01), (policy.critic, 1.0)):
        layers = linears(network)
        assert [(layer.in_features, layer.out_features) for layer in layers[:2]] == [(6, 64), (64, 32)]
        for layer, gain in zip(layers, (2**0.5, 2**0.5, last_gain), strict=True):
            weight = layer.weight.detach() / gain
            small = weight @ weight.T if weight.shape[0] <= weight.shape[1] else weight.T @ weight
            torch.testing.assert_close(small, torch.eye(len(small)), atol=1e-5, rtol=0)
            assert layer.bias.detach().count_nonzero() == 0


def test_activations() -> None:
    for name, kind in (("tanh", torch.nn.Tanh), ("relu", torch.nn.ReLU)):
        policy = build_policy(Model(activation=name), BOX, spaces.Discrete(5), seeded())
        assert [type(module) for module in policy.actor] == [
            torch.nn.Linear,
            kind,
            torch.nn.Linear,
            kind,
            torch.nn.Linear,
        ]


def test_no_hidden_layer_is_a_linear_policy() -> None:
    policy = build_policy(Model(hidden_sizes=()), BOX, spaces.Discrete(5), seeded())
    assert len(linears(policy.actor)) == len(linears(policy.critic)) == 1


def test_weights_come_from_the_generator_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = build_policy(Model(), BOX, spaces.Discrete(5), seeded(3))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    again = build_policy(Model(), BOX, spaces.Discrete(5), seeded(3))
    other = build_policy(Model(), BOX, spaces.Discrete(5), seeded(4))
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name])
        assert name.endswith("bias") or not torch.equal(weight, other.state_dict()[name])


def test_actor_and_critic_share_no_weight() -> None:
    policy = build_policy(Model(), BOX, spaces.Discrete(5), seeded())
    policy.value(torch.ones(2, 6)).sum().backward()
    assert all(p.grad is None for p in policy.actor.parameters())
    assert all(p.grad is not None for p in policy.critic.parameters())


def test_sizes_of_spaces() -> None:
    assert observation_size(spaces.Box(0, 255, (4, 4, 3), np.uint8)) == 48
    assert observation_size(spaces.Box(0.0, 1.0, ())) == 1
    assert head_sizes(spaces.Discrete(5)) == (5,)
    assert head_sizes(spaces.MultiDiscrete([10, 21])) == (10, 21)


def test_spaces_of_the_older_gym_are_accepted() -> None:
    old = {"__module__": "gym.spaces"}
    box = type("Box", (), {**old, "shape": (4, 2)})()
    discrete = type("Discrete", (), {**old, "n": 3, "start": 0})()
    multi_discrete = type("MultiDiscrete", (), {**old, "nvec": np.array([2, 4])})()
    assert observation_size(box) == 8
    assert head_sizes(discrete) == (3,)
    assert head_sizes(multi_discrete) == (2, 4)


@pytest.mark.parametrize(
    ("observation", "action", "words"),
    [
        (spaces.Dict({"a": BOX}), spaces.Discrete(5), "Box spaces only"),
        (spaces.Discrete(4), spaces.Discrete(5), "Box spaces only"),
        (spaces.Box(0.0, 1.0, (0,)), spaces.Discrete(5), "at least one feature"),
        (BOX, BOX, "Discrete and MultiDiscrete spaces only"),
        (BOX, spaces.MultiBinary(3), "Discrete and MultiDiscrete spaces only"),
        (BOX, spaces.Discrete(5, start=1), "does not start at 0"),
        (BOX, spaces.MultiDiscrete([3, 3], start=[0, 1]), "does not start at 0"),
        (BOX, spaces.MultiDiscrete([[3, 3], [2, 2]]), "flat, non-empty"),
        (BOX, "five", "Discrete and MultiDiscrete spaces only"),
    ],
)
def test_other_spaces_are_refused(observation: Any, action: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        build_policy(Model(), observation, action, seeded())


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Model(type="mpl"), r"model type 'mpl', expected one of mlp\. Did you mean 'mlp'\?"),
        (Model(activation="tahn"), r"activation 'tahn', expected one of tanh, relu\. Did you mean 'tanh'\?"),
        (Model(hidden_sizes=(64, 0)), r"hidden_sizes \[64, 0\], expected widths of at least 1"),
    ],
)
def test_wrong_model_settings_are_refused(model: Model, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build_policy(model, BOX, spaces.Discrete(5), seeded())
