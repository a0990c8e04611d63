"""ParallelVectorEnv: each env's course is that of PettingZoo's ParallelEnv of one env."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import MultiDiscrete
from gymnasium.vector import AutoresetMode

from tests.adapters.test_every_environment import made
from tests.adapters.test_lives import leaving
from tests.adapters.worlds import absences, world
from tests.cases import often
from tests.envs.small_worlds import each_kind
from tests.hybrid import MaskedHybrid
from warpworld import World, make
from warpworld.adapters.parallel_vector import ParallelVectorEnv
from warpworld.adapters.views.masks import space_mask
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError, StoreError

pytest.importorskip("pettingzoo")
from warpworld.adapters.parallel import ParallelEnv

SEEDS = [11, 7, 3]
MODES = ("disabled", "next_step", "same_step")
STEPS = 40


def hybrids(num_envs: int, **options: Any) -> World:
    return World(MaskedHybrid(), num_envs, "cpu", num_workers=1, check_actions=True, **options)


def in_turn(num_envs: int, **options: Any) -> World:
    """A game whose players wait for their turns, with masks."""
    return World(get_environment("tic_tac_toe")(), num_envs, "cpu", num_workers=1, check_actions=True, **options)


WORLDS: dict[str, Callable[..., World]] = {
    "fixed agents": lambda n, **options: world("tag_gridworld", n, **options),
    "agents that die": lambda n, **options: world("tag_continuous", n, **options),
    "agents that die by and by": lambda n, **options: leaving(n, num_workers=1, check_actions=True, **options),
    "agents that are cut": lambda n, **options: leaving(n, None, True, num_workers=1, check_actions=True, **options),
    "agents that are revived": lambda n, **options: world("deathmatch", n, **options),
    "groups with different spaces, and absences": absences,
    "actions in a Dict": hybrids,
    "masks": in_turn,
}


def part(value: Any, env: int) -> Any:
    """One env's part of a batch, of dicts or tuples of batches."""
    if isinstance(value, dict):
        return {key: part(each, env) for key, each in value.items()}
    return value[env]


def assert_equal(found: Any, expected: Any) -> None:
    """Bit for bit, and in the same dtype where there is one."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            assert_equal(found[key], expected[key])
        return
    if expected is None or isinstance(expected, tuple):
        assert repr(found) == repr(expected)
        return
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
    assert np.array_equal(found, expected, equal_nan=True), (found, expected)


def compare(envs: ParallelVectorEnv, singles: list[ParallelEnv], mode: str) -> set[str]:
    """Step both with the same actions; the names of what happened."""
    seen, _ = envs.reset(seed=SEEDS)
    for env, (single, seed) in enumerate(zip(singles, SEEDS, strict=True)):
        assert_equal(part(seen, env), single.reset(seed=seed)[0])
    for name in envs.possible_agents:
        envs.action_space(name).seed(len(name) + ord(name[-1]))
    state, happened = ["acts"] * len(SEEDS), set[str]()
    for _ in range(STEPS):
        acting = envs.acting
        assert envs.agents == [name for name, acts in acting.items() if acts.any()]
        if not envs.agents:
            break
        actions = {name: legal(envs, name) for name in envs.agents}
        *results, infos = envs.step(actions)
        for name in envs.possible_agents:
            assert envs.observation_space(name).contains(results[0][name])
            assert results[1][name].dtype == np.float32 and results[1][name].shape == (len(SEEDS),)
            assert results[2][name].dtype == results[3][name].dtype == np.bool_
        for env, single in enumerate(singles):
            now = [part(each, env) for each in results]
            if state[env] == "acts":
                assert [name for name, acts in acting.items() if acts[env]] == single.agents
                happened |= {"absent"} if len(single.agents) < len(envs.possible_agents) else set()
                own = single.step({name: part(actions[name], env) for name in single.agents})
                happened |= compare_step(envs, infos, env, now, own)
                is_over = bool(single.world["terminated"][0] or single.world["truncated"][0])
                state[env] = "acts" if single.agents else "waits" if not is_over else "ended"
                happened |= {"end"} if is_over else {"left alone"} if not single.agents else set()
            else:
                assert not any(any(values.values()) for values in now[1:])
                if state[env] == "ended":
                    state[env] = "begins"
            if mode == "same_step" and state[env] == "ended":
                state[env] = "begins"
            if state[env] == "waits" and any(acts[env] for acts in envs.acting.values()):  # the env itself has ended
                state[env] = "begins" if mode == "same_step" else "ended"
            if mode != "disabled" and state[env] == "begins":
                assert_equal(now[0], single.reset()[0])
                state[env] = "acts"
    return happened


def compare_step(envs: ParallelVectorEnv, infos: Any, env: int, now: list[Any], own: Any) -> set[str]:
    """Compare one env's step with that of a ParallelEnv."""
    happened, reported = set(), own[0].keys()
    for values, expected in zip(now[1:], own[1:4], strict=True):
        assert_equal({name: values[name] for name in reported}, expected)
        assert not any(value for name, value in values.items() if name not in reported)
    ended = [name for name in reported if "_final_obs" in infos[name] and infos[name]["_final_obs"][env]]
    last = {name: part(infos[name]["final_obs"], env) for name in ended} or now[0]
    assert_equal({name: last[name] for name in reported}, own[0])
    for name in () if ended else reported:
        if "action_mask" in own[4][name]:
            happened.add("mask")
            row = infos[name]["action_mask"][env]
            assert_equal(space_mask(envs.single_action_space(name), row > 0), own[4][name]["action_mask"])
    return happened


