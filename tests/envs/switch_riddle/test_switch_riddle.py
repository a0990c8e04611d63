"""The switch riddle beside its rules written out in Python; who comes next is taken from the world."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.packaged import packaged

pytestmark = pytest.mark.cpu_backend

SWITCH, SAY = 1, 2


@pytest.mark.parametrize("prisoners", [3, 5])
def test_games_follow_the_rules(prisoners: int) -> None:
    envs, days = 200, 4 * prisoners - 6
    world = packaged("switch_riddle", envs, device="cpu", seed=2, prisoners=prisoners)
    world.reset()
    view, random = world.data.numpy, np.random.default_rng(4)
    light, been, day = np.zeros(envs, bool), np.zeros((envs, prisoners), bool), np.zeros(envs, int)
    every, ended_late, paid = np.arange(envs), 0, set[float]()
    for _ in range(60):
        room = view("room").copy()
        seen = np.zeros((envs, prisoners, 2), bool)
        seen[every, room, 0], seen[every, room, 1] = True, light
        assert (view("observations") == seen).all() and (view("light") == light).all() and (view("been") == been).all()
        actions = random.choice(3, (envs, prisoners), p=[0.5, 0.4, 0.1])
        world["actions"] = torch.from_numpy(actions[:, :, None].astype(np.int32))
        world.step()
        chosen, day = actions[every, room], day + 1
        been[every, room] = True
        earned = np.where(chosen == SAY, np.where(been.all(1), 1.0, -1.0), 0.0)
        assert (view("rewards") == earned[:, None]).all()
        ended = (chosen == SAY) | (day >= days)
        assert (view("terminated") == ended).all() and not view("truncated").any()
        ended_late += int((ended & (chosen != SAY)).sum())
        paid |= set(earned.tolist())
        light = np.where(ended, False, light != (chosen == SWITCH))
        been[ended], day[ended] = False, 0
    assert paid == {-1.0, 0.0, 1.0} and ended_late


def test_who_knows_all_earns_as_often_as_all_come() -> None:
    envs = 20_000
    world = packaged("switch_riddle", envs, device="cpu", seed=6)
    world.reset()
    view, earned, open_ = world.data.numpy, np.zeros(envs), np.ones(envs, bool)
    for _ in range(6):
        been = view("been").copy()
        been[np.arange(envs), view("room")] = True
        world["actions"] = (
            torch.from_numpy(np.where(been.all(1), SAY, 0).astype(np.int32)).reshape(-1, 1, 1).repeat(1, 3, 1)
        )
        world.step()
        earned += np.where(open_, view("rewards")[:, 0], 0.0)
        open_ &= ~view("terminated")
    expected = 1 - 3 * (2 / 3) ** 6 + 3 * (1 / 3) ** 6
    assert abs(earned.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / envs)
