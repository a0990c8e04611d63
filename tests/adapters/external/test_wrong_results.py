"""Wrong results of one env among several: each library's path finds the same, and names the env."""

from __future__ import annotations

from threading import Thread
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from tests.adapters.external.wrong import WRONG, Batch, Single, function
from warpworld import World
from warpworld.adapters.external.calls import checked_envs
from warpworld.adapters.external.calls.checked_env import CheckedEnv
from warpworld.adapters.external.pool_envs import PoolEnvs
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError

pytestmark = pytest.mark.cpu_backend

MODULE = "tests.adapters.external.wrong"
FINITE = "expected a finite number that float32 holds"
IN_BYTES = (
    "observation['bytes'], whose space is Box(0, 255, (2,), uint8), has 0.5, expected whole numbers from 0 to 255"
)
IN_CHOICE = "observation['choice'], whose space is Discrete(3), has 7, expected whole numbers from 0 to 2"

# Of single envs; {reward} and the like stand for names that a batch or an agent has in their place.
MESSAGES = {
    "reward None": "step(): {reward} is None (NoneType), expected one number",
    "reward NaN": f"step(): {{reward}} is nan, {FINITE}",
    "end in words": "step(): {terminated} is 'no' (str), expected True or False",
    "end 2": "step(): {truncated} is 2 (int), expected True or False",
    "shape": "step(): observation['bytes'] is uint8 of shape (3,), expected numbers of shape (2,), as its space "
    "Box(0, 255, (2,), uint8) has",
    "fraction": f"step(): {IN_BYTES}. Correct the environment or its space",
    "choice": f"step(): {IN_CHOICE}. Correct the environment or its space",
    "key": "step(): observation has 'choice', expected 'bytes', as its space has",
}
SINGLE = {"reward": "reward", "terminated": "terminated", "truncated": "truncated"}
AGENT = {"reward": "rewards['a_1']", "terminated": "terminations['a_1']", "truncated": "truncations['a_1']"}


def message(library: str, name: str = "", **options: Any) -> str:
    world = World(get_environment("external")(library=library, id=name, options=options), 3, "cpu", 0)
    try:
        world.reset()
        with pytest.raises(DeclarationError) as caught:
            world.step()
    finally:
        world.close()
    return str(caught.value)


@pytest.fixture(autouse=True)
def registered() -> Any:
    """An id of Gymnasium."""
    gymnasium.register("WrongOne-v0", entry_point=Single)
    yield
    gymnasium.registry.pop("WrongOne-v0")


@pytest.mark.long
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("result", [result for result in WRONG if result != "key"])  # which Gymnasium itself refuses
def test_of_an_id_of_gymnasium(result: str, mode: str) -> None:
    found = message("gymnasium", "WrongOne-v0", result=result, vectorization_mode=mode)
    assert found == f"external: gymnasium 'WrongOne-v0': env 1: {MESSAGES[result].format(**SINGLE)}"


@pytest.mark.long
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("result", WRONG)
def test_of_a_function(result: str, mode: str) -> None:
    found = message(f"{MODULE}:function", result=result, mode=mode)
    assert found == f"external: {MODULE}:function: env 1: {MESSAGES[result].format(**SINGLE)}"


def test_a_function_may_ask_its_envs() -> None:
    assert "env 1: step(): observation['bytes']" in message(f"{MODULE}:asking")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_attributes_of_checked_envs_are_the_envs_own(mode: str) -> None:
    with checked_envs("external: own", "agent"):
        envs = function(2, "reward None", mode)
    try:
        # _shape is a name of the check's own, too; new names may be added, as without it
        for name, values in {"speed": (5, 6), "_shape": (7, 8), "purpose": ("a", "b"), "added": (1, 2)}.items():
            envs.set_attr(name, list(values))
            assert envs.get_attr(name) == values
        assert envs.call("own_attributes") == ((5, 7, "a", 1), (6, 8, "b", 2))
    finally:
        envs.close()


def test_an_attribute_that_is_set_on_a_checked_env() -> None:
    with checked_envs("external: own", "agent"):
        envs = function(1, "reward None", "sync")
    env = envs.envs[0]  # type: ignore[attr-defined]
    env.speed = 5
    assert (env.unwrapped.speed, env.speed) == (5, 5)
    envs.close()


def test_envs_of_other_threads_are_not_checked() -> None:
    made: list[Any] = []
    other = Thread(target=lambda: made.append(function(1, "reward None", "sync")))
    with checked_envs("external: own", "agent"):
        other.start()
        other.join()
        made.append(function(1, "reward None", "sync"))
    assert [isinstance(envs.envs[0], CheckedEnv) for envs in made] == [False, True]


def test_only_envs_of_worlds_are_checked() -> None:
    kinds = SyncVectorEnv, AsyncVectorEnv
    before = [kind.__init__ for kind in kinds]
    message(f"{MODULE}:function", result="reward None", mode="sync")
    with pytest.raises(DeclarationError, match="no such mode"):
        World(get_environment("external")(library=f"{MODULE}:failing"), 1, "cpu")
    assert [kind.__init__ for kind in kinds] == before


@pytest.mark.parametrize("result", WRONG)
def test_of_parallel_agents(result: str) -> None:
    pytest.importorskip("pettingzoo")
    found = message("pettingzoo", f"{MODULE}_parallel", result=result)
    is_seen = "observation" in MESSAGES[result]
    owner = "env 1, agent 'a_1'" if is_seen else "env 1"
    assert found == f"external: pettingzoo '{MODULE}_parallel': {owner}: {MESSAGES[result].format(**AGENT)}"


@pytest.mark.parametrize("result", WRONG)
def test_of_agents_that_take_turns(result: str) -> None:
    pytest.importorskip("pettingzoo")
    found = message("pettingzoo", f"{MODULE}_turns", result=result)
    text = MESSAGES[result].format(**AGENT)
    is_seen = "observation" in text
    text = text.replace("step()", "observe()" if is_seen else "after step()")
    owner = "env 1, agent 'a_1'" if is_seen else "env 1"
    assert found == f"external: pettingzoo '{MODULE}_turns': {owner}: {text}"


BATCHES = {
    "reward NaN": f"env 1: step(): reward is nan, {FINITE}",
    "end 2": "env 1: step(): truncations is 2 (int), expected True or False",
    "fraction": f"env 1: step(): {IN_BYTES}. Correct the environment or its space",
    "choice": f"env 1: step(): {IN_CHOICE}. Correct the environment or its space",
    "reward None": "env 1: step(): reward is None (NoneType), expected one number",
    "end in words": "step(): terminations are <U5 of shape (3,), expected one number for each env, (3,)",
}


@pytest.mark.parametrize("result", BATCHES)
def test_of_a_vector_environment(result: str) -> None:
    assert message(f"{MODULE}:batch", result=result) == f"external: {MODULE}:batch: {BATCHES[result]}"


@pytest.mark.parametrize("result", BATCHES)
def test_of_a_pool(result: str) -> None:
    envs = PoolEnvs(Batch(3, result), 3, "external: envpool 'Own-v0'")
    envs.reset(0)
    with pytest.raises(DeclarationError) as caught:
        envs.step({"agent": np.zeros((3, 1, 1), np.int32)})
    assert str(caught.value) == f"external: envpool 'Own-v0': {BATCHES[result]}"
