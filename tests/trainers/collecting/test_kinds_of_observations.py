"""Observations of bytes, choices and flags, which policies learn from as from the same numbers in floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.trainers.collecting.seen_in_kinds import SeenAs, trainer
from warpworld import World
from warpworld.trainers.trainer import Trainer

TWINS = [("bytes", "scaled"), ("choices", "one_hot"), ("flags", "one_hot"), ("mixed", "widened")]


def both(kind: str, floats: str, **settings: Any) -> tuple[Trainer, Trainer]:
    """Two trainers of the same world, seen in two ways, when they have learnt."""
    found = trainer(kind, **settings), trainer(floats, **settings)
    for each in found:
        each.train(None)
    return found


@pytest.mark.parametrize(("kind", "floats"), TWINS)
@pytest.mark.parametrize("model", [{}, {"recurrent": "gru", "recurrent_size": 4}], ids=["mlp", "gru"])
def test_learning_is_the_same_as_from_floats(kind: str, floats: str, model: dict[str, Any]) -> None:
    """Rewards and weights, after rollouts with episodes that were cut off."""
    ours, theirs = both(kind, floats, model=model)
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
