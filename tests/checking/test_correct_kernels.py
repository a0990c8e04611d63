"""Nothing is found in what is correct: the environments that come with warpworld, and kernels of other tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from tests.cases import seldom
from tests.toys import agents, environment
from warpworld import Array, Environment, Group, World
from warpworld.checking import Report, check
from warpworld.environment import get_environment, packaged_names
from warpworld.envs.deathmatch.deathmatch import Deathmatch
from warpworld.eyes.plans import box, write_plan
from warpworld.world.random_actions import RandomActions

pytestmark = pytest.mark.cpu_backend

KERNELS = Path(__file__).parent.parent / "cuda"


NAMES = packaged_names()

OTHER_PARAMS = [
    pytest.param("cartpole", dict(episode_length=20), marks=seldom),
    pytest.param("pendulum", dict(episode_length=20), marks=seldom),
    ("recall", dict(cues=2, delay=0)),
    ("tag_gridworld", dict(num_taggers=3, grid_length=3, episode_length=9, use_full_observation=False)),
    pytest.param("tag_gridworld", dict(num_taggers=40, episode_length=9, start="fixed"), marks=seldom),
    ("tag_continuous", dict(num_taggers=2, num_runners=3, episode_length=9, use_full_observation=False)),
    ("tag_continuous", dict(num_runners=40, use_full_observation=False, num_other_agents_observed=12)),
    pytest.param(
        "tag_continuous", dict(num_runners=4, episode_length=9, observe_own_state=True, start="fixed"), marks=seldom
    ),
    pytest.param("tag_continuous", dict(num_taggers=5, episode_length=9, tagging_distance=0.3), marks=seldom),
]


def assert_clean(report: Report) -> None:
    assert not report.findings, str(report)
    assert not report.stopped


def with_its_mark(name: str) -> Any:
    """A case of an environment.

    Those with eyes or with many agents take longest to check: a push checks one, and two with eyes in a small room
    below.
    """
    slow = ("deathmatch", "explorer", "waypoint")
    heavy = ("battle", "epidemic", "point_goal", "skirmish", "tag_continuous")
    marks = [pytest.mark.slow if name in slow else pytest.mark.heavy if name in heavy else pytest.mark.long]
    is_kept = name not in (*slow, *heavy) or name == "tag_continuous"
    return pytest.param(name, marks=marks if is_kept else [*marks, seldom])


@pytest.mark.parametrize("name", [with_its_mark(name) for name in NAMES])
def test_an_environment_is_clean(name: str) -> None:
    assert_clean(check(name))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "params"), OTHER_PARAMS)
def test_an_environment_is_clean_with_other_parameters(name: str, params: dict[str, Any]) -> None:
    assert_clean(check(name, num_envs=4, steps=40, seed=1, **params))


# ---- what is rare under random actions, in worlds in which it is not ------------------------------------------------
TINY: dict[str, Any] = {"res": 16, "subsample": 4}
FIGHT: dict[str, Any] = dict(TINY, players=2, rivals=2, fire_cone=80.0, cooldown=1, damage=0.5)
MEGASTEP: dict[str, Any] = dict(TINY, players=3, rivals=3, fov=170.0, megastep_rules=True)
MENDS = "bounds,reward,aim,credit,spawns"
EVENTFUL = [
    pytest.param(  # a push checks it with its agents in one room, below
        "deathmatch",
        dict(FIGHT, kills_to_win=2, players=1, rivals=1),
        {"agent_terminated", "terminated"},
        marks=seldom,
    ),
    pytest.param("deathmatch", dict(MEGASTEP, episode_length=60), {"agent_terminated", "truncated"}, marks=seldom),
    ("explorer", dict(TINY, fov=20.0, patience=4, episode_length=20), {"terminated", "truncated"}),
    pytest.param("waypoint", dict(TINY, goal_radius=0.3, episode_length=20), {"terminated", "truncated"}, marks=seldom),
]


class Together(Deathmatch):
    """Of half the episodes all agents wake up in one room, also after a death; and aiming is paid for."""

    def arrays(self) -> Sequence[Array]:
        changed = {"near_spawn": 0.5, "shaping": 0.5}
        return [dataclasses.replace(x, initial=changed.get(x.name, x.initial)) for x in super().arrays()]


MORE_EVENTFUL = [
    (Together, dict(FIGHT, kills_to_win=2, players=1, rivals=1), {"agent_terminated", "terminated", "together"}),
    pytest.param(
        "deathmatch", dict(FIGHT, kills_to_win=0, episode_length=30), {"agent_terminated", "truncated"}, marks=seldom
    ),
    ("deathmatch", dict(MEGASTEP, fire_cone=80.0, megastep_mends=MENDS), {"agent_terminated"}),
    pytest.param(
        "point_goal", dict(TINY, goal_radius=0.3, episode_length=20), {"terminated", "truncated"}, marks=seldom
    ),
]
EVENTFUL_STEPS = 80


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A room of 1.2 m, all of which is soon seen, and in which nobody is far away."""
    return str(write_plan(box(1.2), tmp_path_factory.mktemp("plans") / "tiny.json"))


