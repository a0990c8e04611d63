"""Metrics of an environment's own, over the episodes that end in a rollout."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainers.measured import Measured, MeasuredEpisodes, expected
from tests.trainers.small_worlds import Still
from warpworld import Array, World
from warpworld.config import config_from_dict
from warpworld.errors import DeclarationError
from warpworld.trainers.collecting.metrics import EpisodeMetrics
from warpworld.trainers.collecting.outcomes import Outcomes
from warpworld.trainers.collecting.players import Slot
from warpworld.trainers.trainer import Trainer

NUM_STEPS = 7


class Rollouts:
    """A world whose rollouts are measured."""

    def __init__(
        self, num_envs: int, slots: list[Slot] | None = None, num_workers: int = 1, first_env: int = 0
    ) -> None:
        self.world = World(Measured(), num_envs, "cpu", num_workers=num_workers, first_env=first_env)
        self._outcomes = Outcomes(self.world, NUM_STEPS)
        self._metrics = EpisodeMetrics(self.world, NUM_STEPS, slots or [])
        self.world.reset()
        self._step = self.world.capture(self._one)

    def _one(self) -> None:
        self.world.step()
        self._outcomes.stepped()

    def collect(self) -> None:
        self._outcomes.begin()
        for _ in range(NUM_STEPS):
            self._step()
        self._outcomes.end()

    def sums(self) -> torch.Tensor:
        self.collect()
        self._metrics.begin()
        self._metrics.add_up()
        return self._metrics.sums()

    def measured(self) -> dict[str, float]:
        return self._metrics.of_sums(self.sums().tolist())


def test_of_whole_trajectories() -> None:
    rollouts, trajectory, ends = Rollouts(20), MeasuredEpisodes(20), 0
    for _ in range(12):
        finished = trajectory.steps(NUM_STEPS)
        assert rollouts.measured() == pytest.approx(expected(finished), rel=1e-12)
        ends += len(finished)
    assert ends > 250


def test_no_end_is_no_number() -> None:
    found = Rollouts(1).measured()  # the first episode of this seed outlasts the rollout
    assert len(found) == 6 and all(map(math.isnan, found.values()))


def test_agents_that_opponents_play_are_left_out() -> None:
    """An opponent plays the left of the last two envs of four; the other metrics are of all four."""
    rollouts, trajectory = Rollouts(4, [Slot(("left",), slice(2, 4))]), MeasuredEpisodes(4)
    for _ in range(6):
        finished = trajectory.steps(NUM_STEPS)
        of_all, of_own = expected(finished), expected([each for each in finished if each[0]["env"] < 2])
        for name, value in rollouts.measured().items():
            of_name = (of_own if "/left/" in name else of_all).get(name, float("nan"))
            assert value == pytest.approx(of_name, rel=1e-12, nan_ok=True), name


def test_left_alone_in_its_slots_a_group_has_no_metric() -> None:
    rollouts = Rollouts(4, [Slot(("left",), slice(0, 4))])
    for _ in range(4):
        found = rollouts.measured()
    assert math.isnan(found["env/left/leaps"]) and not math.isnan(found["env/right/leaps"])


def test_a_running_episode_is_part_of_the_worlds_snapshot() -> None:
    first, second = Rollouts(9), Rollouts(9)
    for _ in range(3):
        first.measured()
    second.world.restore(first.world.snapshot())
    for _ in range(3):
        assert first.measured() == second.measured()


def test_workers_do_not_matter() -> None:
    one, two = Rollouts(300), Rollouts(300, num_workers=2)
    for _ in range(3):
        assert one.measured() == two.measured()


def test_parts_of_a_world_add_up() -> None:
    """As the processes of a run add up what each has of its envs."""
    whole, parts = Rollouts(6), [Rollouts(2), Rollouts(4, first_env=2)]
    for _ in range(4):
        expected_sums = whole.sums()
        torch.testing.assert_close(parts[0].sums() + parts[1].sums(), expected_sums, rtol=1e-12, atol=0)
    assert expected_sums.dtype == torch.float64 and expected_sums.shape == (2 * 6,)


# ---- by hand ---------------------------------------------------------------------------------------------------------


class Marked(Still):
    """Still with metrics."""

    def arrays(self) -> list[Array]:
        """One for each kind, and one of agents that are always there."""
        kinds = [Array(f"a_{kind}", "float32", per="env", metric=kind) for kind in ("mean", "sum", "last")]
        return [*kinds, Array("own", "bool", metric="sum")]


def test_by_hand() -> None:
    world = World(Marked(), 2, "cpu")
    Outcomes(world, 4)
    metrics = EpisodeMetrics(world, 4)
    world.reset()
    rows = torch.tensor([[1.0, 8.0], [2.0, 16.0], [4.0, 32.0], [8.0, 64.0]])
    ends = torch.tensor([[False, False], [True, False], [False, False], [False, False]])
    for kind in ("mean", "sum", "last"):
        world[f"rollout_metric_a_{kind}"] = rows
    world["rollout_metric_own"] = True
    world["rollout_terminated"], world["rollout_truncated"] = ends, False
    metrics.add_up()
    first = {"env/a_mean": 1.5, "env/a_sum": 3.0, "env/a_last": 2.0, "env/left/own": 2.0}
    assert metrics.of_sums(metrics.sums().tolist()) == first
    world["rollout_terminated"], world["rollout_truncated"] = False, torch.tensor([[True, True]] + [[False] * 2] * 3)
    metrics.begin()
    metrics.add_up()
    of_both = (4 + 8 + 1) / 3, (8 + 16 + 32 + 64 + 8) / 5, 13.0, 128.0, 1.0, 8.0
    assert metrics.of_sums(metrics.sums().tolist()) == {
        "env/a_mean": sum(of_both[:2]) / 2,
        "env/a_sum": sum(of_both[2:4]) / 2,
        "env/a_last": sum(of_both[4:]) / 2,
        "env/left/own": (3 + 5) / 2,
    }
    world["rollout_truncated"] = torch.tensor([[True, False]] + [[False] * 2] * 3)
    metrics.add_up()  # without begin(): one more episode of env 0, of rows 2, 4, 8 and 1
    added = metrics.of_sums(metrics.sums().tolist())
    assert (added["env/a_sum"], added["env/a_last"]) == ((13 + 128 + 15) / 3, (1 + 8 + 1) / 3)


# ---- in a run --------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_run_logs_them(tmp_path: Path) -> None:
    data = {
        "name": "tests.trainers.measured:Measured",
        "trainer": {"device": "cpu", "num_envs": 4, "num_steps": 8, "total_env_steps": 4 * 8 * 3, "seed": 5},
        "policy": {"left": {"num_minibatches": 1}, "right": {"algorithm": "random"}},
    }
    seen: list[dict[str, Any]] = []
    Trainer(config_from_dict(data)).train(None, seen.append)
    trajectory = MeasuredEpisodes(4, seed=5)
    for metrics in seen:
        of_trajectory = expected(trajectory.steps(8))
        own = {name: value for name, value in metrics.items() if name.startswith("env/")}
        assert own == pytest.approx(of_trajectory, rel=1e-12)
    assert list(seen[0])[4:12] == [
        "charts/episodes",
        "charts/episodic_length",
        "charts/left/episodic_return",
        "charts/right/episodic_return",
        "env/left/height",
        "env/right/height",
        "env/left/leaps",
        "env/right/leaps",
    ]


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(metric="men"), "array 'tags': metric='men', expected 'mean', 'sum' or 'last'. Did you mean 'mean'?"),
        (dict(metric=True), "array 'tags': metric=True, expected 'mean', 'sum' or 'last'."),
        (dict(metric="sum", per="world"), "array 'tags': a metric is per agent or per env, this is per world"),
        (dict(metric="sum", shape=(2,)), "array 'tags': a metric is one number per agent, this has shape (2,)"),
        (
            dict(metric="sum", shape=(1,), per="env"),
            "array 'tags': a metric is one number per env, this has shape (1,)",
        ),
        (
            dict(metric="sum", dtype="uint8"),
            "array 'tags': a metric is one of bool, int32, float32, this is uint8",
        ),
    ],
)
def test_arrays_that_are_no_metric(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Array("tags", **{"dtype": "int32", **options})
    assert str(caught.value) == message
