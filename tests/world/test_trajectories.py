"""Env i's trajectory is its own, and goes on from a snapshot."""

from __future__ import annotations

import pytest
import torch

from tests.world.walks import Toy, trajectory
from warpworld.errors import StoreError
from warpworld.managers.devices import open_backend


class TestTrajectories:
    """Env i's trajectory is its own."""

    def test_the_same_for_any_number_of_envs_and_workers(self, walk: Toy) -> None:
        expected = None
        for num_envs, num_workers in ((3, 1), (700, 1), (700, 2)):
            world = walk(goal=5, episode_length=9, num_envs=num_envs, num_workers=num_workers, seed=3)
            world.reset()
            rows = [column[:, :3] for column in trajectory(world, 25)]
            expected = expected or rows
            for one, other in zip(rows, expected, strict=True):
                assert torch.equal(one, other)

    def test_part_of_a_world_spread_over_processes(self, walk: Toy) -> None:
        whole, part = walk(goal=5), walk(goal=5, num_envs=2, first_env=4)
        for world in (whole, part):
            world.reset()
        for one, other in zip(trajectory(whole, 10), trajectory(part, 10), strict=True):
            assert torch.equal(one[:, 4:], other)

    @pytest.mark.parametrize("envs_per_warp", [1, 5, 8, 16])
    def test_the_same_where_envs_share_a_warp(self, walk: Toy, envs_per_warp: int) -> None:
        if 2 * envs_per_warp > open_backend("cpu").warp_size:
            pytest.skip("the device's warps are narrower")
        plain, packed = walk(goal=5, num_envs=21), walk(goal=5, num_envs=21, envs_per_warp=envs_per_warp)
        for world in (plain, packed):
            world.reset()
        for one, other in zip(trajectory(plain, 20), trajectory(packed, 20), strict=True):
            assert torch.equal(one, other)

    def test_seeds(self, walk: Toy) -> None:
        def of_seed(seed: int) -> torch.Tensor:
            world = walk(seed=seed)
            world.reset()
            return trajectory(world, 8)[0]

        assert torch.equal(of_seed(7), of_seed(7))
        assert not torch.equal(of_seed(7), of_seed(8))
        assert not torch.equal(of_seed(7), of_seed(7 + 2**32))

    def test_goes_on_from_a_snapshot(self, walk: Toy) -> None:
        world = walk(goal=5, episode_length=7)
        world.reset()
        trajectory(world, 5)
        kept = world.snapshot()
        expected = trajectory(world, 12)
        world.restore(kept)
        for one, other in zip(trajectory(world, 12), expected, strict=True):
            assert torch.equal(one, other)
        with pytest.raises(StoreError, match="it comes from another world"):
            world.restore(kept[:-1])

    def test_two_worlds_of_one_source_do_not_meet(self, walk: Toy) -> None:
        alone, first, second = walk(seed=1), walk(seed=1), walk(seed=2, num_envs=9)
        for world in (alone, first, second):
            world.reset()
        expected = trajectory(alone, 6)[0]
        rows = []
        for _ in range(6):
            first.step()
            second.step()
            rows.append(first["x"].clone())
        assert torch.equal(torch.stack(rows), expected)
