"""Actions of several parts, in a Dict or Tuple, through each protocol."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Tuple
from gymnasium.utils.env_checker import check_env

from tests.hybrid import ACTION, Hybrid, HybridPair, MaskedHybrid
from warpworld import Environment, Group, World, masked_phase
from warpworld.adapters.pool import Pool
from warpworld.adapters.single import Env
from warpworld.adapters.vector import VectorEnv
from warpworld.errors import DeclarationError, StoreError

AN_ACTION = {"move": 2, "arm": {"grip": np.array([1, 0], np.int8), "reach": np.array([0.5, 0.25], np.float32)}}


class InTurn(Hybrid):
    """Agents whose action is a tuple, without a kernel."""

    source = None

    def groups(self) -> Any:
        return [Group("arm", 2, Box(-1.0, 1.0, (4,)), Tuple([Box(-1.0, 1.0, (2,)), Discrete(3)]))]

    def arrays(self) -> Any:
        return []

    def phases(self) -> Any:
        return [self.nothing]

    def resets(self) -> Any:
        return [self.nothing]

    @masked_phase
    def nothing(self, arrays: Any, active: Any) -> None:
        """Do nothing."""


class FromNought(InTurn):
    """One agent whose choices count from 0, as TorchRL's do whatever a space says."""

    def groups(self) -> Any:
        arm = Dict({"reach": Box(-2.0, 2.0, (2,)), "grip": MultiBinary(2)})
        return [Group("arm", 1, Box(-1.0, 1.0, (4,)), Dict({"move": Discrete(3), "arm": arm}))]


def stored(world: World) -> list[Any]:
    return [world["actions_move"].tolist(), world["actions_arm_grip"].tolist(), world["actions_arm_reach"].tolist()]


@pytest.mark.parametrize("environment", [Hybrid(arms=1), Hybrid(), MaskedHybrid(arms=1), InTurn()])
def test_gymnasium_checks_an_env(environment: Environment) -> None:
    env = Env(World(environment, 1, autoreset="disabled"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env, skip_render_check=True)


def test_an_env_takes_a_nested_action() -> None:
    env = Env(World(Hybrid(arms=1), 1, autoreset="disabled"))
    assert env.action_space == ACTION
    env.reset(seed=1)
    env.step(AN_ACTION)
    assert stored(env.world) == [[[[1]]], [[[1, 0]]], [[[0.5, 0.25]]]]  # choices count from 0 in the store


def test_a_vector_env_takes_what_its_space_draws() -> None:
    env = VectorEnv(World(Hybrid(), 3))
    env.reset(seed=1)
    env.action_space.seed(4)
    given = env.action_space.sample()
    env.step(given)
    moves = np.asarray(given["move"])
    assert env.world["actions_move"][..., 0].tolist() == (moves - 1).tolist()
    assert env.world["actions_arm_reach"].tolist() == given["arm"]["reach"].tolist()
    assert env.world["actions_arm_grip"].tolist() == given["arm"]["grip"].tolist()


def test_agents_as_rows() -> None:
    env = VectorEnv(World(Hybrid(), 3), agents="rows")
    assert env.single_action_space == ACTION and env.num_envs == 6
    env.reset(seed=1)
    given = env.action_space.sample()
    env.step(given)
    assert env.world["actions_arm_reach"].reshape(6, 2).tolist() == given["arm"]["reach"].tolist()


def test_a_tuple() -> None:
    env = Env(World(InTurn(), 1, autoreset="disabled"))
    env.reset()
    env.step((np.array([[0.5, -1.0], [0.0, 1.0]], np.float32), np.array([2, 0])))
    assert env.world["actions_0"].tolist() == [[[0.5, -1.0], [0.0, 1.0]]]
    assert env.world["actions_1"].tolist() == [[[2], [0]]]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"move": 1}, "action: 'move', expected a dict of 'arm', 'move'"),
        (3, "action: int, expected a dict of 'arm', 'move'"),
        ({**AN_ACTION, "arm": {"grip": 1}}, "action['arm']: 'grip', expected a dict of 'grip', 'reach'"),
        ({**AN_ACTION, "move": 0.5}, "actions['move']: expected whole numbers, got float64"),
        ({**AN_ACTION, "move": [1, 2]}, "actions['move']: shape (1, 2), expected (1,)"),
        (
            {**AN_ACTION, "move": 4},
            "actions_move: env 0 has 3, expected 0 to 2, counted from 0 where its space counts from 1",
        ),
    ],
)
def test_refused(action: Any, message: str) -> None:
    env = Env(World(Hybrid(arms=1), 1, autoreset="disabled", check_actions=True))
    env.reset(seed=1)
    with pytest.raises(StoreError) as refused:
        env.step(action)
    assert message in str(refused.value)


