"""Scripts that are kernels: one launch plays a group in whatever envs are the script's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.toys import agents, environment
from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import same_logits
from warpworld import Environment, Group, Kernel
from warpworld.environment import Script
from warpworld.errors import BindError, DeclarationError
from warpworld.trainers.collecting.acting import InOneCall
from warpworld.trainers.collecting.players import Player, Scripted, Slot
from warpworld.world import World

SOURCE = Path(__file__).with_name("scripted.cu")
CHOICES, STEPS = 5, 6
# groups whose agents lie between each other's
GROUPS = [
    Group("even", 3, agents(features=1).observation, agents(choices=CHOICES).action, agents=range(0, 5, 2)),
    Group("odd", 2, agents(features=1).observation, agents(choices=CHOICES).action, agents=range(1, 4, 2)),
]
COUNTS, PERSISTS = Scripted("counts", "counts"), Scripted("persists", Kernel("persists", threads_per_env=(1, 2)))
ZEROS = Scripted("zeros", lambda arrays, group: torch.eye(CHOICES, device=arrays["timestep"].device)[0].mul(99).expand(
    len(arrays["timestep"]), group.size, CHOICES
))  # fmt: skip


def with_scripts(scripts: dict[str, Any], source: Path | None = SOURCE) -> Environment:
    phases, resets = ([], []) if source is None else (["step"], ["reset"])
    made = environment(source, groups=GROUPS, phases=phases, resets=resets)
    type(made).scripts = lambda self: scripts  # type: ignore[method-assign]
    return made


def world_of(num_envs: int) -> World:
    scripts: dict[str, Script] = {each.name: each.script for each in (COUNTS, PERSISTS, ZEROS)}
    return World(with_scripts(scripts), num_envs)


def expected(player: Player, agent: int, steps: np.ndarray) -> np.ndarray:
    if player is COUNTS:
        return (steps + agent) % CHOICES
    return np.full(len(steps), CHOICES - 1 if player is PERSISTS else 0)


def check(world: World, players: dict[str, list[tuple[slice, Player]]], timestep: np.ndarray) -> None:
    """That all that acts in these envs chose what it always chooses."""
    for name, of_group in players.items():
        actions = world[f"rollout_actions_{name}"][..., 0].cpu().numpy()
        for envs, player in of_group:
            for place, agent in enumerate(world.groups[name].numbers):
                wanted = expected(player, agent, timestep)[:, None]
                assert (actions[:, envs, place] == wanted).all(), (name, envs, agent)


@pytest.mark.parametrize("graph_steps", [0, STEPS])
def test_each_range_acts_with_its_own_player_also_after_an_exchange(graph_steps: int) -> None:
    """Two kernels, a function and a policy, in groups whose agents alternate."""
    world, own = world_of(11), same_logits([9.0, -99.0, -99.0, -99.0, -99.0])
    first, second, third = (
        Slot(("even", "odd"), slice(2, 5), COUNTS),
        Slot(("even",), slice(5, 8), PERSISTS),
        Slot(("even",), slice(8, 10), COUNTS),
    )
    policies: dict[str, Any] = {"even": own, "odd": PERSISTS}
    rollout = Recorded(world, policies, STEPS, graph_steps, slots=[first, second, third])
    world.reset()
    timestep = np.arange(STEPS) % 4

    def played() -> None:
        rollout.collect()
        slots = {name: [(slot.envs, slot.player) for slot in rollout.slots if name in slot.groups] for name in policies}
        rest = {"even": [slice(0, 2), slice(10, 11)], "odd": [slice(0, 2), slice(5, 11)]}
        players = {name: [*slots[name], *((envs, policies[name]) for envs in rest[name])] for name in policies}
        check(world, players, timestep)

    played()
    world.reset()
    first.player, second.player, third.player = PERSISTS, ZEROS, PERSISTS
    played()
    world.reset()
    first.player, second.player, third.player = COUNTS, COUNTS, own
    played()
    # where nobody decides any more, whatever is allowed is drawn
    first.player = second.player = None
    rollout.collect()
    assert world["rollout_actions_even"][:, 2:8].unique().tolist() == list(range(CHOICES))


@pytest.mark.cpu_backend
def test_a_rollout_of_kernels_is_one_call_on_a_cpu() -> None:
    """And it is what the same steps give one by one, from Python."""
    found = []
    for in_one_call in (True, False):
        world = World(with_scripts({"counts": "counts"}), 7, "cpu")
        slots = [Slot(("even",), slice(1, 4), COUNTS)]
        rollout = Recorded(world, {"even": None, "odd": COUNTS}, STEPS, 0, slots)
        rollout.in_one_call = in_one_call
        world.reset()
        rollout.collect()
        assert isinstance(rollout.acting(), InOneCall) == in_one_call
        found.append([world[f"rollout_actions_{group}"].clone() for group in ("even", "odd")])
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize(
    ("scripts", "message"),
    [
        ({"counts": "count"}, r"no `__global__` function 'count'. Did you mean 'counts'\?"),
        ({"counts": 7}, "Toy: script 'counts' is 7, expected a kernel's name, a Kernel or a function"),
        (
            {"idle": Kernel("idles", arguments=(1,))},
            "Toy: script 'idle' lists the arguments of its kernel 'idles' in order, expected a mapping",
        ),
    ],
)
def test_a_script_that_is_none_is_refused(scripts: dict[str, Any], message: str) -> None:
    with pytest.raises((DeclarationError, BindError), match=message):
        World(with_scripts(scripts), 1, "cpu")


def test_a_script_needs_a_file_for_its_kernel() -> None:
    made = with_scripts({"counts": "counts"}, source=None)
    with pytest.raises(DeclarationError, match="script 'counts' is the kernel 'counts', but the class has no `source`"):
        World(made, 1, "cpu")


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("idles", r"kernel 'idles' is a script, but has no outputs; include <script.cuh> and take `Played played`"),
        ("mistakes", r"no array of that name. Did you mean 'timestep'\?"),
    ],
)
def test_a_kernel_that_cannot_play_is_named_when_the_store_is_sealed(kernel: str, message: str) -> None:
    world = World(with_scripts({"wrong": kernel}), 3, "cpu")
    Recorded(world, {"even": Scripted("wrong", kernel), "odd": None}, 2, 0)
    with pytest.raises(BindError, match=message):
        world.reset()
