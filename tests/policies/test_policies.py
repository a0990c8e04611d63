"""Actor-critic networks and how spaces and model settings lead to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from warpworld.environment import Group
from warpworld.errors import ConfigError, DeclarationError
from warpworld.managers.cpu.workers import available_cores
from warpworld.policies import Policy, action_distribution, build_policy, observation_size


@dataclass(frozen=True)
class Model:
    settings: dict[str, Any] = field(default_factory=lambda: {"hidden_sizes": (64, 32)})
    type: str = "mlp"
    normalise_observations: bool = False
    shared: bool = False
    recurrent: str | None = None
    recurrent_size: int = 128
    declares_state: bool = False


BOX = spaces.Box(-1.0, 1.0, (6,))
FIVE = spaces.Discrete(5)


def group(observation: Any = BOX, action: Any = FIVE) -> Group:
    return Group("agent", 2, observation, action)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def linears(network: torch.nn.Module) -> list[torch.nn.Linear]:
    return [module for module in network.modules() if isinstance(module, torch.nn.Linear)]


def test_shapes() -> None:
    policy = build_policy(Model(), group(BOX, spaces.MultiDiscrete([3, 5])), seeded())
    assert isinstance(policy, Policy)
    assert policy.distribution.head_sizes == (3, 5)
    for lead in ((), (4,), (4, 2), (7, 4, 2)):
        observations = torch.zeros(*lead, 6)
        assert policy.outputs(observations).shape == (*lead, 8)
        assert policy.value(observations).shape == lead
    logits, values = policy(torch.ones(4, 6))
    assert torch.equal(logits, policy.outputs(torch.ones(4, 6)))
    assert torch.equal(values, policy.value(torch.ones(4, 6)))


def test_a_strided_view_of_one_group_gives_what_its_copy_gives() -> None:
    policy = build_policy(Model(), group(), seeded())
    seen = torch.randn(8, 5, 6, generator=seeded(1))[:, 3:]
    torch.testing.assert_close(policy.outputs(seen), policy.outputs(seen.contiguous()))


def test_initial_weights_are_orthogonal_with_their_gains() -> None:
    policy = build_policy(Model({"hidden_sizes": (64, 32)}), group(), seeded())
    for network, last_gain in ((policy.model.actor_layers, 0.01), (policy.model.critic_layers, 1.0)):
        layers = linears(network)
        assert [(layer.in_features, layer.out_features) for layer in layers[:2]] == [(6, 64), (64, 32)]
        for layer, gain in zip(layers, (2**0.5, 2**0.5, last_gain), strict=True):
            weight = layer.weight.detach() / gain
            small = weight @ weight.T if weight.shape[0] <= weight.shape[1] else weight.T @ weight
            torch.testing.assert_close(small, torch.eye(len(small)), atol=1e-5, rtol=0)
            assert layer.bias.detach().count_nonzero() == 0


def test_activations() -> None:
    for name, kind in (("tanh", torch.nn.Tanh), ("relu", torch.nn.ReLU)):
        policy = build_policy(Model({"activation": name}), group(), seeded())
        assert [type(module) for module in policy.model.actor_layers] == [
            torch.nn.Linear,
            kind,
            torch.nn.Linear,
            kind,
            torch.nn.Linear,
        ]


def test_a_normaliser_without_floats_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        build_policy(Model(normalise_observations=True), group(spaces.MultiBinary(3)), seeded())
    assert str(refused.value) == (
        "normalise_observations=true, but group 'agent' sees no floats: what it reads of MultiBinary(3) is between 0 "
        "and 1 already; set it to false"
    )


def test_no_hidden_layer_is_a_linear_policy() -> None:
    policy = build_policy(Model({"hidden_sizes": ()}), group(), seeded())
    assert len(linears(policy.model.actor_layers)) == len(linears(policy.model.critic_layers)) == 1


def test_weights_come_from_the_generator_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = build_policy(Model(), group(), seeded(3))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    again = build_policy(Model(), group(), seeded(3))
    other = build_policy(Model(), group(), seeded(4))
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name])
        assert name.endswith("bias") or not torch.equal(weight, other.state_dict()[name])


@pytest.mark.skipif(available_cores() < 2, reason="needs two cores")
def test_weights_do_not_depend_on_torch_s_threads() -> None:
    threads, found = torch.get_num_threads(), []
    try:
        for number in (1, 2):
            torch.set_num_threads(number)
            found.append(build_policy(Model({"hidden_sizes": (256, 256)}), group(), seeded(3)).state_dict())
            assert torch.get_num_threads() == number
    finally:
        torch.set_num_threads(threads)
    for name, weight in found[0].items():
        assert torch.equal(weight, found[1][name])


def test_actor_and_critic_share_no_weight() -> None:
    policy = build_policy(Model(), group(), seeded())
    policy.value(torch.ones(2, 6)).sum().backward()
    assert all(p.grad is None for p in policy.model.actor_layers.parameters())
    assert all(p.grad is not None for p in policy.model.critic_layers.parameters())


def test_sizes_of_spaces() -> None:
    assert observation_size(group(spaces.Box(0, 255, (4, 4, 3), np.float32))) == 48
    assert observation_size(group(spaces.Box(0.0, 1.0, ()))) == 1
    assert observation_size(group(spaces.Dict({"a": BOX, "b": spaces.Box(0.0, 1.0, (3, 8))}))) == 6 + 24
    assert observation_size(group(spaces.Dict({"a": spaces.Discrete(7), "b": spaces.MultiBinary(3)}))) == 7 + 3
    assert action_distribution(group()).head_sizes == (5,)
    assert action_distribution(group(action=spaces.MultiDiscrete([10, 21]))).head_sizes == (10, 21)


@pytest.mark.parametrize(
    ("observation", "action", "words"),
    [
        (
            spaces.Dict({"a": spaces.Dict({"b": BOX})}),
            FIVE,
            "observation 'a' is .*; expected a Box of float32, float16 or uint8, Discrete,",
        ),
        (spaces.Box(0, 255, (4,), np.int32), FIVE, "expected a Box of float32, float16 or uint8, Discrete,"),
        (spaces.Box(0.0, 1.0, (0,)), FIVE, "holds no number"),
        (BOX, spaces.Box(-1.0, 1.0, (2, 0)), "or a Box of float32, of at least one number"),
        (BOX, spaces.Box(0, 3, (2,), np.int32), "expected Discrete, MultiDiscrete, MultiBinary or a Box of float32"),
        (BOX, spaces.Text(5), "expected Discrete, MultiDiscrete, MultiBinary or a Box of float32"),
    ],
)
def test_other_spaces_are_refused(observation: Any, action: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        build_policy(Model(), group(observation, action), seeded())


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            Model(type="mpl"),
            r"model type 'mpl', .* mlp, multi_input, impala, entities, or module:Class\. Did you mean 'mlp'\?",
        ),
        (Model({"activation": "tahn"}), r"activation 'tahn', expected one of tanh, relu\. Did you mean 'tanh'\?"),
        (Model({"hidden_sizes": (64, 0)}), r"hidden_sizes \[64, 0\], expected widths of at least 1"),
    ],
)
def test_wrong_model_settings_are_refused(model: Model, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build_policy(model, group(), seeded())
