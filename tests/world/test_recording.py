"""Rows of a rollout, and final observations kept in slots."""

from __future__ import annotations

import pytest
import torch

from tests.world.walks import Toy, trajectory
from warpworld import Array, World
from warpworld.errors import StoreError


def row(name: str) -> Array:
    """What holds the number of the row that is recorded."""
    return Array(name, "int32", per="world", initial=0)


class TestRecording:
    def test_rows(self, walk: Toy) -> None:
        world, rows = walk(goal=4), 4
        world.add(row("at"))
        shapes = {"rewards": (6, 2), "terminated": (6,), "x": (6, 2)}
        for name, shape in shapes.items():
            dtype = {"rewards": "float32", "terminated": "bool", "x": "int32"}[name]
            world.add(Array(f"rollout_{name}", dtype, (rows, *shape), per="world"), kept="derived")
            world.record(name, f"rollout_{name}", "at")
        world.request("final_observations")
        world.reset()
        for t in range(rows):
            world.step()
            assert torch.equal(world["rollout_rewards"][t], world["rewards"])
            assert torch.equal(world["rollout_terminated"][t], world["terminated"])
            # of the step, not of the reset that followed it
            ended = world["terminated"]
            assert torch.equal(world["rollout_x"][t][ended].float(), world["final_observations"][ended][..., 0])
            assert torch.equal(world["rollout_x"][t][~ended], world["x"][~ended])
            world["at"].add_(1)
        assert world["rollout_terminated"].any()

    def test_the_same_row_again(self, walk: Toy) -> None:
        world = walk()
        world.add(Array("rollout", "float32", (2, 6, 2), per="world", initial=-1.0))
        world.add(row("at"))
        world.record("rewards", "rollout", "at")
        world.reset()
        world["at"] = 1
        trajectory(world, 3)
        assert torch.equal(world["rollout"][1], world["rewards"])
        assert (world["rollout"][0] == -1.0).all()

    def keep_in_slots(self, world: World, slots: int = 4) -> None:
        world.add(Array("kept", "float32", (slots, 2, 1), per="env", initial=-1.0))
        world.add(Array("kept_row", "int32", (slots,), per="env", initial=-1))
        world.add(Array("kept_count", "int32", per="env", initial=0))
        world.keep_final("observations", "kept", "kept_row", "kept_count", "at")

    def keeping(self, world: World, slots: int) -> World:
        world.add(row("at"))
        self.keep_in_slots(world, slots)
        world.request("final_observations")
        world.reset()
        return world

    def test_final_observations_of_truncated_envs_in_slots(self, walk: Toy) -> None:
        world = self.keeping(walk(goal=4, episode_length=3), slots=4)
        expected: list[list[tuple[int, float]]] = [[] for _ in range(6)]
        terminated = 0
        for t in range(9):
            world["at"] = t
            world.step()
            terminated += int(world["terminated"].sum())
            for env in torch.nonzero(world["truncated"] & ~world["terminated"]).flatten().tolist():
                expected[env].append((t, world["final_observations"][env, 0, 0].item()))
        assert terminated and any(expected)
        assert world["kept_count"].tolist() == [len(kept) for kept in expected]
        for env, kept in enumerate(expected):
            for slot, (row, value) in enumerate(kept):
                assert world["kept_row"][env, slot] == row
                assert world["kept"][env, slot, 0, 0] == value
            assert (world["kept_row"][env, len(kept) :] == -1).all()
            assert (world["kept"][env, len(kept) :] == -1.0).all()

    def test_no_more_than_there_are_slots(self, walk: Toy) -> None:
        world = self.keeping(walk(episode_length=1), slots=2)
        for t in range(5):
            world["at"] = t
            world.step()
        assert world["kept_count"].tolist() == [2] * 6
        assert world["kept_row"].tolist() == [[0, 1]] * 6
        world["kept_count"] = 0
        world.step()
        assert world["kept_row"].tolist() == [[4, 1]] * 6

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            (
                Array("rollout", "float32", (3, 6), per="world"),
                r"array 'rollout' is \(3, 6\) float32; 'rewards', \(6, 2\) float32, is copied into it, so it must be "
                r"\(3, 6, 2\) float32",
            ),
            (Array("rollout", "float64", (3, 6, 2), per="world"), r"so it must be \(3, 6, 2\) float32"),
            (Array("rollout", "float32", per="world"), r"so it must be \(6, 2\) float32"),
        ],
    )
    def test_rows_that_do_not_fit(self, walk: Toy, target: Array, message: str) -> None:
        world = walk()
        world.add(target)
        world.add(row("at"))
        world.record("rewards", "rollout", "at")
        with pytest.raises(StoreError, match=message):
            world.reset()

    def test_without_rows(self, walk: Toy) -> None:
        world = walk(goal=4)
        world.add(Array("x_of_step", "int32"))
        world.record("x", "x_of_step")
        world.request("final_observations")
        world.reset()
        ended = torch.zeros(6, dtype=torch.bool)
        for _ in range(8):
            world.step()
            ended = world["terminated"]
            assert torch.equal(world["x_of_step"][ended].float(), world["final_observations"][ended][..., 0])
            assert torch.equal(world["x_of_step"][~ended], world["x"][~ended])
            if ended.any():
                return
        raise AssertionError("no episode ended")

    def test_two_rows_side_by_side(self, walk: Toy) -> None:
        """A short rollout of one thing and a longer ring of another are recorded in one step."""
        world = walk()
        for name, rows in (("short", 2), ("long", 3)):
            world.add(row(f"{name}_row"))
            world.add(Array(name, "float32", (rows, 6, 2), per="world", initial=-1.0))
            world.record("rewards", name, f"{name}_row")
        world.reset()
        rewards = []
        for t in range(5):
            world["short_row"], world["long_row"] = t % 2, t % 3
            world.step()
            rewards.append(world["rewards"].clone())
        assert torch.equal(world["short"], torch.stack([rewards[4], rewards[3]]))
        assert torch.equal(world["long"], torch.stack([rewards[3], rewards[4], rewards[2]]))

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (Array("at", "int64", per="world"), r"array 'at' is \(\) int64, expected \(\) int32"),
            (Array("at", "int32", per="env"), r"array 'at' is \(6,\) int32, expected \(\) int32"),
            (Array("att", "int32", per="world"), r"no array 'at'. Did you mean 'att'\?"),
        ],
    )
    @pytest.mark.parametrize("kept", [False, True])
    def test_a_row_that_is_none(self, walk: Toy, given: Array, message: str, kept: bool) -> None:
        world = walk()
        world.add(given)
        if kept:
            self.keep_in_slots(world)
        else:
            world.add(Array("rollout", "float32", (3, 6, 2), per="world"))
            world.record("rewards", "rollout", "at")
        with pytest.raises(StoreError, match=message):
            world.reset()

    def test_unknown_arrays(self, walk: Toy) -> None:
        world = walk()
        world.record("reward", "rollout")
        with pytest.raises(StoreError, match=r"no array 'reward'. Did you mean 'rewards'"):
            world.reset()

    @pytest.mark.parametrize(
        ("name", "array", "message"),
        [
            (
                "kept",
                Array("kept", "float32", (4, 2), per="env"),
                r"'kept' is \(6, 4, 2\) float32.*must be \(6, 4, 2, 1\)",
            ),
            (
                "rows",
                Array("rows", "int32", (3,), per="env"),
                r"array 'rows' is \(6, 3\) int32, expected \(6, 4\) int32",
            ),
            ("used", Array("used", "int64", per="env"), r"array 'used' is \(6,\) int64, expected \(6,\) int32"),
        ],
    )
    def test_slots_that_do_not_fit(self, walk: Toy, name: str, array: Array, message: str) -> None:
        fitting = {
            "kept": Array("kept", "float32", (4, 2, 1), per="env"),
            "rows": Array("rows", "int32", (4,), per="env"),
            "used": Array("used", "int32", per="env"),
        }
        world = walk()
        for each in {**fitting, name: array}.values():
            world.add(each)
        world.add(row("at"))
        world.keep_final("observations", "kept", "rows", "used", "at")
        with pytest.raises(StoreError, match=message):
            world.reset()
