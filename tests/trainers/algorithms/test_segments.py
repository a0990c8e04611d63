"""Minibatches of whole segments, drawn by the size of their advantages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.policies.fused.fused_cases import Case
from tests.policies.fused.fused_sequences import Seen, policy_of
from tests.trainers.algorithms.ppo_cases import Settings, make_batch, make_policy, seeded
from warpworld.config import config_from_dict, load_config
from warpworld.errors import ConfigError
from warpworld.policies.fused import Loss, fused_networks
from warpworld.trainers.algorithms.experience import Batch, Experience
from warpworld.trainers.algorithms.ppo import PPO, ppo_loss
from warpworld.trainers.algorithms.settings import SegmentDraws
from warpworld.trainers.algorithms.updates.gradients import minibatches_of
from warpworld.trainers.algorithms.updates.segments import (
    KeptSegments,
    Segments,
    draw,
    importance,
    probabilities,
)
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.trainers.trainer import Trainer

T, ENVS, GROUPS = 5, 4, (3, 2)  # steps, envs, and agents of two groups
WIDTHS = [ENVS * agents for agents in GROUPS]
SEGMENTS = sum(WIDTHS)


def rollout(masked: bool = False) -> Batch:
    """Rows of two groups, step by step, whose first observation is the number of their segment."""
    batch = make_batch(make_policy(), T * SEGMENTS, masked=masked)
    numbers = [torch.arange(width).repeat(T) + first for width, first in zip(WIDTHS, (0, WIDTHS[0]), strict=True)]
    batch.observations[:, 0] = torch.cat(numbers)
    blocks = tuple(width for width in WIDTHS for _ in range(T))
    return Batch(**dict(batch.named_tensors()), blocks=blocks)  # type: ignore[arg-type]


def minibatches(batch: Experience, keeps_all: bool = False, wanted: int = 4, **rule: Any) -> Segments:
    draws = SegmentDraws(**{"alpha": 0.7, "beta": 0.5, "per_pass": 3, "groups": 2, **rule})
    kind = KeptSegments if keeps_all else Segments
    return kind(batch, wanted, ALONE, draws)


# --- the formulas -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_probabilities_and_weights_are_those_of_the_formulas(alpha: float, masked: bool) -> None:
    batch, beta = rollout(masked), 0.3
    made = minibatches(batch, alpha=alpha, beta=beta)
    # in float64, segment by segment
    numbers, counts = batch.observations[:, 0].numpy().astype(int), np.ones(len(batch), bool)
    if batch.mask is not None:
        batch.mask[numbers == 7] = False  # one that is out
        made = minibatches(batch, alpha=alpha, beta=beta)
        counts = batch.mask.numpy()
    sizes = np.abs(batch.advantages.numpy().astype(np.float64))
    there = [segment for segment in range(SEGMENTS) if counts[numbers == segment].any()]
    shares = {s: (sizes[(numbers == s) & counts].sum() + 1e-6) ** alpha for s in there}
    wanted = {s: (len(there) * shares[s] / sum(shares.values())) ** -beta for s in there}
    weights = made.rows.rows.importance
    assert weights is not None and len(there) == SEGMENTS - masked
    for segment in there:
        np.testing.assert_allclose(weights.numpy()[numbers == segment], wanted[segment], rtol=1e-6)


def test_what_does_not_count_moves_no_probability() -> None:
    advantages, mask = torch.randn(T, 6, generator=seeded()), torch.rand(T, 6, generator=seeded(1)) < 0.5
    spoilt = torch.where(mask, advantages, torch.nan)
    assert torch.equal(probabilities(advantages, mask, 0.5), probabilities(spoilt, mask, 0.5))


def test_weights_undo_what_priorities_did_where_beta_is_1() -> None:
    chances = probabilities(torch.randn(T, 9, generator=seeded()), None, 1.0)
    torch.testing.assert_close((chances * importance(chances, 1.0)).float(), torch.full((9,), 1 / 9))


def test_draws_are_in_proportion_and_without_replacement() -> None:
    chances = torch.tensor([0.5, 0.0, 0.3, 0.2], dtype=torch.float64)
    numbers = torch.rand(40_000, 4, dtype=torch.float64, generator=seeded())
    one, two = draw(chances, numbers, 1), draw(chances, numbers, 2)
    found = one.flatten().bincount(minlength=4) / len(one)
    torch.testing.assert_close(found.double(), chances, atol=0.01, rtol=0)
    assert (two[:, 0] < two[:, 1]).all() and not (two == 1).any()
    # the first in proportion, then the second among what is left
    pair = float(((two == torch.tensor([0, 2])).all(1)).double().mean())
    assert pair == pytest.approx(0.5 * 0.3 / 0.5 + 0.3 * 0.5 / 0.7, abs=0.01)
    assert draw(chances, numbers[:5], 4).tolist() == [[0, 1, 2, 3]] * 5  # more than can be drawn


# --- minibatches ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keeps_all", [False, True])
def test_minibatches_are_whole_segments_of_both_groups(keeps_all: bool) -> None:
    made = minibatches(rollout(), keeps_all)
    numbers = torch.rand(3 * SEGMENTS, dtype=torch.float64, generator=seeded(4))
    epoch = made.shuffle((lambda _: numbers) if keeps_all else seeded(4))
    assert epoch.lengths == [T * (SEGMENTS // 4)] * 3 and made.num_rows == T * SEGMENTS
    seen = [part.rows.observations[:, 0] for part in minibatches_of(made.rows, epoch)]
    for part in seen:
        assert {*part.int().bincount().tolist()} <= {0, T}
    assert not torch.equal(seen[0], seen[1])


def test_rows_that_do_not_count_are_left_out() -> None:
    batch = rollout(masked=True)
    assert batch.mask is not None
    out = batch.observations[:, 0] < 6
    batch.mask[out] = False
    made = minibatches(batch, wanted=2)
    assert made.total == SEGMENTS - 6 and made.num_rows == int(batch.mask.sum()) == len(made.single_rows)
    epoch = made.shuffle(seeded(), passes=2)
    assert len(epoch.lengths) == 6 and len({*epoch.lengths}) > 1
    for part in minibatches_of(made.rows, epoch):
        assert part.rows.mask is not None and part.rows.mask.all()
        drawn = part.rows.observations[:, 0].unique()
        assert len(drawn) == (SEGMENTS - 6) // 2 and (drawn >= 6).all()


def test_sequences_are_segments() -> None:
    policy = policy_of("gru")
    experience = Seen.random(policy, T, 8).experience(policy, is_masked=True)
    made = minibatches(experience, groups=1)
    epoch = made.shuffle(seeded())
    assert epoch.lengths == [2] * 3 and epoch.order is not None and epoch.order.max() < 8
    weights = made.rows.rows.importance
    assert weights is not None and torch.equal(weights.view(8, T), weights.view(8, T)[:, :1].expand(8, T))


def test_where_no_row_counts_nothing_is_learnt() -> None:
    batch = rollout(masked=True)
    assert batch.mask is not None
    batch.mask.fill_(False)
    assert minibatches(batch).total == 0
    policy = make_policy()
    before = [parameter.clone() for parameter in policy.parameters()]
    PPO(policy, Settings(priority_alpha=0.5, groups=("one", "two"))).update(batch, seeded())
    assert all(torch.equal(a, b) for a, b in zip(before, policy.parameters(), strict=True))


def test_rows_of_no_rollout_are_segments_of_one_step() -> None:
    epoch = minibatches(make_batch(make_policy(), 12)).shuffle(seeded())
    assert epoch.lengths == [3] * 3


# --- losses -----------------------------------------------------------------------------------------------------------


def test_weights_stand_behind_the_normalisation() -> None:
    batch, weights = rollout(), torch.rand(T * SEGMENTS, generator=seeded(2))
    normal = (batch.advantages - batch.advantages.mean()) / (batch.advantages.std() + 1e-8)
    zeros = torch.zeros_like(weights)
    by_hand = ppo_loss(
        batch.log_probs + 0.1, zeros, zeros, batch.with_columns(advantages=normal * weights), Settings(norm_adv=False)
    )
    found = ppo_loss(batch.log_probs + 0.1, zeros, zeros, batch.with_columns(importance=weights), Settings())
    assert float(found[0]) == pytest.approx(float(by_hand[0]), rel=1e-5)


@pytest.mark.parametrize("box", [0, 3])
@pytest.mark.parametrize("norm_adv", [True, False])
def test_the_gradient_of_c_plus_plus_is_that_of_torch(norm_adv: bool, box: int) -> None:
    policy = (case := Case(rows=300, box=box)).policy()
    batch = case.batch(policy).with_columns(importance=torch.rand(300, generator=seeded(2)) * 3)
    settings = Settings(norm_adv=norm_adv)
    outputs, values = policy(batch.observations)
    found = policy.distribution.log_prob_and_entropy(outputs, batch.actions, batch.action_masks)
    loss, _ = ppo_loss(*found, values, batch, settings)
    wanted = torch.cat([gradient.flatten() for gradient in torch.autograd.grad(loss, list(policy.parameters()))])
    terms = Loss(True, True, norm_adv, settings.clip_coef, settings.ent_coef, settings.vf_coef, 0.0)
    for parameter in policy.parameters():
        parameter.grad = torch.zeros_like(parameter)
    fused_networks(policy, 1).gradient(batch, torch.arange(300), terms)
    mine = torch.cat([parameter.grad.flatten() for parameter in policy.parameters()])  # type: ignore[union-attr]
    assert (mine - wanted).norm() < 1e-5 * wanted.norm()


# --- in a run ---------------------------------------------------------------------------------------------------------


def weights_after(workers: int, fused: bool = True) -> Tensor:
    sizes = {"num_envs": 8, "num_steps": 8, "total_env_steps": 8 * 8 * 4, "num_workers": workers, "fused": fused}
    policy = {"tagger": {"priority_alpha": 0.8, "replay_ratio": 1.5}, "runner": {"algorithm": "random"}}
    made = Trainer(config_from_dict({"name": "tag_gridworld", "trainer": {**sizes, "device": "cpu"}, "policy": policy}))
    made.train(None)
    return torch.nn.utils.parameters_to_vector(made.policies["tagger"].parameters())  # type: ignore[union-attr]


@pytest.mark.long
@pytest.mark.cpu_backend
def test_any_number_of_workers_learns_the_same() -> None:
    one, two, torchs = weights_after(1), weights_after(2), weights_after(1, fused=False)
    assert torch.equal(one, two)
    torch.testing.assert_close(one, torchs, atol=1e-5, rtol=0)


# --- messages ---------------------------------------------------------------------------------------------------------

ALPHA = "policy.agent.priority_alpha=0.5"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["priority_alpha=2"], "priority_alpha is 2, expected at most 1"),
        (
            [ALPHA, "priority_beta=1.5"],
            "priority_beta is 1.5, expected a finite number from 0 to 1, or points such as ",
        ),
        ([ALPHA, "replay_ratio=0"], "replay_ratio is 0, expected more than 0"),
        (
            ["replay_ratio=2"],
            "replay_ratio is 2, but priority_alpha is null, so that rows are shuffled; set priority_alpha, or "
            "update_epochs in place of it",
        ),
        (
            ["priority_beta=[[0, 0.1], [9, 1.0]]"],
            "priority_beta is a schedule, but priority_alpha is null, so that rows are shuffled; set priority_alpha",
        ),
        (
            [ALPHA, "num_minibatches=1"],
            "num_minibatches is 1, but priority_alpha is 0.5: a minibatch would have all segments; expected 2 or more",
        ),
        (
            [ALPHA, "replay_ratio=1.3"],
            "replay_ratio is 1.3 with num_minibatches 8, which makes 2 passes of 5.2 minibatches, expected a whole "
            "number; 1.25 gives one",
        ),
        (
            [ALPHA, "replay_ratio=0.05"],
            "replay_ratio is 0.05 with num_minibatches 8, which makes 1 pass of 0.4 minibatches, expected a whole "
            "number; 0.125 gives one",
        ),
        (
            [ALPHA, "trainer.num_envs=12"],
            "num_minibatches is 8, expected a divisor of the 12 segments of a rollout: num_envs 12 x 1 agent; "
            "priority_alpha is 0.5",
        ),
    ],
)
def test_refusals(words: list[str], message: str) -> None:
    own = [word if word.split(".")[0] in ("policy", "trainer") else f"policy.agent.{word}" for word in words]
    with pytest.raises(ConfigError) as error:
        load_config("cartpole", own)
    assert f": policy.agent.{message}" in str(error.value) and "\n" not in str(error.value)


def test_several_processes_are_refused() -> None:
    with pytest.raises(ConfigError) as error:
        _ = PPO(make_policy(), Settings(priority_alpha=0.5), ProcessGroup(0, 2)).updates
    assert str(error.value) == (
        "priority_alpha is 0.5, but 2 processes learn together, expected one, which draws from all segments; set "
        "priority_alpha=null"
    )
