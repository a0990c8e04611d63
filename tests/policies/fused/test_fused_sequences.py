"""Fused networks with a memory, or with branches, against float64 autograd."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn

from tests.policies.fused.fused_cases import gradient_of
from tests.policies.fused.fused_sequences import KINDS, PIXELS, Seen, exact_gradient, policy_of
from warpworld.errors import StoreError
from warpworld.policies import Policy
from warpworld.policies.fused import DIAGNOSTICS, Loss, fuse, fused_networks
from warpworld.policies.recurrent import Recurrent, RecurrentPolicy
from warpworld.trainers.algorithms.experience.sequences import Experience, Sequences
from warpworld.trainers.algorithms.ppo import PPO, PPOSettings

SETTINGS = PPOSettings(clip_coef=0.2, clip_vloss=True, norm_adv=True, ent_coef=0.05, vf_coef=0.5, kl_coef=0.2)
LOSS = Loss(
    surrogate=True,
    clip_value_loss=True,
    normalise_advantages=True,
    **{"clip_coef": 0.2, "ent_coef": 0.05, "vf_coef": 0.5, "kl_coef": 0.2},
)
ERROR = 1e-5  # relative, L2: float32's own is about 1e-6
# steps and agents: some fill whole blocks of rows, some no whole one; a strip of one agent may be longer than a tile
SIZES = [(1, 50), (7, 50), (13, 9), (130, 5)]


def relative(found: Tensor, exact: Tensor) -> float:
    return float((found - exact).norm() / exact.norm())


def assert_gradient(policy: Policy, experience: Experience) -> None:
    """Of the second half of the sequences, in another order."""
    index = torch.arange(len(experience)).flip(0)[: max(1, len(experience) // 2)]
    for parameter in policy.parameters():
        parameter.grad = torch.full_like(parameter, 1e6)  # what was there does not matter
    found = fused_networks(policy, 1).gradient(experience, index, LOSS)
    exact, diagnostics = exact_gradient(policy, experience.take(index), SETTINGS)
    assert relative(gradient_of(policy), exact) < ERROR
    assert dict(zip(DIAGNOSTICS, found.tolist(), strict=True)) == pytest.approx(diagnostics, rel=1e-5, abs=1e-5)


# --- a memory ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [16, 9])
@pytest.mark.parametrize(("steps", "agents"), SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_through_time(kind: str, steps: int, agents: int, size: int) -> None:
    policy = policy_of(kind, recurrent_size=size)
    assert_gradient(policy, Seen.random(policy, steps, agents).experience(policy))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_do_not_count_have_no_gradient(kind: str) -> None:
    policy = policy_of(kind)
    experience = Seen.random(policy, 9, 30).experience(policy, is_masked=True)
    assert_gradient(policy, experience)
    index = torch.arange(len(experience))
    networks, found = fused_networks(policy, 1), []
    for nonsense in (0.0, float("nan")):
        mask = experience.rows.mask
        assert mask is not None
        columns = {
            name: torch.where(mask, getattr(experience.rows, name), nonsense)
            for name in ("log_probs", "advantages", "returns", "values")
        }
        diagnostics = networks.gradient(experience.with_columns(**columns), index, LOSS)
        found.append(torch.cat((gradient_of(policy), diagnostics)))
    assert torch.equal(*found)


@pytest.mark.parametrize("kind", KINDS)
def test_actions_in_a_box(kind: str) -> None:
    policy = policy_of(kind, action=Box(-1.0, 1.0, (3,)))
    assert_gradient(policy, Seen.random(policy, 6, 20).experience(policy, is_masked=True))


@pytest.mark.parametrize(("steps", "agents"), SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_played_and_replayed_is_what_torch_plays(kind: str, steps: int, agents: int) -> None:
    policy = policy_of(kind)
    seen, networks = Seen.random(policy, steps, agents), fused_networks(policy, 1)
    assert isinstance(policy, RecurrentPolicy)
    with torch.no_grad():
        expected = policy.replay(seen.observations, seen.states, seen.starts)
        found = networks.replay(seen.observations, seen.states, seen.starts)
        expected += policy.step(seen.observations[0], seen.states)
        found += networks.step(seen.observations[0], seen.states)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_is_reset_is_reset_for_the_observation_of_that_step(kind: str) -> None:
    """Playing and learning agree on it: a single step late would leave the old state in one of them."""
    policy = policy_of(kind)
    seen, networks = Seen.random(policy, 6, 7), fused_networks(policy, 1)
    starts = torch.zeros_like(seen.starts)
    starts[3] = True
    late = torch.zeros_like(starts)
    late[4] = True
    played, state = [], seen.states
    for t in range(6):
        outputs, _, state = networks.step(seen.observations[t], state if t != 3 else torch.zeros_like(state))
        played.append(outputs)
    replayed, _ = networks.replay(seen.observations, seen.states, starts)
    torch.testing.assert_close(replayed, torch.stack(played), rtol=1e-5, atol=1e-5)
    one_late, _ = networks.replay(seen.observations, seen.states, late)
    assert (one_late[3] - replayed[3]).abs().max() > 1e-3
    assert (one_late[:3] == replayed[:3]).all()
    gradients = []
    for begins in (starts, late):
        experience = Seen(seen.observations, seen.states, begins).experience(policy)
        same = Seen(seen.observations, seen.states, starts).experience(policy)
        assert isinstance(experience, Sequences) and isinstance(same, Sequences)
        learnt = Sequences(same.rows, experience.states, experience.starts)
        networks.gradient(learnt, torch.arange(7), LOSS)
        gradients.append(gradient_of(policy))
    exact, _ = exact_gradient(policy, Seen(seen.observations, seen.states, starts).experience(policy), SETTINGS)
    assert relative(gradients[0], exact) < ERROR
    assert relative(gradients[1], exact) > 1e-2


@pytest.mark.parametrize("kind", KINDS)
def test_results_do_not_depend_on_the_number_of_workers(kind: str) -> None:
    policy = policy_of(kind)
    experience = Seen.random(policy, 8, 300).experience(policy)
    found = []
    for workers in (1, 3):
        networks = fused_networks(policy, workers)
        for _ in range(3):  # from the second on, the runtime knows how long a chunk takes, and shares them out
            networks.gradient(experience, torch.arange(len(experience)), LOSS)
            found.append(gradient_of(policy))
    assert all(torch.equal(found[0], other) for other in found[1:])


def test_a_longer_rollout_than_the_last_one_has_its_room() -> None:
    policy = policy_of("gru")
    networks = fused_networks(policy, 2)
    for steps in (2, 40, 5):
        experience = Seen.random(policy, steps, 30).experience(policy)
        networks.gradient(experience, torch.arange(30), LOSS)
        assert relative(gradient_of(policy), exact_gradient(policy, experience, SETTINGS)[0]) < ERROR


def test_states_of_another_size_are_refused() -> None:
    policy = policy_of("lstm")
    with pytest.raises(StoreError, match=r"state: shape \(4, 3\) .*expected \(4, 32\)"):
        fused_networks(policy, 1).step(torch.zeros(4, 5), torch.zeros(4, 3))


# --- branches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"hidden_sizes": ()},
        {"channels": (), "kernel_sizes": (), "strides": ()},
        {"channels": (7,), "kernel_sizes": (5,), "strides": (3,), "activation": "tanh"},
        {"kernel_sizes": (10, 3), "strides": (3, 5)},  # one position, which leaves some of what it could see out
        {"branch_size": 16, "channels": (16, 32), "hidden_sizes": (32, 16)},
    ],
)
@pytest.mark.parametrize("kind", [None, "shared", "lstm", "mingru"])
def test_gradient_through_branches(kind: str | None, model: dict[str, Any]) -> None:
    policy = policy_of(kind, PIXELS, **model)
    seen = Seen.random(policy, 4, 60)
    assert_gradient(policy, seen.experience(policy))
    if kind in (None, "shared"):
        networks, rows = fused_networks(policy, 1), seen.observations
        with torch.no_grad():
            torch.testing.assert_close(networks.outputs(rows), policy.outputs(rows), rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(networks.value(rows), policy.value(rows), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("hidden", [(16, 24), (9,), ()])
def test_gradient_through_a_shared_encoder(hidden: tuple[int, ...], activation: str) -> None:
    policy = policy_of("shared", hidden_sizes=hidden, activation=activation)
    seen = Seen.random(policy, 4, 60)
    assert_gradient(policy, seen.experience(policy))
    networks = fused_networks(policy, 1)
    with torch.no_grad():
        torch.testing.assert_close(networks.outputs(seen.observations), policy.outputs(seen.observations))
        torch.testing.assert_close(networks.value(seen.observations), policy.value(seen.observations))


class Eye(nn.Module):
    """An encoder of a user's own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(5, 16), nn.Tanh()

    def forward(self, rows: Tensor) -> Tensor:
        return self.second(self.first(rows)) + 1.0


