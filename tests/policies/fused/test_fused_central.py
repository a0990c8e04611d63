"""Fused networks whose critic reads other inputs than their actor, with and without memories, against float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from gymnasium.spaces import Box
from torch import Tensor

from tests.policies.fused.fused_cases import gradient_of
from tests.policies.fused.fused_sequences import CENTRAL, PIXELS, VECTOR, Seen, policy_of
from tests.policies.fused.test_fused_sequences import LOSS, SIZES, assert_gradient, relative
from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.errors import StoreError
from warpworld.policies import Policy, build_policy
from warpworld.policies.fused import fuse, fused_networks
from warpworld.trainers.algorithms.mappo import MAPPO, MAPPOSettings


@pytest.mark.parametrize(("steps", "agents"), SIZES)
@pytest.mark.parametrize(("kind", "critic"), CENTRAL)
def test_the_gradient_of_both(kind: str | None, critic: str, steps: int, agents: int) -> None:
    policy = policy_of(kind, critic=critic)
    is_masked = steps == 13 and kind is not None  # without a memory rows that do not count are left out before
    assert_gradient(policy, Seen.random(policy, steps, agents).experience(policy, is_masked))


def declared() -> Policy:
    """As PPO and A2C make it where the environment names what critics read, here as many numbers as actors do."""
    group = Group("a", 1, observation=VECTOR, action=Box(-1.0, 1.0, (3,)))
    return build_policy(ModelConfig(hidden_sizes=(16,)), group, torch.Generator().manual_seed(1), critic_input=VECTOR)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(declared(), id="a declared state"),
        pytest.param(policy_of(None, PIXELS, critic="plain"), id="branches"),
        pytest.param(policy_of("lstm", PIXELS, critic="remembering"), id="branches and a memory"),
        pytest.param(
            policy_of("gru", critic="remembering", action=Box(-1.0, 1.0, (3,)), recurrent_size=9),
            id="a Box, and no whole vectors",
        ),
        *(
            pytest.param(policy_of(kind, critic=critic, hidden_sizes=()), id=f"no layers, {kind}, {critic}")
            for kind, critic in ((None, "plain"), ("mingru", "plain"), ("lstm", None), ("mingru", None))
        ),
    ],
)
def test_the_gradient_of_other_networks(policy: Policy) -> None:
    assert_gradient(policy, Seen.random(policy, 6, 40).experience(policy, is_masked=policy.state_size > 0))


@pytest.mark.parametrize("kind", [None, "gru"])
def test_an_actor_reads_bytes_beside_a_critic_of_floats(kind: str | None) -> None:
    policy, found = policy_of(kind, Box(0, 255, (2, 8, 10), "uint8"), critic="plain"), list[Tensor]()
    experience = Seen.random(policy, 6, 40).experience(policy)
    rows = experience.rows.observations
    for seen in (rows, policy.features(rows)):
        fused_networks(policy, 1).gradient(experience.with_columns(observations=seen), torch.arange(30), LOSS)
        found.append(gradient_of(policy))
    assert rows.dtype == torch.uint8 and torch.equal(*found)


@pytest.mark.parametrize(("kind", "critic"), CENTRAL)
def test_what_is_played_and_replayed_is_what_torch_plays(kind: str | None, critic: str) -> None:
    policy = policy_of(kind, critic=critic)
    seen, networks, model = Seen.random(policy, 7, 50), fused_networks(policy, 1), policy.model
    read, memory = seen.critic_inputs, policy.state_size
    assert read is not None
    with torch.no_grad():
        if kind is None:
            expected, found = [policy.outputs(seen.observations)], [networks.outputs(seen.observations)]
        else:
            given = seen.observations[0], seen.states[:, :memory]
            expected, found = [*model.step(*given)], [*networks.step(*given)]  # type: ignore[operator]
            given = seen.observations, seen.states, seen.starts, read  # type: ignore[assignment]
            expected += model.replay(*given)  # type: ignore[operator]
            found += networks.replay(*given)
        if critic == "remembering":
            of_critic = seen.states[:, memory:]
            expected += model.critic_step(read[0], of_critic)  # type: ignore[operator]
            found += networks.critic_step(read[0], of_critic)
        else:
            expected.append(policy.value(read))
            found.append(networks.value(read))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize(("kind", "critic"), [(None, "plain"), ("gru", "plain"), ("mingru", "remembering")])
def test_results_do_not_depend_on_the_number_of_workers(kind: str | None, critic: str, precision: str) -> None:
    policy, found = policy_of(kind, critic=critic), list[Tensor]()
    experience = Seen.random(policy, 8, 300).experience(policy)
    for workers in (1, 2, 3):
        networks = fused_networks(policy, workers, precision)
        for _ in range(3):  # from the second on, the runtime knows how long a chunk takes, and shares them out
            networks.gradient(experience, torch.arange(len(experience)), LOSS)
            found.append(gradient_of(policy))
    assert all(torch.equal(found[0], other) for other in found[1:])


def test_inputs_and_states_of_another_size_are_refused() -> None:
    networks = fused_networks(policy_of("lstm", critic="remembering"), 1)
    with pytest.raises(StoreError, match=r"critic inputs: shape \(4, 5\) .*expected \(4, 10\)"):
        networks.critic_step(torch.zeros(4, 5), torch.zeros(4, 32))
    with pytest.raises(StoreError, match=r"critic's state: shape \(4, 3\) .*expected \(4, 32\)"):
        networks.critic_step(torch.zeros(4, 10), torch.zeros(4, 3))
    policy = policy_of("lstm", critic="plain")
    experience = Seen.random(policy, 3, 4).experience(policy)
    with pytest.raises(StoreError, match=r"critic_inputs: shape \(12, 5\) .*expected \(12, 10\)"):
        fused_networks(policy, 1).gradients(experience.with_columns(critic_inputs=torch.zeros(12, 5)))


@pytest.mark.parametrize("settings", [{}, {"optimizer": "muon"}, {"max_grad_norm": 0.1, "desired_kl": 0.01}])
def test_a_fused_learner_learns_what_torch_alone_does(settings: dict[str, Any]) -> None:
    passes = {"update_epochs": 2, "num_minibatches": 3, "learning_rate": 1e-2}
    moved = []
    for is_fused in (False, True):
        policy = policy_of("gru", critic="remembering")
        start = torch.cat([parameter.detach().flatten() for parameter in policy.parameters()])
        learner = MAPPO(policy, MAPPOSettings(**passes, **settings))
        experience = Seen.random(policy, 8, 24).experience(policy, is_masked=True)
        assert not is_fused or fuse(policy)
        learner.update(experience, torch.Generator().manual_seed(5))
        moved.append(torch.cat([parameter.detach().flatten() for parameter in policy.parameters()]) - start)
    assert moved[0].norm() > 1e-2
    assert relative(moved[1], moved[0]) < 1e-2
