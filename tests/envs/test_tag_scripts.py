"""The scripts that come with both Tags."""

from __future__ import annotations

import math

import pytest
import torch

from tests.packaged import packaged
from tests.scripts import script_outputs
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.players import Scripted
from warpworld.world import World


def logits(world: World, group: str) -> torch.Tensor:
    return script_outputs(world, "greedy", group)


def test_on_the_grid_taggers_go_for_the_runner_and_the_runner_flees() -> None:
    world = packaged("tag_gridworld", 2, num_taggers=3, grid_length=10)
    world.reset()
    world["loc_x"] = torch.tensor([[2, 5, 9, 5], [0, 0, 0, 0]], dtype=torch.int32)
    world["loc_y"] = torch.tensor([[4, 8, 4, 4], [5, 5, 5, 0]], dtype=torch.int32)
    probabilities = logits(world, "tagger")[0].softmax(-1)
    assert probabilities.argmax(-1).tolist() == [1, 4, 2]  # x+1, y-1, x-1
    assert probabilities.amax(-1).min() > 0.999
    # taggers are 3, 4 and 4 steps away: only y-1 leads away from all of them
    fleeing = logits(world, "runner")[0, 0].softmax(-1)
    assert fleeing.tolist() == pytest.approx([0, 0, 0, 0, 1], abs=1e-6)
    # in the corner a wall stops two moves; the way along x leads away from those at (0, 5)
    assert logits(world, "runner")[1, 0].argmax().item() == 1


def test_in_the_square_all_steer_and_run_at_speed() -> None:
    world = packaged(
        "tag_continuous", 1, num_taggers=1, num_runners=2, grid_length=10.0, num_turn_levels=5, max_turn=2.0,
        min_turn=-2.0, num_acceleration_levels=3,
    )  # fmt: skip
    world.reset()
    world["loc_x"] = torch.tensor([[5.0, 9.0, 5.0]])
    world["loc_y"] = torch.tensor([[5.0, 5.0, 6.0]])
    world["direction"] = torch.tensor([[math.pi / 2 - 1.0, math.pi, 3 * math.pi / 2]])
    chosen = logits(world, "tagger")[0].split([4, 6], -1)
    assert [head.argmax(-1).tolist() for head in chosen] == [[3], [4]]  # a left turn of 1 leads to the runner above
    chosen = logits(world, "runner")[0].split([4, 6], -1)
    assert [head.argmax(-1).tolist() for head in chosen] == [[3, 3], [1, 1]]  # all around: the sharpest turn, both ways
    world["still_in_the_game"] = torch.tensor([[1, 1, 0]], dtype=torch.int32)
    assert logits(world, "tagger")[0].split([4, 6], -1)[1].argmax(-1).tolist() == [2]  # -1, to the one that plays on


def tags(script: str | None, steps: int) -> float:
    """What taggers earn against random runners, a step."""
    world = packaged("tag_gridworld", 64, num_taggers=3, grid_length=10, seed=1)
    player = Scripted(script, world.environment.scripts()[script]) if script else None
    actors = [Actor(world, "tagger", player), Actor(world, "runner")]
    world.reset()
    total = 0.0
    for _ in range(steps):
        for actor in actors:
            actor.act()
        world.step()
        total += world["rewards"][:, 0].sum().item()
    return total / steps


def test_greedy_taggers_catch_more_than_random_ones() -> None:
    assert tags("greedy", 200) > 3 * tags(None, 200)
