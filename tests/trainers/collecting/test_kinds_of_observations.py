"""Observations of bytes, choices and flags, which policies learn from as from the same numbers in floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, MultiBinary, MultiDiscrete

from tests.trainers.collecting.seen_in_kinds import SPACES, SeenAs, trainer
from tests.trainers.recorded import Recorded
from warpworld import World
from warpworld.errors import TrainingError
from warpworld.policies import ObservationRows
from warpworld.policies.inputs.preprocessing import Preprocessing
from warpworld.trainers.trainer import Trainer

TWINS = [("bytes", "scaled"), ("choices", "one_hot"), ("flags", "one_hot"), ("mixed", "widened")]


def both(kind: str, floats: str, **settings: Any) -> tuple[Trainer, Trainer]:
    """Two trainers of the same world, seen in two ways, when they have learnt."""
    found = trainer(kind, **settings), trainer(floats, **settings)
    for each in found:
        each.train(None)
    return found


@pytest.mark.parametrize(("kind", "floats"), TWINS)
@pytest.mark.parametrize("rests", [False, True], ids=["", "in turn"])
@pytest.mark.parametrize("model", [{}, {"recurrent": "gru", "recurrent_size": 4}], ids=["mlp", "gru"])
def test_learning_is_the_same_as_from_floats(kind: str, floats: str, model: dict[str, Any], rests: bool) -> None:
    """Rewards and weights, after rollouts with episodes that were cut off, and steps that agents sat out."""
    ours, theirs = both(kind, floats, model=model, rests=rests)
    assert ours.world["rollout_truncated"].any()
    assert torch.equal(ours.world["rollout_rewards"], theirs.world["rollout_rewards"])
    mine, expected = (dict(each.policies["walker"].named_parameters()) for each in (ours, theirs))
    assert mine.keys() == expected.keys()
    for name, parameter in mine.items():
        torch.testing.assert_close(
            parameter, expected[name], rtol=0, atol=0 if ours.world.device.type == "cpu" else 1e-5
        )


def test_rollouts_keep_bytes() -> None:
    one, mixed = trainer("bytes"), trainer("mixed")
    for each in (one, mixed):
        each.train(None)
    assert one.world["observations"].dtype == torch.uint8
    assert (one.world["rollout_observations_walker"].dtype, one.world["kept_observations"].dtype) == (torch.uint8,) * 2
    assert one.world["rollout_observations_walker"].shape == (16, 6, 2, 2)
    assert mixed.world["rollout_observations_walker"].shape == (16, 6, 2, 2 + 4 + 4)  # bytes of eye, own and place
    rows = mixed.world["rollout_observations_walker"].cpu().numpy()
    own, place = (rows[..., first : first + 4].copy().view(kind) for first, kind in ((2, np.int32), (6, np.float32)))
    assert np.array_equal(place, 10.0 * own)
    assert np.array_equal(rows[..., :2].diagonal(axis1=-2, axis2=-1), 36 * own[..., 0])


def test_the_normaliser_takes_in_floats_alone() -> None:
    ours, _ = both("mixed", "widened", model={"normalise_observations": True})
    policy = ours.policies["walker"]
    assert policy.normaliser is not None
    assert (policy.normaliser.mean.shape, float(policy.normaliser.count)) == ((1,), 6 * 16 * 2 * 3)
    rows = ours.world["rollout_observations_walker"]
    place = rows[..., 6:].cpu().numpy().copy().view(np.float32)
    seen = policy.features(rows).cpu().numpy()
    normal = (place - policy.normaliser.mean.item()) / np.sqrt(policy.normaliser.variance.item())
    np.testing.assert_allclose(seen[..., 10:], normal.clip(-10, 10), atol=1e-5)
    np.testing.assert_allclose(seen[..., :2], rows[..., :2].cpu().numpy() / 255, atol=1e-7)


def test_what_is_not_finite_among_bytes_is_found() -> None:
    world = World(SeenAs(kind="mixed"), 4)
    rollout = Recorded(world, {"walker": None}, num_steps=3, graph_steps=0)  # what it finds is changed afterwards
    world.reset()
    rollout.collect()
    rollout.check_finite()
    rollout.collect()
    floats_of_one = world["rollout_observations_walker"][1, 2, 1, 6:]
    floats_of_one.copy_(torch.tensor([float("nan")]).view(torch.uint8))
    with pytest.raises(TrainingError) as refused:
        rollout.check_finite()
    assert str(refused.value) == (
        "SeenAs: observations of env 2, agent 1 (walker 1) in step 1 of the rollout is nan, expected a finite number; "
        "look for a division by zero, a root of a negative number or an array that is read before it is written"
    )


def test_floats_that_do_not_count_reach_no_gradient() -> None:
    """An agent that is out may see NaN: among bytes it is read as 0, as a recurrent policy's rows are."""
    made = Preprocessing(ObservationRows(SPACES["mixed"]))
    rows = torch.zeros(3, 10, dtype=torch.uint8)
    rows[1, 6:] = torch.tensor([float("nan")]).view(torch.uint8)
    rows[2, 6:] = torch.tensor([float("-inf")]).view(torch.uint8)
    assert torch.equal(made(rows)[1:], made(rows)[:1].expand(2, -1))


