"""Deathmatch's opponents that learn nothing."""

from __future__ import annotations

import numpy as np
import torch

from tests.envs.deathmatch.fights import BOX, FOUR, HOMES, act, made, place, random_step
from tests.scripts import script_outputs
from warpworld import World

HEADS = (5, 5, 2)


def logits(world: World, name: str, group: str = "player") -> torch.Tensor:
    return script_outputs(world, name, group)


def chosen(world: World, name: str, group: str = "player") -> np.ndarray:
    """What a script that is sure chooses: (num_envs, group size, 3)."""
    found = logits(world, name, group)
    assert found.dtype == torch.float32
    assert found.shape == (world.num_envs, world.groups[group].size, 12)
    parts = found.split(HEADS, -1)
    assert all((part.softmax(-1).amax(-1) > 0.9999).all() for part in parts)
    return torch.stack([part.argmax(-1) for part in parts], -1).cpu().numpy()


def step(world: World, first: np.ndarray, move: int = 0) -> None:
    """The turret's actions, and a move of the other."""
    shape = (world.num_envs, 2)
    heads = [np.full(shape, move), np.zeros(shape, int), np.zeros(shape, int)]
    for head, part in enumerate(heads):
        part[:, 0] = first[:, 0, head]
    act(world, *heads)


def test_a_turret_shoots_whoever_comes_into_view() -> None:
    """From anywhere in a box, whichever way it looks and however it spins: all its shots hit, and soon kill."""
    world, draws = made(200, kills_to_win=1, **BOX), np.random.default_rng(0)
    number = world.data.numpy
    world["angvelocity"][:] = torch.as_tensor(draws.uniform(-140.0, 140.0, (200, 2)))
    first_shot, ended = np.zeros(200, dtype=int), np.zeros(200, dtype=int)
    for i in range(1, 161):  # slowly turning, it has looked everywhere by then
        alive = ended == 0
        step(world, chosen(world, "turret"))
        shot = number("shot")[:, 0]
        assert not (alive & (shot == -1)).any()
        first_shot[alive & (shot >= 0) & (first_shot == 0)] = i
        ended[alive & number("terminated")] = i
    assert (first_shot > 0).all()
    assert (ended > 0).all()
    assert (ended - first_shot >= 15).all()  # four shots, five steps from one to the next
    assert np.median(ended - first_shot) == 15


def test_a_turret_comes_to_rest_on_its_aim() -> None:
    """From rest it turns beyond its aim by less than the cone is wide, and stays on it."""
    world, draws = made(300, damage=0.001, **{**BOX, "fov": 179.0}), np.random.default_rng(1)
    place(world, [[2.0, 3.5], [5.0, 3.5]], np.stack([draws.uniform(-89.0, 89.0, 300), np.zeros(300)], 1))
    side, beyond = np.sign(world.data.numpy("angles")[:, 0]), np.zeros(300)
    for _ in range(60):
        step(world, chosen(world, "turret"))
        off = world.data.numpy("angles")[:, 0]
        beyond = np.maximum(beyond, -side * off * (np.abs(off) < 90.0))
    assert beyond.max() < 1.5
    assert np.abs(world.data.numpy("angles")[:, 0]).max() < 1.0


def test_a_turret_does_not_see_behind_itself() -> None:
    world = made(100, **{**BOX, "fov": 90.0})
    behind = np.linspace(46.0, 180.0, 100)
    place(world, [[2.0, 3.5], [5.0, 3.5]], np.stack([-behind, np.zeros(100)], 1))
    act(world)
    assert world.data.numpy("in_sight")[:, 0, 1].all()
    assert (chosen(world, "turret")[:, 0] == [0, 3, 0]).all()  # slightly to the left
    place(world, [[2.0, 3.5], [5.0, 3.5]], np.stack([-behind / 4.1, np.zeros(100)], 1))
    assert (chosen(world, "turret")[:, 0, 1] != 0).all()


def test_a_turret_does_not_fire_at_walls() -> None:
    """Where nobody is in sight it only turns, slowly; where somebody is, that is whom it shoots at."""
    world, draws = made(100, **HOMES), np.random.default_rng(2)
    number, hidden, fired = world.data.numpy, 0, 0
    for _ in range(90):
        in_sight = number("in_sight")[:, 0, 1].copy()
        first = chosen(world, "turret")
        assert not first[~in_sight, 0, 2].any()
        assert (first[~in_sight, 0, 1] == 3).all()
        assert (first[..., 0] == 0).all()
        hidden += int((~in_sight).sum())
        step(world, first, move=int(draws.integers(1, 5)))
        fired += int((number("shot")[in_sight, 0] >= 0).sum())
    assert hidden > 1000
    assert fired > 100
    spin = np.abs(number("angvelocity")[~number("in_sight")[:, 0, 1], 0])
    assert np.median(spin) < 40.0


def test_a_turret_takes_the_nearest_of_several() -> None:
    world = made(2, **{**BOX, "fov": 120.0}, **FOUR)
    place(world, [[3.5, 3.5], [4.5, 4.5], [4.3, 2.7], [3.0, 3.5]], [0.0, 0.0, 0.0, 0.0])
    act(world)  # so that in_sight is of these places
    assert (chosen(world, "turret")[:, 0, 1] == 4).all()  # to the right; who is nearer still is behind it
    assert chosen(world, "turret", "rival").shape == (2, 2, 3)
    random_step(world, np.random.default_rng(0))


def test_a_walker_goes_everywhere_and_fires_once_in_twenty_steps() -> None:
    world = made(400, **BOX)
    parts = [part.softmax(-1) for part in logits(world, "walker").cpu().split(HEADS, -1)]
    assert torch.allclose(parts[2][..., 1], torch.tensor(0.05), atol=1e-4)
    assert (parts[0][..., 3] > 0.5).all()
    assert torch.allclose(parts[1], torch.tensor(0.2))
