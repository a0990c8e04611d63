"""The search on machines whose speed is a formula, and on this one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from warpworld.cli.main import main
from warpworld.cli.tune.measure import Speeds, measure
from warpworld.cli.tune.search import Search, Tried
from warpworld.config import RunConfig, load_config
from warpworld.errors import ConfigError, ShortageError

CONFIG = load_config("cartpole", ["trainer.num_envs=96", "trainer.num_steps=32"])


def speeds(rate: float, nbytes: int = 1000, device: str = "cpu", envs_per_warp: int = 0) -> Speeds:
    return Speeds(2 * rate, 1.5 * rate, rate, device, 1, nbytes, 10**9, envs_per_warp)


class Machine:
    """Its training gets faster up to some envs, and with more workers; each measurement takes a second."""

    def __init__(self, speed: Callable[[Mapping[str, Any]], Speeds]) -> None:
        self.speed, self.now, self.asked = speed, 0.0, list[dict[str, Any]]()

    def measure(self, config: RunConfig, changes: Mapping[str, Any], seconds: float) -> Speeds:
        self.asked.append(dict(changes))
        self.now += 1.0
        return self.speed(changes)

    def search(self, seconds: float = 100.0, **settings: Any) -> Search:
        return Search(CONFIG, seconds, by=self.measure, clock=lambda: self.now, **settings)


def searched(machine: Machine, **settings: Any) -> tuple[list[Tried], Search]:
    search = machine.search(**settings)
    return list(search.run()), search


def test_envs_are_doubled_until_nothing_gets_faster_and_the_fewest_are_taken() -> None:
    machine = Machine(lambda changes: speeds(min(changes["num_envs"], 200) * changes.get("num_workers", 1) ** 0.5))
    tried, search = searched(machine, cores=6)
    sizes = [each.changes["num_envs"] for each in search.found.sizes]
    assert sizes == [24, 48, 96, 192, 384, 768]  # 96 halved while at least 16
    assert search.found.ending == "nothing gets faster"
    assert [each.changes["num_workers"] for each in search.found.others["num_workers"]] == [1, 2, 4, 6]
    assert search.found.best == {"num_envs": 192, "num_workers": 6}
    assert len(tried) == len(machine.asked)


def test_what_simulates_faster_with_more_envs_is_tried_further() -> None:
    def speed(changes: Mapping[str, Any]) -> Speeds:
        num_envs = changes["num_envs"]
        return Speeds(float(min(num_envs, 3072)), 50.0, 50.0, "cpu", 1, 1000, 10**9)

    _, search = searched(Machine(speed))
    assert search.found.sizes[-1].changes["num_envs"] == 4 * 3072
    assert search.found.best["num_envs"] == 24


def test_time_ends_it() -> None:
    machine = Machine(lambda changes: speeds(changes["num_envs"]))
    _, search = searched(machine, seconds=3.0, cores=8)
    assert len(machine.asked) == 3 and search.found.ending == "time is up"
    assert search.found.best == {"num_envs": 96} and not any(search.found.others.values())


def test_memory_ends_it() -> None:
    def speed(changes: Mapping[str, Any]) -> Speeds:
        return speeds(changes["num_envs"], nbytes=changes["num_envs"] * 10**6)

    _, search = searched(Machine(speed))
    assert search.found.sizes[-1].changes["num_envs"] == 384  # 768 MB beside 1 GB would be more than half of 1.384 GB
    assert search.found.ending == "twice as many envs would take more than half of the free memory"


def test_a_shortage_ends_it_and_keeps_what_was_measured() -> None:
    def speed(changes: Mapping[str, Any]) -> Speeds:
        if changes["num_envs"] > 50:
            raise ShortageError("no memory for 3 GB of arrays")
        return speeds(changes["num_envs"])

    _, search = searched(Machine(speed))
    assert search.found.ending == "no memory for 3 GB of arrays" and search.found.best["num_envs"] == 48


def test_sizes_below_the_config_s_that_do_not_go_with_it_are_left_out() -> None:
    def speed(changes: Mapping[str, Any]) -> Speeds:
        if changes["num_envs"] < 96:
            raise ConfigError("num_minibatches is 7")
        return speeds(100.0)

    _, search = searched(Machine(speed))
    assert [each.changes["num_envs"] for each in search.found.sizes] == [96, 192, 384]


def test_a_config_that_is_wrong_is_refused() -> None:
    def speed(changes: Mapping[str, Any]) -> Speeds:
        raise ConfigError("wrong")

    with pytest.raises(ConfigError, match="wrong"):
        searched(Machine(speed))


def test_a_batch_is_kept_by_fewer_steps() -> None:
    machine = Machine(lambda changes: speeds(float(changes["num_envs"])))
    _, search = searched(machine, keep_batch=True)
    assert [tuple(each.changes.values()) for each in search.found.sizes][:3] == [(24, 128), (48, 64), (96, 32)]
    assert search.found.ending == "6,144 envs have no 3,072 env steps in an iteration"
    assert search.found.best["num_envs"] * search.found.best["num_steps"] == 96 * 32


def test_a_batch_is_kept_exactly() -> None:
    config = load_config("cartpole", ["trainer.num_envs=48", "trainer.num_steps=10", "policy.agent.num_minibatches=2"])
    machine = Machine(lambda changes: speeds(float(changes["num_envs"])))
    search = Search(config, 100.0, keep_batch=True, by=machine.measure, clock=lambda: machine.now)
    list(search.run())
    assert [each.changes["num_envs"] * each.changes["num_steps"] for each in search.found.sizes] == [480] * 3
    assert search.found.ending == "192 envs have no 480 env steps in an iteration"


@pytest.mark.parametrize("error", [ConfigError("num_minibatches is 8"), ShortageError("no memory")])
def test_other_numbers_that_do_not_go_are_left_out(error: Exception) -> None:
    def speed(changes: Mapping[str, Any]) -> Speeds:
        if changes.get("num_minibatches") == 8:
            raise error
        return speeds(100.0)

    _, search = searched(Machine(speed))
    assert [each.changes["num_minibatches"] for each in search.found.others["num_minibatches"]] == [1, 2, 4, 16, 32]


def test_a_size_above_the_config_s_that_does_not_go_keeps_what_was_measured() -> None:
    def speed(changes: Mapping[str, Any]) -> Speeds:
        if changes["num_envs"] > 96:
            raise ConfigError("replay_size needs more memory")
        return speeds(changes["num_envs"])

    _, search = searched(Machine(speed))
    assert search.found.ending == "replay_size needs more memory" and search.found.best["num_envs"] == 96


def test_what_there_was_no_time_for_is_said() -> None:
    _, search = searched(Machine(lambda changes: speeds(changes["num_envs"])), seconds=3.0)
    assert search.found.untried == ["num_workers", "num_minibatches"]


def test_a_config_with_evaluations_is_measured() -> None:
    words = ["saving.eval_every=20", "saving.eval_opponents=[random]", "trainer.device=cpu"]
    assert measure(load_config("tic_tac_toe", words), {"num_envs": 16}, 0.01).training > 0


def test_captured_steps_are_tried_on_cuda() -> None:
    machine = Machine(lambda changes: speeds(100.0 + (changes.get("graph_steps") == 32) * 50, device="cuda"))
    _, search = searched(machine)
    assert [each.changes["graph_steps"] for each in search.found.others["graph_steps"]] == [8, 16, 32, 64, 128]
    assert search.found.best["graph_steps"] == 32 and "num_workers" not in search.found.others
    assert not search.found.others["envs_per_warp"]  # the device chose to give each env a block


def test_packing_is_tried_where_the_device_packs() -> None:
    def speed(changes: Mapping[str, Any]) -> Speeds:
        return speeds(100.0 + 20 * (changes.get("envs_per_warp") == 4), device="cuda", envs_per_warp=10)

    _, search = searched(Machine(speed))
    assert [each.changes["envs_per_warp"] for each in search.found.others["envs_per_warp"]] == [10, 8, 4, 2, 1, 0]
    assert search.found.best["envs_per_warp"] == 4


def test_the_device_s_packing_is_kept_where_another_gains_nothing() -> None:
    _, search = searched(Machine(lambda changes: speeds(100.0, device="cuda", envs_per_warp=32)))
    assert search.found.best["envs_per_warp"] == 32


# ---- on this machine -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["cartpole", "cartpole_dqn"])
def test_a_measurement_counts_what_was_run(name: str) -> None:
    found = measure(load_config(name, ["trainer.device=cpu"]), {"num_envs": 32}, 0.01)
    assert 0 < found.training < found.rollout and found.simulation > 0
    assert (found.num_agents, found.device) == (1, "cpu") and found.nbytes > 0


def test_an_iteration_may_be_longer_than_the_run() -> None:
    config = load_config("cartpole", ["trainer.device=cpu", "trainer.num_envs=16", "trainer.total_env_steps=512"])
    assert measure(config, {"num_envs": 64}, 0.01).training > 0


def test_the_command_prints_words_to_train_with(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "speeds.png"
    words = ["tune", "cartpole", "--seconds", "0.2", "--device", "cpu", "--draw", str(picture), "trainer.num_steps=8"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "\nwarpworld train cartpole trainer.num_steps=8 trainer.num_envs=" in printed and "time is up" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_measurements_for_other_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "cartpole", "--seconds", "0.2", "--device", "cpu", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["num_envs"][0]["settings"] == {"num_envs": 16} and found["num_envs"][0]["training"] > 0
    assert found["overrides"][0].startswith("trainer.num_envs=")


def test_an_environment_at_fault_is_said_in_a_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sizes = "{num_envs: 64, num_steps: 8, total_env_steps: 5120, device: cpu}"
    (tmp_path / "faulty.yaml").write_text(
        f"name: tests.cli.tune.faulty:Faulty\ntrainer: {sizes}\npolicy: {{agent: {{}}}}\n"
    )
    assert main(["tune", str(tmp_path / "faulty.yaml"), "--seconds", "0.2"]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("error: with num_envs=16: ") and "reward" in error


def test_an_unknown_config_gets_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "cartpoll"]) == 2
    assert "Did you mean 'cartpole'" in capsys.readouterr().err


def test_the_words_to_train_with_name_the_device_and_the_gain_is_beside_the_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["tune", "cartpole", "trainer.num_steps=8", "--seconds", "0.5", "--device", "cpu"]) == 0
    printed = capsys.readouterr().out
    words = re.search(r"^warpworld train (cartpole trainer.num_steps=8 .*) --device cpu$", printed, re.MULTILINE)
    assert words is not None and "trainer.num_envs=" in words[1]
    header, first = (line.split() for line in printed.split("\n\n")[1].splitlines()[:2])
    assert first[header.index("gain")] == "1.00"


def test_a_kernel_that_does_not_compile_costs_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "still.py").write_text(STILL)
    (tmp_path / "still.cu").write_text(
        '#include <warpworld.cuh>\nextern "C" __global__ void step(float* rewards) { oops; }\n'
    )
    sizes = "{num_envs: 4, num_steps: 8, total_env_steps: 64}"
    written = f"name: {tmp_path / 'still.py'}\ntrainer: {sizes}\npolicy: {{agent: {{}}}}\n"
    (tmp_path / "still.yaml").write_text(written)
    assert main(["tune", str(tmp_path / "still.yaml"), "--seconds", "0.2", "--device", "cpu"]) == 2
    error = capsys.readouterr().err
    assert "still.cu:2" in error and "oops" in error and "Traceback" not in error


STILL = """
from gymnasium.spaces import Box, Discrete
from warpworld import Environment, Group


class Still(Environment):
    source = "still.cu"

    def groups(self):
        return [Group("agent", 1, Box(0.0, 1.0, (1,)), Discrete(2))]

    def resets(self):
        return []
"""
