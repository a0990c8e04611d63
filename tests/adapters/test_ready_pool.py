"""EnvPool's protocol by readiness: envs are received as they are ready, each on its trajectory in a single world."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import warpworld
from benchmarks.residents import ResidentCartPole
from tests.adapters import uneven
from tests.adapters.uneven import Uneven
from tests.toys import IDLE, environment
from warpworld import Environment, Kernel, World
from warpworld.adapters.pools import pool
from warpworld.adapters.ready_pool import ReadyPool
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError, KernelError, StoreError
from warpworld.managers import Autoreset

pytestmark = pytest.mark.cpu_backend

STEPS = 30

WORLDS: dict[str, Callable[[], Environment]] = {
    "uneven": Uneven,
    "in vectors": lambda: get_environment("cartpole")(episode_length=9),
    "agents that meet": lambda: get_environment("tag_gridworld")(num_taggers=2, grid_length=5, episode_length=9),
    "a class": lambda: ResidentCartPole(episode_length=9),
    "another library": lambda: get_environment("external")(
        library="gymnasium", id="CartPole-v1", options={"max_episode_steps": 9}
    ),
}


def made(toy: Environment, num_envs: int, workers: int = 2, autoreset: Autoreset = "next_step") -> World:
    return World(toy, num_envs, "cpu", seed=7, num_workers=workers, autoreset=autoreset, check_actions=True)


def ready(toy: Environment, num_envs: int, batch_size: int | None = None, **settings: Any) -> Any:
    return pool(made(toy, num_envs, **settings), batch_size=batch_size, order="ready")


def of_world(world: World, env: int) -> tuple[Any, ...]:
    """What EnvPool's protocol shows of an env."""
    seen = world["observations"][env].numpy()
    rewards = world["rewards"][env].numpy()
    is_one = world.num_agents == 1
    return (
        (seen[0] if is_one else seen).tolist(),
        float(np.add.reduce(rewards) / np.float32(len(rewards))),
        *(bool(world[name][env]) for name in ("terminated", "truncated")),
        int(world["timestep"][env]),
    )


def expected(world: World, actions: np.ndarray) -> list[list[tuple[Any, ...]]]:
    """What each env of a world shows after its reset and after each step; actions (steps, envs, ...)."""
    world.reset()
    courses = [[of_world(world, env)] for env in range(world.num_envs)]
    for row in actions:
        world["actions"] = torch.from_numpy(row).reshape(world["actions"].shape)
        world.step()
        for env, course in enumerate(courses):
            course.append(of_world(world, env))
    return courses


def received(envs: ReadyPool, actions: np.ndarray) -> list[list[tuple[Any, ...]]]:
    """The same, of a pool whose envs are sent as soon as they are received."""
    courses: list[list[tuple[Any, ...]]] = [[] for _ in range(envs.num_envs)]
    envs.async_reset()
    under_way = envs.num_envs
    while under_way >= envs.batch_size:
        seen, rewards, terminated, truncated, infos = envs.recv()
        for row, env in enumerate(infos["env_id"].tolist()):
            ends = bool(terminated[row]), bool(truncated[row])
            courses[env].append((seen[row].tolist(), float(rewards[row]), *ends, int(infos["elapsed_step"][row])))
        again = np.array([env for env in infos["env_id"].tolist() if len(courses[env]) <= len(actions)], np.int32)
        under_way += len(again) - envs.batch_size
        if len(again):
            envs.send(np.stack([actions[len(courses[env]) - 1, env] for env in again.tolist()]), again)
    return courses


@pytest.mark.long
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize(("batch_size", "workers", "autoreset"), [(3, 3, "next_step"), (7, 1, "same_step")])
def test_an_envs_course_does_not_depend_on_the_order(
    name: str, batch_size: int, workers: int, autoreset: Autoreset
) -> None:
    if name == "another library":
        autoreset = "same_step"  # the only way in which its phase in Python steps
    with made(WORLDS[name](), 7, autoreset=autoreset) as world:
        shape = (STEPS, 7, *((world.num_agents,) if world.num_agents > 1 else ()))
        actions = np.random.default_rng(1).integers(0, 2, shape).astype(np.int32)
        courses = expected(world, actions)
    envs = ready(WORLDS[name](), 7, batch_size, workers=workers, autoreset=autoreset)
    found = received(envs, actions)
    envs.close()
    assert [len(course) for course in found].count(STEPS + 1) > 7 - batch_size  # too few for a batch were left
    for course, other in zip(found, courses, strict=True):
        assert course == other[: len(course)]
    assert sum(row[2] or row[3] for course in courses for row in course) > 7  # episodes ended on the way