def check_eventful(tiny: str, which: str | type[Environment], params: dict[str, Any], events: set[str]) -> None:
    """What is said to happen does, several times, under the actions of the check; and the check finds nothing."""
    environment_class = get_environment(which) if isinstance(which, str) else which
    declared, happened = environment_class(**params, plans=tiny), dict.fromkeys(events, 0)
    world = World(declared, 3, device="cpu", seed=2)
    world.reset()
    actions = RandomActions(world, seed=2)
    for _ in range(EVENTFUL_STEPS):
        actions.draw()
        actions.put(world, slice(0, 3))
        world.step()
        for event in events:
            happened[event] += int(world[event].sum())
    assert min(happened.values()) >= 3, happened
    assert_clean(check(declared, num_envs=3, steps=EVENTFUL_STEPS, seed=2))


@pytest.mark.heavy
@pytest.mark.parametrize(("which", "params", "events"), EVENTFUL)
@pytest.mark.long
def test_an_eventful_environment_is_clean(tiny: str, which: str, params: dict[str, Any], events: set[str]) -> None:
    check_eventful(tiny, which, params, events)


@pytest.mark.slow
@pytest.mark.parametrize(("which", "params", "events"), MORE_EVENTFUL)
def test_more_eventful_environments_are_clean(
    tiny: str, which: str | type[Environment], params: dict[str, Any], events: set[str]
) -> None:
    check_eventful(tiny, which, params, events)


# ---- kernels of tests/cuda ------------------------------------------------------------------------------------------
def numbers(size: int) -> list[Array]:
    random = np.random.default_rng(size)
    return [
        Array("x", "float32", initial=random.random(size, dtype=np.float32)),
        Array("whole", "int32", initial=random.integers(-1000, 1000, size)),
    ]


MINGLE = [
    Array("last_rounds", "int32", initial=np.array([0, 6, 3, 6, 1])),
    Array("words", "uint32"),
    Array("sums", "float32"),
]
CASES: list[tuple[str, str, int, list[Array]]] = [
    ("shared.cu", "reverse", 5, [*numbers(5), Array("y", "float32")]),
    ("shared.cu", "reverse_env", 5, [*numbers(5), Array("y", "float32")]),
    ("shared.cu", "collect", 5, [*numbers(5), Array("sums", "int32"), Array("largest", "int32")]),
    ("shared.cu", "hold", 5, [*numbers(5), Array("held", "float64")]),
    ("mingle.cu", "mingle", 5, MINGLE),
    ("workers.cu", "wander", 5, [Array("position", "float32", initial=0), Array("draws", "uint32", initial=0)]),
    (
        "warps.cu",
        "reduce",
        64,
        [*numbers(64), Array("down", "float32", per="env"), Array("across", "float32"), Array("halves", "uint32")],
    ),
    ("warps.cu", "halves", 64, [*numbers(64), Array("out", "int32")]),
    (
        "warps.cu",
        "sections",
        64,
        [*numbers(64), Array("up", "float32"), Array("to", "float64"), Array("down", "int64"), Array("x_or", "uint32")],
    ),
    (
        "warps.cu",
        "votes",
        64,
        [*numbers(64), Array("ballots", "uint32", (2,), initial=0), Array("any", "bool"), Array("all", "bool")],
    ),
    ("warps.cu", "mixed", 64, [*numbers(64), Array("out", "int32")]),
]
BY_PLACE = ("hold", "mingle")  # their numbers are those of an agent's place in the world, which is rightly told


