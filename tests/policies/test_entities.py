"""The model "entities": attention over lists of entities against plain sums in float64, masks, and order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor, nn
from torch.nn import functional

from warpworld import EntityBox, EntityList
from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.errors import ConfigError
from warpworld.policies import Policy, build_policy
from warpworld.policies.fused import fuse

# two numbers of the agent, 3 agents that may be hidden, one more number of the agent, 2 doors that are always there
AGENTS, DOORS = EntityList("agents", 2, 3, 4, mask=1), EntityList("doors", 15, 2, 2, mask=None)
SEEN = EntityBox(-4.0, 4.0, 19, [AGENTS, DOORS])
OWN = [0, 1, 14]


def policy_of(space: Any = SEEN, **settings: Any) -> Policy:
    """One whose biases are not zero, so that a lost one shows."""
    model = ModelConfig.model_validate({"type": "entities", **settings})
    policy = build_policy(model, Group("agent", 1, space, Discrete(5)), torch.Generator().manual_seed(0))
    torch.manual_seed(1)
    for parameter in policy.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter)
    return policy


def observations(rows: int = 6) -> Tensor:
    """Random ones; each agent is there in about half of the rows, none of them in the first row."""
    generator = torch.Generator().manual_seed(2)
    seen = torch.randn(rows, 19, generator=generator)
    seen[:, [3, 7, 11]] = (torch.rand(rows, 3, generator=generator) < 0.5).float()
    seen[0, [3, 7, 11]] = 0.0
    return seen


def encoded(row: Tensor, weights: Mapping[str, Tensor], prefix: str, heads: int) -> Tensor:
    """The encoder for one observation, entity by entity: only those that are there are ever looked at."""

    def layer(name: str, x: Tensor) -> Tensor:
        return functional.linear(x, weights[f"{prefix}{name}.weight"], weights[f"{prefix}{name}.bias"])

    width = len(weights[f"{prefix}joined.bias"])
    of_agent, with_agents, with_doors = layer("agent", row[OWN]).split(width)
    there = [of_agent.relu()]
    for number in range(AGENTS.rows):
        features = row[AGENTS.first + 4 * number :][:4]
        if features[1] > 0.5:
            there.append((layer("entities.0", features) + with_agents).relu())
    doors = [row[DOORS.first + 2 * number :][:2] for number in range(DOORS.rows)]
    there += [(layer("entities.1", features) + with_doors).relu() for features in doors]
    queries, keys, values = zip(*(layer("attended", x).split(width) for x in there), strict=True)
    size, found = width // heads, []
    for x, query in zip(there, queries, strict=True):
        read = []
        for part in (slice(h * size, (h + 1) * size) for h in range(heads)):
            scores = torch.stack([query[part] @ key[part] / size**0.5 for key in keys])
            read.append(sum(share * value[part] for share, value in zip(scores.softmax(0), values, strict=True)))
        x = x + layer("joined", torch.cat(read))
        scaled = (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt()
        norm = f"{prefix}after_attention"
        found.append(scaled * weights[f"{norm}.weight"] + weights[f"{norm}.bias"])
    return layer("layers.0", torch.cat((there[0], torch.stack(found).mean(0)))).tanh()


@pytest.mark.parametrize(("size", "heads"), [(8, 2), (6, 1)])
def test_actor_and_critic_are_sums_over_those_that_are_there(size: int, heads: int) -> None:
    """And their gradient."""
    policy = policy_of(entity_size=size, heads=heads, hidden_sizes=[7])
    seen = observations()
    with torch.no_grad():
        outputs = policy.outputs(seen)
    model: Any = policy.model.double()
    weights = dict(model.named_parameters())

    def last(name: str) -> Tensor:
        inner = torch.stack([encoded(row, weights, f"{name}.0.", heads) for row in seen.double()])
        return functional.linear(inner, weights[f"{name}.1.weight"], weights[f"{name}.1.bias"])

    expected, worth = last("actor_layers"), last("critic_layers").squeeze(-1)
    torch.testing.assert_close(outputs.double(), expected, rtol=1e-4, atol=1e-5)
    found = model.actor(seen.double()), model.critic(seen.double())
    torch.testing.assert_close(found, (expected, worth), rtol=0, atol=1e-12)
    every = list(weights.values())
    gradients = [torch.autograd.grad((a**2).sum() + (b**2).sum(), every) for a, b in (found, (expected, worth))]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-9)


def test_the_order_of_a_list_s_rows_changes_nothing() -> None:
    policy, seen = policy_of(), observations()
    agents, doors = seen[:, 2:14].unflatten(1, (3, 4)), seen[:, 15:].unflatten(1, (2, 2))
    other = torch.cat((seen[:, :2], agents[:, [2, 0, 1]].flatten(1), seen[:, 14:15], doors.flip(1).flatten(1)), 1)
    torch.testing.assert_close(policy.outputs(other), policy.outputs(seen), rtol=1e-5, atol=1e-6)


def test_what_stands_in_rows_that_are_not_there_changes_nothing() -> None:
    policy, seen = policy_of(), observations()
    hidden = (seen[:, [3, 7, 11]] <= 0.5).unsqueeze(-1).expand(-1, -1, 4).clone()
    hidden[..., 1] = False  # the mask stays
    other = seen.clone()
    other[:, 2:14] = torch.where(hidden.flatten(1), 3.0, seen[:, 2:14])
    assert not torch.equal(other, seen)
    assert torch.equal(policy.outputs(other), policy.outputs(seen))
    other[:, 2:14] = torch.where(hidden.flatten(1), seen[:, 2:14], 3.0)  # and what is there does
    assert not torch.allclose(policy.outputs(other)[1:], policy.outputs(seen)[1:])


@pytest.mark.parametrize(
    "settings", [{"recurrent": "gru", "recurrent_size": 8}, {"shared": True}, {"hidden_sizes": []}]
)
def test_its_encoder_stands_before_a_memory_and_before_shared_heads(settings: dict[str, Any]) -> None:
    policy = policy_of(entity_size=8, **settings)
    assert policy.outputs(observations()).shape == (6, 5)


def test_weights_at_first() -> None:
    model = ModelConfig.model_validate({"type": "entities"})
    policy = build_policy(model, Group("agent", 1, SEEN, Discrete(5)), torch.Generator().manual_seed(0))
    model_made: Any = policy.model
    assert model_made.actor_layers[-1].weight.norm(dim=1).tolist() == pytest.approx([0.01] * 5, rel=1e-4)
    with torch.no_grad():
        assert policy.outputs(observations()).abs().max() < 0.05  # close to uniform


def test_torch_runs_it_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        assert not fuse(policy_of(shared=True), "agent")
    assert "without fused kernels: it attends to entities" in caplog.text


@pytest.mark.parametrize(
    ("space", "settings", "words"),
    [
        (
            Box(-1.0, 1.0, (3,)),
            {},
            "model 'entities': the observation is Box(-1.0, 1.0, (3,), float32), expected an EntityBox, which declares "
            "lists of entities; take model.type=mlp, or declare the lists in the environment",
        ),
        (SEEN, {"entity_size": 9}, "model 'entities': 2 heads, expected a divisor of entity_size 9"),
        (SEEN, {"hidden_sizes": [0]}, "hidden_sizes [0], expected widths of at least 1"),
        (
            SEEN,
            {"normalise_observations": True},
            "normalise_observations=true, but model 'entities' reads flags of entities that are there, which "
            "normalising would move; set it to false",
        ),
    ],
)
def test_what_it_cannot_be_made_for(space: Any, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        policy_of(space, **settings)
    assert str(refusal.value) == words
