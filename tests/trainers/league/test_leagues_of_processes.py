"""Runs with opponents that several processes train: one league, whichever process plays its matches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runs.processes import differences
from tests.trainers.league.run_configs import POOL, RUN_CONFIGS, config_of
from tests.trainers.together import alone, together, trained
from warpworld.config import RunConfig, config_from_dict
from warpworld.errors import ConfigError
from warpworld.trainers.building import build_algorithms, build_policies, build_world
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.league import League
from warpworld.trainers.processes.distributed import ALONE, ProcessGroup
from warpworld.trainers.trainer import Trainer

# its processes know nothing of --stand-in
pytestmark = [pytest.mark.cpu_backend, pytest.mark.long]

CONFIGS = {name: config_of(data, device="cpu") for name, data in RUN_CONFIGS.items()}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each run comes to in both of two processes."""
    return together(2, tmp_path_factory.mktemp("pair"), trained, CONFIGS)


@pytest.mark.heavy
@pytest.mark.parametrize("config_name", RUN_CONFIGS)
def test_both_processes_know_the_same_league(pair: list[dict[str, Any]], config_name: str) -> None:
    one, other = (each[config_name] for each in pair)
    assert differences(one["weights"], other["weights"]) == []
    assert differences(one["state"]["league"], other["state"]["league"]) == []  # pool, ratings, matches and draws


@pytest.mark.heavy
@pytest.mark.parametrize("config_name", RUN_CONFIGS)
def test_the_league_is_that_of_one_process(pair: list[dict[str, Any]], config_name: str) -> None:
    expected, found = alone(CONFIGS[config_name]), pair[0][config_name]
    assert found["state"]["layout"] == expected["state"]["layout"]
    for line, wanted in zip(found["lines"], expected["lines"], strict=True):
        names = [name for name in wanted if name.startswith(("league/", "charts/"))]
        assert [line[name] for name in names] == pytest.approx([wanted[name] for name in names], nan_ok=True)
    for name, league in expected["state"]["league"].items():
        other = found["state"]["league"][name]
        assert other["matches"] == league["matches"] and other["tallies"] == league["tallies"]
        assert torch.equal(other["generator"], league["generator"])
        assert [one["games"] for one in other["opponents"]] == [one["games"] for one in league["opponents"]]


def results(group: ProcessGroup, config: RunConfig) -> list[Any]:
    """Ratings after three rollouts without an update in between, and how many slots lie in this process's envs."""
    trainer = Trainer(config, processes=group)
    for iteration in range(3):
        trainer.league.begin(iteration)
        trainer.collector.collect()
        trainer.league.take_results()
    return [trainer.league.state_dict(), len(trainer.league.slots)]


@pytest.mark.heavy
def test_ratings_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    config = CONFIGS["one policy for both sides"]
    expected, slots = results(ALONE, config)
    assert expected["fighter"]["rating"] != 1000.0 and slots == 3
    pairs = together(2, tmp_path / "two", results, config)
    assert [slots for _, slots in pairs] == [0, 3]  # the second half of the envs
    for league, _ in pairs:
        assert differences(league, expected) == []


def off_policy(groups: list[str], share: float) -> RunConfig:
    """A fighter that learns from a replay, and opponents that play the last of its groups."""
    entry = {
        **{"algorithm": "dqn", "groups": groups, "replay_size": 240, "learning_starts": 8, "batch_size": 8},
        "self_play": {**POOL, "share": share, "slots": 2, "groups": groups[-1:], "opponents": ["rock"]},
    }
    policy = {"fighter": entry, "ppo": {"groups": ["rival"]}} if groups == ["player"] else {"fighter": entry}
    trainer = {"num_envs": 6, "num_steps": 4, "total_env_steps": 6 * 24, "device": "cpu"}
    return config_from_dict({"name": "tests.trainers.league.duels:Throws", "trainer": trainer, "policy": policy})


@pytest.mark.heavy
def test_replays_of_processes_leave_opponents_out(tmp_path: Path) -> None:
    one, other = (
        each["dqn"]
        for each in together(2, tmp_path / "two", trained, {"dqn": off_policy(["player", "rival"], share=1.0)})
    )
    assert differences(one["weights"], other["weights"]) == []
    assert differences(one["state"]["league"], other["state"]["league"]) == []


def test_a_process_without_an_env_to_draw_from() -> None:
    config, second = off_policy(["player"], share=0.5), ProcessGroup(1, 2)
    world = build_world(config, processes=second)
    policies = build_policies(config, world.environment, torch.Generator())
    league = League(config, world, policies, processes=second)
    collector = Collector(world, 4, slots=league.slots, total_envs=6)
    build_algorithms(config, policies)["fighter"].declare(collector)
    message = (
        "^opponents play player in all envs of one process, 3 to 5, expected an env in which their policy plays: each "
        r"process draws batches from its own envs\. Start fewer processes, or lower self_play\.share$"
    )
    with pytest.raises(ConfigError, match=message):
        world.seal()