def legal(envs: ParallelVectorEnv, name: str) -> Any:
    """Random actions of an agent that its mask allows, of a Discrete space; of any other as they are drawn."""
    drawn = envs.action_space(name).sample()
    if "action_mask" in envs.world and isinstance(drawn, np.ndarray) and drawn.ndim == 1:
        group, number = name.rsplit("_", 1)
        mask = envs.world["action_mask"][:, envs.world.groups[group].numbers[int(number)]].numpy()
        drawn = np.array([(value if row[value] else row.argmax()) for value, row in zip(drawn, mask, strict=True)])
    return drawn


HAPPENS = {
    "fixed agents": {"end"},
    "agents that die": {"end", "absent"},
    "agents that die by and by": {"left alone", "absent"},
    "agents that are cut": {"left alone", "absent"},
    "agents that are revived": {"end"},
    "groups with different spaces, and absences": {"absent", "mask"},
    "actions in a Dict": {"mask"},
    "masks": {"end", "mask"},
}


@pytest.mark.parametrize("mode", often(["disabled"], MODES))
@pytest.mark.parametrize("kind", WORLDS)
def test_each_env_follows_the_course_of_one_of_pettingzoo_s(kind: str, mode: str) -> None:
    envs = ParallelVectorEnv(WORLDS[kind](len(SEEDS), autoreset=mode))
    singles = [ParallelEnv(WORLDS[kind](1, autoreset="disabled")) for _ in SEEDS]
    happened = compare(envs, singles, mode)
    assert happened >= HAPPENS[kind], happened


def test_an_env_without_agents_is_stepped_on_unless_the_caller_resets_it() -> None:
    envs = ParallelVectorEnv(leaving(2, autoreset="same_step"))
    envs.reset()
    acting = []
    for _ in range(5):
        *_, truncated, _ = envs.step({name: np.zeros(2, int) for name in envs.agents})
        acting.append([bool(each[0]) for each in envs.acting.values()])
        assert not any(each.any() for each in truncated.values())  # all had left before the env's time limit
    assert acting == [[False, True, True], [False, False, True], [False] * 3, [True] * 3, [False, True, True]]
    alone = ParallelVectorEnv(leaving(2, autoreset="disabled"))
    alone.reset()
    while alone.agents:
        alone.step({name: np.zeros(2, int) for name in alone.agents})
    assert alone.world["timestep"].tolist() == [3, 3] and alone.num_agents == 0