def with_eye() -> Policy:
    policy = policy_of("gru")
    policy.model.encoder = Eye()  # type: ignore[assignment]
    return policy


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (
            policy_of("lstm", Box(0.0, 1.0, (4, 80, 80))),
            "it has a memory behind convolutions of 25,472 numbers, more than the 16,384 that are kept for each step",
        ),
        (with_eye(), "its encoder is a Eye, none of the packaged ones"),
        (policy_of("lstm", recurrent_layers=2), "its LSTM has 2 layers where one is expected"),
        (policy_of("gru", recurrent_layers=3), "its GRU has 3 layers where one is expected"),
        (policy_of("transformer"), "its cell is a transformer"),
    ],
)
def test_other_encoders_and_several_cells_are_left_to_torch(
    policy: Policy, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        assert not fuse(policy, "mine")
    assert f"policy 'mine' is run by torch, without fused kernels: {reason}" in caplog.text


# --- learning ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_fused_learner_learns_what_torch_alone_does(kind: str) -> None:
    settings = {"update_epochs": 2, "num_minibatches": 3, "learning_rate": 1e-2}
    moved = []
    for is_fused in (False, True):
        policy = policy_of(kind)
        start = torch.cat([parameter.detach().flatten() for parameter in policy.parameters()])
        learner = PPO(policy, PPOSettings(**settings))
        experience = Seen.random(policy, 8, 24).experience(policy, is_masked=True)
        if is_fused:
            assert fuse(policy) and isinstance(policy.model, Recurrent)
        learner.update(experience, torch.Generator().manual_seed(5))
        moved.append(torch.cat([parameter.detach().flatten() for parameter in policy.parameters()]) - start)
    assert moved[0].norm() > 1e-2
    assert relative(moved[1], moved[0]) < 1e-2