@pytest.mark.parametrize(("source", "kernel", "size", "arrays"), CASES, ids=[case[1] for case in CASES])
def test_a_kernel_is_clean(source: str, kernel: str, size: int, arrays: list[Array]) -> None:
    declared = environment(KERNELS / source, arrays, [agents(size)], phases=[kernel], resets=())
    report = check(declared, num_envs=3, steps=4)
    if kernel in BY_PLACE:
        (finding,) = report.findings
        assert finding.kind == "neighbours"
    else:
        assert_clean(report)


def fill(store: Any, active: Any) -> None:
    store["empty"].fill_(0.0)


@pytest.mark.long
def test_what_a_python_phase_has_written_counts_as_written() -> None:
    arrays = [Array("empty", "float32", on_reset="keep"), Array("y", "float32", initial=0)]
    source = Path(__file__).parent / "planted" / "unwritten.cu"
    assert_clean(check(environment(source, arrays, [agents(4)], phases=[fill, "array"], resets=()), steps=4))
    report = check(environment(source, arrays, [agents(4)], phases=["array"], resets=()), steps=4)
    assert [finding.kind for finding in report.findings] == ["unwritten"]


# ---- groups whose actions and observations differ -------------------------------------------------------------------
GROUPS = """#include <warpworld.cuh>
extern "C" __global__ void step(const int* actions_cat, const float* actions_dog, const bool* action_mask,
                                float* observations_cat, float* observations_dog, float* rewards) {
  if (!is_active()) return;
  const int agent = agent_id();
  rewards[agent_index()] = 0.0f;
  if (agent < CAT_COUNT) {
    const int i = group_index(CAT_FIRST, CAT_COUNT);
    for (int k = 0; k < 2; ++k) observations_cat[2 * i + k] = (float)actions_cat[2 * i + k];
    assert(action_mask[agent_index() * 5 + actions_cat[2 * i]]);
  } else {
    const int i = group_index(DOG_FIRST, DOG_COUNT);
    observations_dog[i] = actions_dog[i];
  }
}
extern "C" __global__ void reset(bool* action_mask, float* observations_cat, float* observations_dog) {
  if (!is_active()) return;
  const int agent = agent_id();
  for (int k = 0; k < 5; ++k) action_mask[agent_index() * 5 + k] = k != 1;
  if (agent < CAT_COUNT) {
    observations_cat[2 * group_index(CAT_FIRST, CAT_COUNT)] = 0.0f;
    observations_cat[2 * group_index(CAT_FIRST, CAT_COUNT) + 1] = 0.0f;
  } else {
    observations_dog[group_index(DOG_FIRST, DOG_COUNT)] = 0.0f;
  }
}
"""


@pytest.mark.long
def test_actions_are_drawn_from_each_groups_space_and_mask(tmp_path: Path) -> None:
    from gymnasium.spaces import MultiDiscrete

    path = tmp_path / "groups.cu"
    path.write_text(GROUPS)
    cats = Group("cat", 2, observation=Box(0.0, 2.0, (2,), np.float32), action=MultiDiscrete([3, 2]))
    dogs = Group("dog", 1, observation=Box(-2.0, -1.0, (1,), np.float32), action=Box(-2.0, -1.0, (1,), np.float32))
    report = check(environment(path, [], [cats, dogs]), num_envs=3, steps=30)
    # what the reset writes for dogs is outside of their space, and nothing else is wrong
    assert [(finding.kind, finding.array, finding.kernel) for finding in report.findings] == [
        ("observation", "observations_dog", "reset")
    ]


def test_discrete_actions_take_every_value() -> None:
    group = Group("a", 3, Box(-1, 1, (1,), np.float32), Discrete(4))
    world = World(environment(None, [], [group], phases=[lambda arrays, active: None]), 50)
    world.reset()
    actions = RandomActions(world, seed=0)
    actions.draw()
    actions.put(world, slice(0, 50))
    assert sorted(set(world["actions"].flatten().tolist())) == [0, 1, 2, 3]