def test_a_seed_gives_each_env_the_trajectory_that_it_has_in_other_protocols() -> None:
    envs = make("tag_gridworld", 3, api="parallel_vector", device="cpu", num_taggers=2)
    rows = make("tag_gridworld", 3, api="gymnasium", device="cpu", num_taggers=2)
    seen, seen_rows = envs.reset(seed=5)[0], rows.reset(seed=5)[0].reshape(3, 3, -1)
    assert envs.autoreset_mode == rows.autoreset_mode == AutoresetMode.NEXT_STEP
    for number, name in enumerate(envs.possible_agents):
        assert np.array_equal(seen[name], seen_rows[:, number])
    assert not np.array_equal(seen["tagger_0"][0], seen["tagger_0"][1])
    first = {name: values.copy() for name, values in envs.reset(seed=[5, None, 5])[0].items()}
    assert all(np.array_equal(values[0], values[2]) for values in first.values())


def test_some_envs_are_reset_and_all_others_keep_every_bit() -> None:
    envs = ParallelVectorEnv(world("tag_continuous", 3, autoreset="disabled"))
    with pytest.raises(StoreError, match=r"^the first reset\(\) starts every env; call it without a mask$"):
        envs.reset(options={"reset_mask": np.array([True, False, False])})
    envs.reset(seed=1)
    while envs.agents:
        envs.step({name: envs.action_space(name).sample() for name in envs.agents})
    before = envs.reset(options={"reset_mask": np.array([True, False, False])})[0]
    assert [acts.tolist() for acts in envs.acting.values()] == [[True, False, False]] * 5
    seen, rewards, *_ = envs.step({name: envs.action_space(name).sample() for name in envs.agents})
    for name in envs.possible_agents:
        assert np.array_equal(seen[name][1:], before[name][1:]) and not rewards[name][1:].any()
    assert any((seen[name][0] != before[name][0]).any() for name in envs.possible_agents)
    assert envs.world["timestep"].tolist()[0] == 1


@pytest.mark.cpu_backend  # views are of a store in host memory
def test_copies_are_kept_and_views_are_the_store() -> None:
    for copy in (True, False):
        envs = ParallelVectorEnv(world("tag_continuous", 4), copy=copy)
        first, _ = envs.reset(seed=2)
        kept = {name: seen.copy() for name, seen in first.items()}
        observations = envs.world["observations"].numpy()
        second, *_ = envs.step({name: envs.action_space(name).sample() for name in envs.agents})
        changed = [name for name in kept if not np.array_equal(first[name], kept[name])]
        assert bool(changed) is not copy
        assert np.shares_memory(second["tagger_0"], observations) is not copy
        assert np.array_equal(second["runner_1"], observations[:, 3])
        if copy:  # each agent's are its own to change
            second["tagger_0"][:] = 9
            assert not (second["tagger_1"] == 9).all()


def test_infos_and_those_of_ended_episodes() -> None:
    named = type("Named", (get_environment("tag_continuous"),), {"infos": ("rewards", "timestep")})
    tag = named(num_taggers=1, num_runners=2, episode_length=4)
    envs = ParallelVectorEnv(World(tag, 2, "cpu", 3, num_workers=1))
    _, infos = envs.reset()
    assert all(own["agent_mask"].all() and own["timestep"].tolist() == [0, 0] for own in infos.values())
    for _ in range(4):
        assert "final_info" not in infos["runner_1"]
        _, rewards, *_, infos = envs.step({name: envs.action_space(name).sample() for name in envs.agents})
    own = infos["runner_1"]
    assert own["timestep"].tolist() == [0, 0] and own["final_info"]["timestep"].tolist() == [0, 0]
    assert own["_final_info"].tolist() == own["_final_obs"].tolist() == [True, True]
    assert np.array_equal(own["final_info"]["rewards"], rewards["runner_1"]) and own["final_obs"].shape[0] == 2


def test_spaces_state_and_names() -> None:
    envs = ParallelVectorEnv(absences(3, autoreset="same_step"))
    assert str(envs) == "warpworld/Toy, 3 envs" and envs.num_envs == 3 and envs.unwrapped is envs
    assert envs.possible_agents == ["wolf_0", "sheep_0"] and envs.max_num_agents == 2
    assert envs.single_observation_space("sheep_0").shape == (4,)
    assert envs.observation_space("sheep_0").shape == (3, 4)
    assert envs.single_action_space("wolf_0") == envs.world.groups["wolf"].action
    assert envs.action_space("wolf_0") == MultiDiscrete([3, 3, 3])
    assert envs.action_space("wolf_0") is envs.action_space("wolf_0") is not envs.world.groups["wolf"].action
    envs.reset()
    assert envs.single_state_space.shape == (6,) and envs.state_space.contains(envs.state())
    observed = envs.step({name: np.zeros(3, int) for name in envs.agents})[0]
    assert np.array_equal(envs.state(), np.concatenate(list(observed.values()), axis=1))