def test_choices_outside_of_their_space_are_no_feature() -> None:
    made = Preprocessing(ObservationRows(MultiDiscrete([3, 2], start=[4, -1])))
    numbers = np.array([[4, -1], [6, 0], [7, 0], [3, 1]], np.int32)
    found = made(torch.from_numpy(numbers).view(torch.uint8))
    assert found.tolist() == [[1, 0, 0, 1, 0], [0, 0, 1, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]]


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_parts_are_read_wherever_they_lie(rows: int) -> None:
    """Numbers of four bytes need not begin at a multiple of four: here behind one byte, in any row of a batch."""
    space = Dict(a=Box(0, 255, (1,), np.uint8), b=MultiDiscrete([9, 9]), c=MultiBinary(2), d=Box(-9.0, 9.0, (2,)))
    generator = np.random.default_rng(0)
    a, c = generator.integers(0, 256, (rows, 1), np.uint8), generator.random((rows, 2)) < 0.5
    b, d = generator.integers(0, 9, (rows, 2), np.int32), generator.normal(size=(rows, 2)).astype(np.float32)
    layout = ObservationRows(space)
    joined = layout.join([torch.from_numpy(part) for part in (a, b, c, d)])
    for part, expected in zip(layout.split(joined[rows - 1 :]), (a, b, c, d), strict=True):
        assert np.array_equal(part.numpy(), expected[rows - 1 :])
    one_hot = np.eye(9, dtype=np.float32)[b].reshape(rows, 18)
    features = np.concatenate([a.astype(np.float32) / 255, one_hot, c, d], -1)
    assert np.array_equal(Preprocessing(layout)(joined).numpy(), features)


def test_a_single_number_may_have_any_stride() -> None:
    """Strides of a column, and of no rows at all."""
    layout = ObservationRows(Dict(a=Box(-9.0, 9.0, (1,)), b=Box(0, 255, (2,), np.uint8)))
    numbers = torch.arange(3.0).as_strided((3, 1), (1, 0))
    joined = layout.join([numbers, torch.ones(3, 2, dtype=torch.uint8)])
    assert layout.split(joined)[0].flatten().tolist() == [0.0, 1.0, 2.0]
    assert layout.join([numbers[:0], torch.ones(0, 2, dtype=torch.uint8)]).shape == (0, 6)


def test_final_observations_keep_their_kind() -> None:
    for kind, dtype in (("bytes", torch.uint8), ("choices", torch.int32), ("flags", torch.bool)):
        world = World(SeenAs(kind=kind), 4, seed=1)
        world.request("final_observations")
        world.reset()
        for _ in range(5):
            world["actions"].fill_(2)
            world.step()
        assert world["truncated"].all()
        assert world["final_observations"].dtype == world["observations"].dtype == dtype


@pytest.mark.long
def test_a_world_of_bytes_and_choices_is_learnt() -> None:
    """The nearest way to place 3, from wherever an agent and its fellow stand."""
    each = trainer("mixed", updates=40, num_envs=64, learning_rate=0.01, model={"hidden_sizes": [32]})
    each.train(None)
    own, other = (places.contiguous().unsqueeze(-1) for places in torch.meshgrid([torch.arange(8)] * 2, indexing="ij"))
    parts = [torch.cat([36 * own, 36 * other], -1).to(torch.uint8), own.int(), 10.0 * own.float()]
    rows = torch.cat([part.view(torch.uint8) for part in parts], -1)
    policy = each.policies["walker"]
    chosen = policy.outputs(rows.to(each.world.device)).argmax(-1, keepdim=True).cpu()
    assert torch.equal(chosen, 1 + torch.sign(3 - own).long())