# ---- an env that takes long ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("workers", [1, 2])
def test_an_env_that_takes_long_holds_no_other_back(workers: int) -> None:
    envs = ready(Uneven(), 4, 2, workers=workers)
    envs.async_reset()
    envs.worlds[0]["gate"] = torch.tensor([0, 1, 1, 1], dtype=torch.int32)
    assert [envs.recv()[-1]["env_id"].tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    envs.send(np.zeros(4, int), np.arange(4))
    steps = np.zeros(4, int)
    for _ in range(20):
        ids = envs.recv()[-1]["env_id"]
        assert 0 not in ids
        steps[ids] += 1
        envs.send(np.zeros(2, int), ids)
    assert steps.sum() == 40 and envs.worlds[0]["timestep"][0] == 1  # which began
    envs.worlds[0]["gate"] = 1
    while 0 not in (ids := envs.recv()[-1]["env_id"]):
        envs.send(np.zeros(2, int), ids)
    envs.close()


def test_an_env_of_another_library_that_takes_long_holds_no_other_back() -> None:
    guest = get_environment("external")(library="tests.adapters.uneven:gated")
    for env, gate in enumerate(uneven.gates):
        gate.clear() if env == 2 else gate.set()
    envs = pool(World(guest, 4, "cpu", num_workers=2), batch_size=2, order="ready")
    envs.async_reset()
    for _ in range(2):
        ids = envs.recv()[-1]["env_id"]
        envs.send(np.zeros(2, int), ids)
    for _ in range(20):
        seen, *_, infos = envs.recv()
        assert 2 not in infos["env_id"]
        envs.send(np.zeros(2, int), infos["env_id"])
    uneven.gates[2].set()
    while 2 not in infos["env_id"]:
        seen, *_, infos = envs.recv()
        envs.send(np.zeros(2, int), infos["env_id"])
    assert seen[infos["env_id"].tolist().index(2)] == 1  # its first step
    envs.close()


def test_two_pools_take_turns() -> None:
    pools = [ready(Uneven(), 5, 2) for _ in range(2)]
    actions = np.random.default_rng(2).integers(0, 2, (9, 5)).astype(np.int32)
    with made(Uneven(), 5) as world:
        courses = expected(world, actions)
    for envs in pools:
        envs.async_reset()
    taken: list[list[list[Any]]] = [[[] for _ in range(5)] for _ in pools]
    for _ in range(12):
        for envs, found in zip(pools, taken, strict=True):
            seen, *_, infos = envs.recv()
            for row, env in enumerate(infos["env_id"].tolist()):
                found[env].append(seen[row].tolist())
            envs.send(
                np.array([actions[len(found[env]) - 1, env] for env in infos["env_id"].tolist()]), infos["env_id"]
            )
    for found in taken:
        assert sum(map(len, found)) == 24
        for course, other in zip(found, courses, strict=True):
            assert course == [row[0] for row in other[: len(course)]]
    for envs in pools:
        envs.close()


# ---- what is wrong ---------------------------------------------------------------------------------------------------
def test_a_fault_is_received() -> None:
    envs = ready(Uneven(), 3)
    envs.reset()
    envs.send(np.array([0, 2, 0]))
    with pytest.raises(
        KernelError, match=r"uneven.cu:\d+: kernel 'step', env 1, agent 0: assertion failed: action != 2"
    ):
        envs.recv()
    assert sorted(envs.recv()[-1]["env_id"].tolist()) == [0, 1, 2]
    assert sorted(envs.step(np.zeros(3, int))[-1]["env_id"].tolist()) == [0, 1, 2]
    envs.send(np.array([2, 0, 0]))
    with pytest.raises(KernelError, match="env 0, agent 0"):
        envs.async_reset()
    assert envs.reset()[1]["elapsed_step"].tolist() == [0, 0, 0]


def test_a_fault_of_another_librarys_env_is_received() -> None:
    for gate in uneven.gates:
        gate.set()
    guest = get_environment("external")(library="tests.adapters.uneven:gated")
    envs = pool(World(guest, 3, "cpu"), order="ready")
    envs.reset()
    envs.send(np.array([0, 2, 0]))
    with pytest.raises(DeclarationError, match="ValueError: not that way"):
        envs.recv()
    assert sorted(envs.recv()[-1]["env_id"].tolist()) == [0, 1, 2]
    assert sorted(envs.step(np.zeros(3, int))[-1]["env_id"].tolist()) == [0, 1, 2]
    envs.close()


@pytest.mark.heavy
@pytest.mark.long
def test_ctrl_c_and_forks() -> None:
    command = [sys.executable, "-m", "tests.adapters.interrupted_pool"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=uneven.MINUTE).stdout
    assert printed.splitlines() == ["interrupted", "[0, 1, 2]", "[0, 1, 2]", "child [0, 1, 2]"]


def test_an_illegal_action_is_refused_where_it_is_sent() -> None:
    envs = ready(Uneven(), 4, 2)
    envs.async_reset()
    ids = envs.recv()[-1]["env_id"]
    with pytest.raises(StoreError) as caught:
        envs.send(np.array([0, 3]), ids)
    assert str(caught.value) == "actions: env 1 has 3, expected 0 to 2"
    others = envs.recv()[-1]["env_id"]
    envs.send(np.zeros(2, int), others)  # that of env 1 is no concern of theirs
    envs.send(np.zeros(2, int), ids)
    assert sorted(envs.recv()[-1]["elapsed_step"].tolist()) == [1, 1]


@pytest.mark.parametrize("batch_size", [0, 17, 2.0, -1])
def test_batch_sizes(batch_size: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        warpworld.make("cartpole", 16, device="cpu", api="pool", order="ready", batch_size=batch_size)
    assert str(caught.value) == f"batch_size={batch_size}: expected 1 to num_envs=16"


def test_orders() -> None:
    with pytest.raises(DeclarationError) as caught:
        warpworld.make("cartpole", 16, device="cpu", api="pool", order="readi")
    assert str(caught.value) == "order='readi': expected 'sent' or 'ready'. Did you mean 'ready'?"


def test_no_readiness_in_an_exact_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: True)
    with pytest.raises(DeclarationError) as caught:
        ready(Uneven(), 4, 2)
    assert str(caught.value) == (
        "order='ready': timing decides which envs a batch holds, and torch.use_deterministic_algorithms(True) asks for "
        "an exact run; use order='sent'"
    )


def test_no_copies() -> None:
    envs = ready(Uneven(), 4, 2)
    with pytest.raises(StoreError) as caught:
        copy.deepcopy(envs)
    assert str(caught.value) == (
        "order='ready': timing decides which envs a batch holds, so no copy continues as this pool does; use "
        "order='sent'"
    )


def test_kernels_that_touch_other_envs(tmp_path: Path) -> None:
    (tmp_path / "idle.cu").write_text(IDLE)
    with pytest.raises(DeclarationError) as caught:
        ready(environment(tmp_path / "idle.cu", phases=[Kernel("step", own_env_only=False)]), 2, autoreset="same_step")
    assert str(caught.value) == (
        "Toy: order='ready' steps each env by itself, and kernel 'step' touches other envs (own_env_only=False); use "
        "order='sent'"
    )


def test_order_of_calls() -> None:
    envs = ready(Uneven(), 6, 2)
    nothing = "recv(): 0 envs are under way, and a batch has 2; call async_reset() or send() first"
    sent = {
        "send(): env 0 is under way; recv() it first": np.array([0, 4]),
        "send(): env_id is [4, 4], expected different whole numbers": np.array([4, 4]),
        "send(): env_id is [0.5], expected different whole numbers": np.array([0.5]),
        "send(): env_id is [4, 6], expected envs of 0 to 5": np.array([4, 6]),
        "send(): env_id is missing; name the envs that the actions are for": None,
    }
    with pytest.raises(StoreError) as caught:
        envs.recv()
    assert str(caught.value) == nothing
    envs.async_reset()
    for message, ids in sent.items():
        with pytest.raises(StoreError) as caught:
            envs.send(np.zeros(2, int), ids)
        assert str(caught.value) == message
    for _ in range(3):
        envs.recv()
    with pytest.raises(StoreError) as caught:
        envs.recv()
    assert str(caught.value) == nothing
    with pytest.raises(StoreError) as caught:
        envs.send(np.zeros(3, int), np.array([0, 1]))
    assert str(caught.value) == "actions: shape (3,), expected (2,)"
    with pytest.raises(StoreError) as caught:
        envs.reset(np.array([1]))
    assert str(caught.value) == "reset(): env_id needs order='sent'; leave env_id out"
    envs.close()
    envs.close()
    for call in (envs.async_reset, lambda: envs.send(np.zeros(2, int), np.array([0, 1])), envs.recv):
        with pytest.raises(StoreError, match=r"^the pool is closed$"):
            call()


@pytest.mark.parametrize("name", ["uneven", "another library"])
def test_some_envs_in_one_call(name: str) -> None:
    envs = ready(WORLDS[name](), 5, autoreset="same_step")
    envs.reset()
    *_, infos = envs.step(np.zeros(2, int), np.array([1, 3]))
    assert sorted(infos["env_id"].tolist()) == [1, 3] and infos["elapsed_step"].tolist() == [1, 1]
    envs.send(np.zeros(0, int), np.zeros(0, int))  # nothing to do
    *_, infos = envs.step(np.zeros(5, int))
    assert sorted(infos["env_id"].tolist()) == list(range(5))
    envs.close()