def test_pictures_are_of_some_envs() -> None:
    envs = make("tag_gridworld", 3, api="parallel_vector", device="cpu", num_taggers=2, render_mode="rgb_array")
    envs.reset()
    assert [picture.shape for picture in envs.render()] == [(400, 400, 3)] * 3 and len(envs.render([1])) == 1


def test_refusals() -> None:
    envs = ParallelVectorEnv(absences(2))

    def refusal(call: Callable[[], Any]) -> str:
        with pytest.raises((StoreError, DeclarationError, ValueError)) as caught:
            call()
        return str(caught.value)

    none = np.zeros(2, int)
    both = {"wolf_0": none, "sheep_0": none}
    assert refusal(lambda: envs.step(both)) == "no episode has begun; call reset() before step()"
    assert refusal(lambda: envs.reset(options={"rest_mask": none})) == (
        "options: no 'rest_mask'. Did you mean 'reset_mask'?"
    )
    assert refusal(lambda: envs.reset(seed=[1, 2, 3])).startswith("seed")
    envs.reset()
    no_dict: Any = [none, none]
    assert refusal(lambda: envs.step(no_dict)) == "actions are list, expected a dict with a key for each agent"
    assert refusal(lambda: envs.step({"wolf_0": none})) == "actions: none for 'sheep_0', which acts in env 0"
    assert refusal(lambda: envs.step({**both, "shep_0": none})) == (
        "actions: no agent 'shep_0'. Did you mean 'sheep_0'?"
    )
    assert refusal(lambda: envs.step({**both, "wolf_0": 1})) == "actions of 'wolf_0': shape (), expected (2,)"
    assert refusal(lambda: envs.step({**both, "wolf_0": [0.5, 1]})) == (
        "actions of 'wolf_0': expected whole numbers, got float64"
    )
    assert refusal(lambda: envs.step({**both, "wolf_0": [0, 3]})) == "actions: env 1, agent 0 has 3, expected 0 to 2"
    assert (
        refusal(lambda: envs.observation_space("wolf"))
        == "observation_space(): no agent 'wolf'. Did you mean 'wolf_0'?"
    )
    assert refusal(lambda: envs.reset(options={"reset_mask": np.ones(3, bool)})) == (
        "reset_mask: shape (3,), expected (2,)"
    )
    assert refusal(lambda: ParallelVectorEnv(absences(2), render_mode="human")) == (
        "render_mode='human': expected 'rgb_array' or None"
    )
    assert refusal(lambda: ParallelVectorEnv(None)).startswith("api='parallel_vector' wraps a World, not None")  # type: ignore[arg-type]
    envs.world["truncated"] = True
    envs.step(both)
    assert refusal(lambda: envs.step({})) == "all episodes have ended; call reset() before step()"
    envs.close()
    assert envs.agents == [] and refusal(lambda: envs.step(both)) == refusal(envs.reset) == "the env is closed"


def test_what_agents_that_do_not_act_are_given_is_ignored() -> None:
    envs = ParallelVectorEnv(leaving(2, check_actions=True))
    envs.reset()
    envs.step({name: np.ones(2, int) for name in envs.possible_agents})
    envs.step({"wolf_0": np.full(2, 99), "sheep_0": np.zeros(2, int), "sheep_1": np.zeros(2, int)})
    assert envs.world["actions"][:, :, 0].tolist() == [[1, 0, 0]] * 2


@pytest.mark.heavy
@pytest.mark.long
@each_kind
def test_each_env_of_every_environment_follows_the_course_of_one_of_pettingzoo_s(
    name: str, params: dict[str, Any]
) -> None:
    envs = ParallelVectorEnv(made(name, params, len(SEEDS), "same_step"))
    compare(envs, [ParallelEnv(made(name, params, 1, "disabled")) for _ in SEEDS], "same_step")
