"""Tag in a square in WarpDrive's words, held against the float64 rules of the built-in one; and the dummy kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from tests.cuda.warpdrive.warpdrive_worlds import Continuous, Votes
from tests.envs.tag_continuous import tag_continuous_oracle as oracle
from warpworld import World
from warpworld.envs.tag_continuous.tag_continuous import TagContinuous

CROWDED: dict[str, Any] = dict(num_taggers=3, num_runners=9, grid_length=6.0, tagging_distance=0.1, episode_length=25)


def rules(env: Continuous) -> TagContinuous.Params:
    """The same game, as the built-in environment has it."""
    p = env.params
    shared = {name: getattr(p, name) for name in vars(p) if name in TagContinuous.Params.__dataclass_fields__}
    return TagContinuous.Params(**shared)


def state_of(world: World) -> oracle.State:
    names = ("loc_x", "loc_y", "speed", "direction", "acceleration", "still_in_the_game")
    *numbers, playing = (world.data.numpy(name).astype(float) for name in names)
    return oracle.State(*numbers, playing != 0)


@pytest.mark.parametrize("exits", [True, False])
@pytest.mark.parametrize("full", [True, False])
def test_the_rules(full: bool, exits: bool) -> None:
    env = Continuous(use_full_observation=full, runner_exits_game_after_tagged=exits, **CROWDED)
    params, num_envs = rules(env), 24
    world = World(env, num_envs, device="cpu")
    world.request("final_observations")
    world.reset()
    drawn = np.random.default_rng(1)
    accelerations, turns = (world.data.numpy(f"{name}_actions").astype(float) for name in ("acceleration", "turn"))
    tags = ends = 0
    compared = []
    for _ in range(60):
        actions = drawn.integers(0, 5, (num_envs, env.num_agents, 2)).astype(np.int32)
        world["actions"][:] = torch.from_numpy(actions)
        before, time = state_of(world), world.data.numpy("timestep") + 1
        world.step()
        moved = oracle.move(params, before, accelerations[actions[..., 0]], turns[actions[..., 1]])
        outcome = oracle.judge(params, moved.state, time)
        edge = params.edge_hit_penalty * moved.outside
        sure = ~(outcome.close | moved.close_outside)
        np.testing.assert_allclose(world.data.numpy("rewards")[sure], (outcome.rewards + edge)[sure], atol=1e-5)
        ended = (world["terminated"] | world["truncated"]).cpu().numpy()
        if sure.all():
            np.testing.assert_array_equal(ended, outcome.terminated | outcome.truncated)
            playing = world.data.numpy("still_in_the_game") != 0
            np.testing.assert_array_equal(playing[~ended], outcome.in_game[~ended])
            np.testing.assert_array_equal(world.data.numpy("num_runners")[~ended], outcome.num_runners[~ended])
        seen, close = oracle.observe(params, moved.state, time)
        got = np.where(ended[:, None, None], world.data.numpy("final_observations"), world.data.numpy("observations"))
        heading = moved.state.direction  # of almost a whole turn: it may be one of almost none
        wraps = ((heading != 0) & (np.abs(heading - math.pi) > math.pi - 1e-4)) | moved.close_acceleration
        sure = ~(close | wraps.any(1, keepdims=True))
        np.testing.assert_allclose(got[sure], seen[sure], atol=1e-4)
        compared.append(sure.mean())
        tags += int((outcome.rewards[:, : params.num_taggers] > 5).sum())
        ends += int(ended.sum())
    assert tags > 20 and ends > 20 and np.mean(compared) > 0.8


def test_agents_are_put_in_groups_once() -> None:
    env = Continuous()
    p = env.params
    drawn = np.random.RandomState(p.start_seed)
    taggers = drawn.choice(env.num_agents, p.num_taggers, replace=False)
    x = (p.grid_length * drawn.rand(env.num_agents)).astype(np.float32)
    world = World(env, 2, device="cpu")
    world.reset()
    assert not np.array_equal(np.sort(taggers), np.arange(p.num_taggers))  # else nothing would be permuted
    assert world["agent_types"].tolist() == [1, 1, 0, 0, 0, 0]
    assert sorted(world["loc_x"][1, :2].tolist()) == sorted(x[taggers].tolist())
    assert sorted(world["loc_x"][1, 2:].tolist()) == sorted(np.delete(x, taggers).tolist())


class TestVotes:
    ACTIONS = ((1, 0, 2, 0, 0), (1, 1, 1, 0, 2))

    def stepped(self, steps: int, **params: int) -> World:
        world = World(Votes(**params), 2, device="cpu")
        world.reset()
        world["actions"] = torch.tensor(self.ACTIONS, dtype=torch.int32)[..., None]
        for _ in range(steps):
            world.step()
        return world

    @pytest.mark.parametrize("steps", [1, 2])
    def test_by_hand(self, steps: int) -> None:
        world = self.stepped(steps)
        assert world["votes"].tolist() == (steps * np.array([[1, 0, 1, 0, 0], [1, 1, 1, 0, 1]])).tolist()
        np.testing.assert_allclose(world.data.numpy("share"), [[0.8] * 5, [1.6] * 5], rtol=1e-6)
        assert world["done"].tolist() == [0, 1]

    def test_the_last_step(self) -> None:
        assert self.stepped(1, step=2)["done"].tolist() == [1, 1]
