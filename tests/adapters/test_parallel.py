"""ParallelEnv by PettingZoo's own tests, and beside the World that it stands for."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from tests.adapters.test_vector import agents_world
from tests.adapters.worlds import absences, world
from warpworld import make
from warpworld.adapters.views.masks import space_mask
from warpworld.errors import StoreError

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test

from warpworld.adapters.parallel import ParallelEnv, aec_env

NAMES = ["tag_gridworld", "tag_continuous", "deathmatch"]


def env(name: str = "tag_continuous", **options: Any) -> ParallelEnv:
    return ParallelEnv(world(name, 1, autoreset="disabled"), **options)


@pytest.mark.parametrize("name", NAMES)
def test_their_test_of_the_protocol(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(env(name), num_cycles=200)


@pytest.mark.parametrize("name", NAMES)
def test_their_test_of_seeds(name: str) -> None:
    parallel_seed_test(lambda: env(name), num_cycles=60)


@pytest.mark.parametrize("name", ["tag_gridworld", "tag_continuous"])
def test_their_test_of_agents_in_turn(name: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Observation space for each agent probably")
        api_test(env(name).aec(), num_cycles=100)
        api_test(aec_env(world(name, 1, autoreset="disabled")), num_cycles=20)


def test_agents_leave_when_their_part_has_ended() -> None:
    tag, plain = env(), world("tag_continuous", 1, autoreset="disabled")
    left = 0
    for number, agent in enumerate(tag.possible_agents):
        tag.action_space(agent).seed(number)
    for seed in range(8):
        plain.reset(seed=seed)
        observations, infos = tag.reset(seed=seed)
        assert tag.agents == tag.possible_agents == list(observations) == list(infos)
        assert tag.possible_agents == ["tagger_0", "tagger_1", "runner_0", "runner_1", "runner_2"]
        while tag.agents:
            before = tag.agents
            actions = {agent: tag.action_space(agent).sample() for agent in before}
            acted = plain.data.numpy("actions").copy()
            for agent, action in actions.items():
                acted[0, tag.possible_agents.index(agent)] = action
            plain["actions"] = acted
            plain.step()
            observations, rewards, terminated, truncated, _ = tag.step(actions)
            assert list(observations) == list(rewards) == list(terminated) == list(truncated) == before
            gone = plain["agent_terminated"][0].tolist()
            over = bool(plain["terminated"][0]), bool(plain["truncated"][0])
            for agent in before:
                index = tag.possible_agents.index(agent)
                assert rewards[agent] == plain["rewards"][0, index].item()
                assert terminated[agent] == (over[0] or gone[index]) and truncated[agent] == over[1]
            stay = [agent for agent in before if not gone[tag.possible_agents.index(agent)]]
            assert tag.agents == ([] if any(over) else stay)
            left += len(before) - len(stay)
    assert left > 3, left


def test_observations_are_of_the_group_and_kept() -> None:
    tag = env()
    first, _ = tag.reset(seed=1)
    kept = {agent: np.copy(seen) for agent, seen in first.items()}
    for agent, seen in first.items():
        group, index = agent.rsplit("_", 1)
        stored = tag.world.observations(group)
        assert not isinstance(stored, dict)
        assert np.array_equal(seen, stored[0, int(index)].cpu().numpy())
    tag.step({agent: tag.action_space(agent).sample() for agent in tag.agents})
    assert all(np.array_equal(first[agent], kept[agent]) for agent in kept)
    assert tag.state().shape == tag.state_space.shape == (sum(seen.size for seen in first.values()),)


def test_agents_that_sit_out_come_back_and_masks_are_infos() -> None:
    herd = ParallelEnv(absences())
    observations, infos = herd.reset()
    assert {agent: seen.shape for agent, seen in observations.items()} == {"wolf_0": (2,), "sheep_0": (4,)}
    assert infos["wolf_0"]["action_mask"].tolist() == [1, 1, 1]
    assert infos["sheep_0"]["action_mask"].tolist() == [1, 0]
    herd.action_space("sheep_0").sample(mask=infos["sheep_0"]["action_mask"])
    seen = [(list(herd.step(dict.fromkeys(herd.agents, 0))[1]), list(herd.agents)) for _ in range(3)]
    both = ["wolf_0", "sheep_0"]
    assert seen == [(both, ["wolf_0"]), (both, both), (both, ["wolf_0"])]


@pytest.mark.parametrize(
    ("space", "row", "legal"),
    [
        (Discrete(3, start=4), [0, 1, 1], [[5], [6]]),
        (MultiDiscrete([2, 3]), [1, 0, 0, 1, 1], [[0, 1], [0, 2]]),
        (MultiDiscrete([[2, 2], [3, 1]]), [0, 1, 1, 0, 0, 0, 1, 1], [[1, 0, 2, 0]]),
        (MultiBinary(3), [1, 1, 0, 1, 1, 0], [[0, 1, 0], [1, 1, 0]]),
    ],
)
def test_masks_are_what_their_spaces_take(space: Any, row: list[int], legal: list[list[int]]) -> None:
    mask = space_mask(space, np.array(row, bool))
    space.seed(0)
    drawn = {tuple(np.ravel(space.sample(mask)).tolist()) for _ in range(60)}
    assert drawn == {tuple(one) for one in legal}


def test_nothing_to_choose_has_no_mask() -> None:
    assert space_mask(Box(-1, 1, (2,)), np.ones(4, bool)) is None


def test_api_names_make_them() -> None:
    made = make("tag_gridworld", api="parallel", device="cpu", num_taggers=2, render_mode="rgb_array")
    made.reset()
    assert made.max_num_agents == 3 and made.render().shape == (400, 400, 3)
    in_turn = make("tag_gridworld", api="aec", device="cpu", num_taggers=2)
    in_turn.reset()
    assert in_turn.agent_selection == "tagger_0" and str(in_turn) == "warpworld/tag_gridworld"


def refusal(call: Any) -> str:
    with pytest.raises(StoreError) as caught:
        call()
    return str(caught.value)


def test_refusals() -> None:
    herd = ParallelEnv(absences())
    assert refusal(lambda: herd.step({})) == "no episode has begun; call reset() before step()"
    herd.reset()
    assert refusal(lambda: herd.step({"wolf_0": 0})) == "actions: none for 'sheep_0', which is among the agents"
    assert refusal(lambda: herd.step({"wolf_0": 0, "shep_0": 0})) == (
        "actions: no agent 'shep_0'. Did you mean 'sheep_0'?"
    )
    assert refusal(lambda: herd.step({"wolf_0": 3, "sheep_0": 0})) == "actions: env 0, agent 0 has 3, expected 0 to 2"
    assert refusal(lambda: herd.step({"wolf_0": [1], "sheep_0": 0})) == "actions of 'wolf_0': shape (1,), expected ()"
    assert refusal(lambda: herd.step({"wolf_0": 0.5, "sheep_0": 0})) == (
        "actions of 'wolf_0': expected whole numbers, got float64"
    )
    assert refusal(lambda: herd.step({"wolf_0": 2**40, "sheep_0": 0})) == (
        "actions of 'wolf_0': env 0 has 1099511627776, which an int32 does not hold"
    )
    herd.world["truncated"] = True
    herd.step({"wolf_0": 0, "sheep_0": 0})
    assert refusal(lambda: herd.step({})) == "the episode has ended; call reset() before step()"
    herd.close()
    assert refusal(lambda: herd.step({})) == "the env is closed"


def test_parts_of_an_observation() -> None:
    from gymnasium.spaces import Dict

    space = Dict(near=Box(-9, 9, (2,)), far=Box(-9, 9, (2, 3), np.float16))
    toy = agents_world(1, Discrete(3), space, num_envs=1, autoreset="disabled")
    many = ParallelEnv(toy)
    observations, _ = many.reset()
    assert many.observation_space("agent_0").contains(observations["agent_0"]) and many.state().shape == (8,)
