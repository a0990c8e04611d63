"""When ended envs are reset changes no env's trajectory: worlds of each kind, in each of the three ways."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.small_worlds import each_kind
from tests.envs.test_contract import make
from tests.envs.trajectories import Driver, ended, per_env, values
from warpworld import World
from warpworld.environment import action_heads, get_environment

NUM_ENVS, CALLS = 12, 150


class Actions:
    """Random actions that depend on an env and on how many steps it has made, not on calls."""

    def __init__(self, world: World) -> None:
        self._world, self._made = world, np.zeros(world.num_envs, np.int64)
        generator = np.random.default_rng(3)
        self._drawn = {}
        for group in world.groups.values():
            heads, parts = action_heads(group.action), world[world.action_array(group.name)[0]].shape[-1]
            shape = (CALLS, world.num_envs, group.size, parts)
            self._drawn[group.name] = generator.integers(0, heads, shape) if heads else generator.uniform(-1, 1, shape)

    def act(self, steps: np.ndarray) -> None:
        """Put the next actions in place; ``steps``, (num_envs,) bool, are the envs that will make a step."""
        envs = np.arange(self._world.num_envs)
        for name, drawn in self._drawn.items():
            array, first = self._world.action_array(name)
            view = self._world[array][:, first : first + drawn.shape[2]]
            view.copy_(torch.from_numpy(drawn[np.minimum(self._made, CALLS - 1), envs]))
        self._made += steps


def events(world: World, name_of_last: str) -> dict[int, list[tuple[str, bytes]]]:
    """What happens to each env: its steps, each with what was seen, rewards and ends, and what episodes begin with."""
    world.reset()
    actions, found = Actions(world), defaultdict(list)
    seen = [name for name in world.data if name.startswith("observations")]

    def note(kind: str, envs: np.ndarray, names: list[str]) -> None:
        for env in np.flatnonzero(envs):
            found[int(env)].append((kind, b"".join(world.data.numpy(name)[env].tobytes() for name in names)))

    note("reset", np.ones(world.num_envs, bool), seen)
    outcome = ["rewards", "terminated", "truncated"]
    for _ in range(CALLS):
        over = ended(world)
        waits = over if world.autoreset != "same_step" else np.zeros_like(over)
        actions.act(~waits)
        if world.autoreset == "disabled" and over.any():
            world.reset(torch.from_numpy(over))
            note("reset", over, seen)
            waits = np.zeros_like(over)
            actions._made += over
        world.step()
        if world.autoreset == "same_step":
            now = ended(world)
            finals = [f"{name_of_last}{name}" for name in seen]
            note("step", ~now, [*seen, *outcome])
            note("step", now, [*finals, *outcome])
            note("reset", now, seen)
        else:
            note("step", ~waits, [*seen, *outcome])
            note("reset", waits, seen)
            assert not world["rewards"].cpu().numpy()[waits].any()
    return found


@pytest.mark.heavy
@each_kind
def test_an_env_walks_the_same_trajectory(name: str, params: dict[str, Any]) -> None:
    trajectories = [events(make(name, params, NUM_ENVS), "final_")]
    for autoreset in ("next_step", "disabled"):
        world = World(get_environment(name)(**params), NUM_ENVS, "cpu", num_workers=1, autoreset=autoreset)
        trajectories.append(events(world, ""))
    for env in range(NUM_ENVS):
        length = min(len(trajectory[env]) for trajectory in trajectories)
        first, *others = (trajectory[env][:length] for trajectory in trajectories)
        assert all(other == first for other in others), env
        assert sum(kind == "reset" for kind, _ in first) > 2


@each_kind
def test_of_some_envs_alone(name: str, params: dict[str, Any]) -> None:
    """``step_some`` keeps every bit of the others, and those that it steps go where a whole step takes them."""
    some = World(get_environment(name)(**params), 5, "cpu", num_workers=1)
    whole = World(get_environment(name)(**params), 5, "cpu", num_workers=1)
    for world in (some, whole):
        world.reset()
    driver = Driver(some)
    ends = 0
    for mask in [*range(32), *range(32)]:
        chosen = torch.tensor([bool(mask >> env & 1) for env in range(5)], device=some.device)
        driver.act()
        before = values(some)
        whole.restore(some.snapshot())
        whole.step()
        some.step_some(chosen)
        now, expected, moved = values(some), values(whole), chosen.cpu().numpy()
        for array in per_env(some):
            assert now[array][~moved].tobytes() == before[array][~moved].tobytes(), array
            assert now[array][moved].tobytes() == expected[array][moved].tobytes(), array
        ends += int(ended(some)[moved].sum())
        some.restore(whole.snapshot())
    assert ends > 0


@pytest.mark.parametrize("autoreset", ["next_step", "disabled"])
@each_kind
def test_of_some_envs_alone_that_wait_for_a_reset(name: str, params: dict[str, Any], autoreset: Any) -> None:
    worlds = [World(get_environment(name)(**params), 5, "cpu", num_workers=1, autoreset=autoreset) for _ in range(2)]
    some, whole = worlds
    for world in worlds:
        world.reset()
    driver, waited = Driver(some), 0
    for count, mask in enumerate([*range(32)] * 3):
        chosen = torch.tensor([bool(mask >> env & 1) for env in range(5)], device=some.device)
        driver.act()
        before, waits = values(some), ended(some)
        whole.restore(some.snapshot())
        whole.step()
        some.step_some(chosen)
        now, expected, moved = values(some), values(whole), chosen.cpu().numpy()
        for array in per_env(some):
            if array != "resetting":
                assert now[array][~moved].tobytes() == before[array][~moved].tobytes(), array
                assert now[array][moved].tobytes() == expected[array][moved].tobytes(), array
        if autoreset == "next_step":
            assert now["resetting"].tolist() == (waits & moved).tolist()
        else:
            assert all(now[array][waits].tobytes() == before[array][waits].tobytes() for array in per_env(some))
        waited += int((waits & moved).sum())
        some.restore(whole.snapshot())
        if autoreset == "disabled" and count % 20 == 19:
            some.reset(some["terminated"] | some["truncated"])
    assert waited > 0