def test_a_tuple_of_another_length() -> None:
    env = Env(World(InTurn(), 1, autoreset="disabled"))
    env.reset()
    with pytest.raises(StoreError, match=r"action: 1 parts, expected a tuple of 2 parts"):
        env.step((np.zeros((2, 2), np.float32),))


@pytest.mark.long
def test_pettingzoo() -> None:
    pytest.importorskip("pettingzoo")
    from pettingzoo.test import parallel_api_test

    from warpworld.adapters.parallel import ParallelEnv

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parallel_api_test(ParallelEnv(World(Hybrid(), 1, autoreset="disabled")), num_cycles=40)
    env = ParallelEnv(World(MaskedHybrid(), 1, autoreset="disabled"))
    _, infos = env.reset(seed=2)
    mask = infos["arm_1"]["action_mask"]
    assert mask["move"].tolist() == [1, 0, 1] and mask["arm"]["grip"].tolist() == [1, 2]
    assert mask["arm"]["reach"] is None
    env.action_space("arm_1").seed(1)
    drawn = [env.action_space("arm_1").sample(mask=mask) for _ in range(50)]
    assert {int(action["move"]) for action in drawn} == {1, 3}
    env.step({"arm_0": AN_ACTION, "arm_1": drawn[0]})
    assert env.world["actions_move"][0, 1, 0] == drawn[0]["move"] - 1


def test_groups_of_several_kinds() -> None:
    pytest.importorskip("pettingzoo")
    from warpworld.adapters.parallel import ParallelEnv

    env = ParallelEnv(World(HybridPair(), 1, autoreset="disabled"))
    env.reset()
    env.step({"goer_0": 3, "arm_0": AN_ACTION, "arm_1": AN_ACTION})
    assert env.world["actions_goer"].tolist() == [[[3]]]
    assert env.world["actions_arm_arm_reach"].tolist() == [[[0.5, 0.25]] * 2]


def test_dm_env() -> None:
    pytest.importorskip("dm_env")
    from warpworld.adapters.dm import DmEnv

    env = DmEnv(World(Hybrid(arms=1), 1, autoreset="next_step"))
    spec = env.action_spec()
    assert spec["arm"]["reach"].shape == (2,) and spec["move"].minimum == 1
    env.reset()
    env.step(AN_ACTION)
    assert stored(env.world) == [[[[1]]], [[[1, 0]]], [[[0.5, 0.25]]]]
    assert len(DmEnv(World(InTurn(), 1, autoreset="next_step")).action_spec()) == 2


def test_a_pool_takes_actions_in_any_order() -> None:
    pool = Pool(World(Hybrid(arms=1), 3))
    pool.reset()
    given = {"move": np.array([1, 2, 3]), "arm": {"grip": np.zeros((3, 2)), "reach": np.zeros((3, 2), np.float32)}}
    given["arm"]["grip"] = given["arm"]["grip"].astype(np.int8)
    pool.step(given, np.array([2, 0, 1]))
    assert pool.worlds[0]["actions_move"].flatten().tolist() == [1, 2, 0]
    pool.step({**given, "move": np.array([3, 3, 3])}, np.array([0, 1, 2]))
    some = {"move": np.array([1]), "arm": {"grip": np.ones((1, 2), np.int8), "reach": np.ones((1, 2), np.float32)}}
    pool.step(some, np.array([1]))
    assert pool.worlds[0]["actions_move"].flatten().tolist() == [2, 0, 2]


def test_stable_baselines3_has_no_such_policies() -> None:
    pytest.importorskip("stable_baselines3")
    from warpworld.adapters.sb3 import Sb3VecEnv

    with pytest.raises(DeclarationError) as refused:
        Sb3VecEnv(World(Hybrid(), 2))
    assert str(refused.value) == (
        f"api='sb3': group 'arm' acts in {ACTION}, expected a Box, Discrete, MultiDiscrete or MultiBinary: "
        "stable-baselines3 has no policies for a Dict or Tuple of actions; use api='gymnasium'"
    )


@pytest.mark.long
@pytest.mark.cpu_backend
def test_torchrl() -> None:
    envs = pytest.importorskip("torchrl.envs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = Env(World(FromNought(), 1, autoreset="disabled"))
        wrapped = envs.GymWrapper(env)
        envs.check_env_specs(wrapped, seed=0)
        wrapped.rollout(5)
    assert env.world["actions_arm_reach"].any()
