"""Actions that the env forbids are not taken, and learning knows that they were not there."""

from __future__ import annotations

import pytest
import torch

from tests.trainers.recorded import Recorded, batches_of
from tests.trainers.small_worlds import Narrowing, narrowed, same_logits
from warpworld.config import config_from_dict
from warpworld.policies import Categorical
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.rollout import Rollout
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

LOGITS = {"left": [0.5, 0.0, -0.5, 0.2, 0.0], "right": [0.0, 1.0, 0.0, 3.0]}
HEADS = {"left": Categorical((3, 2)), "right": Categorical((4,))}


def test_masks_are_obeyed_and_recorded_with_the_step() -> None:
    world = World(Narrowing(), 500)
    rollout = Recorded(world, {group: same_logits(logits) for group, logits in LOGITS.items()}, 12)
    world.reset()
    rollout.collect()
    assert (world["rollout_rewards"] >= 0).all()  # -1000 for a forbidden one
    timestep = (
        torch.arange(12, device=world.device) % 5
    )  # episodes of 5 steps; the mask of a step is that of the timestep before it
    expected = torch.stack([narrowed(timestep[t].expand(500)) for t in range(12)])
    for group, agents in (("left", slice(0, 2)), ("right", slice(2, 3))):
        seen = rollout.trajectories(group)
        choices = len(LOGITS[group])
        assert torch.equal(seen.action_masks, expected[:, :, agents, :choices])
        logits = torch.tensor(LOGITS[group], device=world.device).expand(*seen.action_masks.shape)
        log_probs, _ = HEADS[group].log_prob_and_entropy(logits, seen.actions, seen.action_masks)
        torch.testing.assert_close(seen.log_probs, log_probs, rtol=1e-5, atol=1e-6)
        batch = rollout.batch(group, same_logits(LOGITS[group]), 0.9, 0.9)  # type: ignore[arg-type]
        assert torch.equal(batch.action_masks, seen.action_masks.flatten(0, 2))
    first = rollout.trajectories("left").actions[..., 0]
    assert first.unique().tolist() == [0, 1, 2]


@pytest.mark.parametrize("kernel", ["act", "act_greedily"])
def test_without_recording(kernel: str) -> None:
    world = World(Narrowing(), 300)
    actors = [Actor(world, group, same_logits(logits), kernel) for group, logits in LOGITS.items()]  # type: ignore[arg-type]
    world.reset()
    for _ in range(7):
        for actor in actors:
            actor.act()
        world.step()
        assert (world["rewards"] >= 0).all()


def test_an_update_with_masks_starts_at_a_ratio_of_one_and_learns() -> None:
    trainer = {"num_envs": 16, "num_steps": 10, "total_env_steps": 160 * 25}
    entry = {"learning_rate": 1e-2, "num_minibatches": 2, "model": {"hidden_sizes": [8]}}
    config = config_from_dict(
        {"name": "tests.trainers.small_worlds:Narrowing", "trainer": trainer, "policy": {"left": entry, "right": entry}}
    )
    made = Trainer(config)
    made.collector.collect()
    learner = made.algorithms["left"]
    batch = batches_of(made, "left")["left"]
    _, diagnostics = learner.losses(batch)
    assert diagnostics["approx_kl"].abs() < 1e-6
    for _ in range(25):
        for name in made.algorithms:
            made.algorithms[name].update(batches_of(made, name)[name], made.generator)
        made.collector.collect()
    rewards = made.world["rollout_rewards"]
    # choice 0 is allowed in 4 of 5 timesteps for agents 0 and 1... counted from the masks themselves
    allowed = torch.cat(
        [made.collector.shared(Rollout).trajectories(g).action_masks[..., 0] for g in ("left", "right")], 2
    )
    assert (rewards >= 0).all()
    assert rewards.mean() > 0.9 * allowed.float().mean()
