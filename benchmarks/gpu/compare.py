"""Every registered env on cuda against the same env on cpu: same seed, same actions, step by step.

Integers and flags are equal. Floats are within ``TOLERANCE``; where libm functions make them, both sides are put back
to the cpu's state after every step, so that a difference cannot grow. Built without fused multiply-add, what a reset
makes of Philox numbers is bit for bit the same, but for what libm functions make of them, and so is the whole
trajectory of an env that calls none.

Where agents see the nearest others in order, two others whose distances are equal but for rounding may change places.
The rows of observations in which that shows are counted, and are at most one in ``ROWS_IN_OTHER_ORDER``. In floor plans
a ray that grazes the end of a wall may meet it or not, and all that its agent sees and is paid follows; the steps of
envs in which that shows are counted, and are at most one in ``STEPS_THAT_GRAZE``. (On cpu, fused multiply-add alone
makes it one in 300 to 5,000, as measured.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import warpworld
from warpworld import Environment, World
from warpworld.environment import get_environment, packaged_names
from warpworld.eyes.indoor import Indoor
from warpworld.managers.cpu.workers import available_cores
from warpworld.managers.data_manager import DataManager
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.rollout import Rollout

from ..worlds import random_actions
from .companions import Companions
from .crowd import Crowd
from .part import Context
from .workers import Job, run_jobs

AT_ONCE = 4  # worlds: beside themselves on cpu, all of them took 94 s of processor time
NUM_ENVS, NUM_STEPS = 32, 500
TOLERANCE = 1e-5  # absolute, and relative to the cpu's value
ROWS_IN_OTHER_ORDER = 10_000
STEPS_THAT_GRAZE = 100
SEED = 7


@dataclass(frozen=True)
class ComparedWorld:
    """A world to compare.

    Attributes:
        name: of the environment.
        params: its parameters.
        libm: whether its steps call sinf or the like, which differ in the last bits.
        libm_columns: columns of observations that a libm function makes, in a reset too.
        nearest: whether observations are in the order of distances.
        rays: whether agents see by rays; then libm has a part in all that they see.
        num_envs: envs.
        num_steps: steps.
        own: the environment, where it is not a registered one.
    """

    name: str
    params: Mapping[str, Any]
    libm: bool = True
    libm_columns: tuple[int, ...] = ()
    nearest: bool = False
    rays: bool = False
    num_envs: int = NUM_ENVS
    num_steps: int = NUM_STEPS
    own: type[Environment] | None = None

    @property
    def kind(self) -> type[Environment]:
        """The environment's class."""
        return self.own or get_environment(self.name)


Course = ComparedWorld  # the name that scripts for a day on a GPU import

COMPARED_WORLDS = (
    ComparedWorld("battle", {}),
    ComparedWorld("battle", {"army_size": 1000, "map_size": 90}, num_envs=2, num_steps=60),
    ComparedWorld("cartpole", {"episode_length": 60}),
    ComparedWorld("connect_four", {}, libm=False),
    ComparedWorld("hide_and_seek", {"boxes": 3, "doors": 2, "random_rooms": True, "lidar_rays": 30}, libm=False),
    ComparedWorld("hide_and_seek", {"rooms": 4, "long_boxes": 2, "ramps": 4, "lidar_rays": 8}, libm=False),
    ComparedWorld("minatar_asterix", {}, libm=False),
    ComparedWorld("minatar_breakout", {}, libm=False),
    ComparedWorld("minatar_freeway", {"episode_length": 60}, libm=False),
    ComparedWorld("minatar_seaquest", {}, libm=False),
    ComparedWorld("minatar_space_invaders", {}, libm=False),
    ComparedWorld("tic_tac_toe", {}, libm=False),
    ComparedWorld("pendulum", {"episode_length": 60}, libm_columns=(0, 1)),  # cosine and sine of the angle
    ComparedWorld("recall", {"delay": 5}, libm=False),
    ComparedWorld("tag_gridworld", {"num_taggers": 4, "grid_length": 8}, libm=False),
    ComparedWorld("tag_gridworld", {"num_taggers": 4, "grid_length": 8, "use_full_observation": False}, libm=False),
    *(
        ComparedWorld(
            "tag_gridworld",
            {"num_taggers": taggers, "grid_length": 100, "use_full_observation": False},
            libm=False,
            num_envs=2,
            num_steps=60,
        )
        for taggers in (1999, 9999)
    ),
    ComparedWorld(
        "tag_continuous",
        {"num_taggers": 100, "num_runners": 1900, "grid_length": 140.0, "use_full_observation": False},
        nearest=True,
        num_envs=2,
        num_steps=60,
    ),
    ComparedWorld("crowd, in turns", {"agents": 2000}, libm=False, num_envs=3, num_steps=60, own=Crowd),
    ComparedWorld("crowd, in turns", {"agents": 10_000}, libm=False, num_envs=2, num_steps=60, own=Crowd),
    ComparedWorld(
        "tag_continuous",
        {"num_taggers": 5, "num_runners": 20, "use_full_observation": True, "observe_own_state": True},
        libm_columns=(-3, -2),  # cosine and sine of the own direction
    ),
    ComparedWorld(
        "tag_continuous",
        {
            "num_taggers": 10,
            "num_runners": 100,
            "grid_length": 60.0,
            "tagging_distance": 0.02,
            "use_full_observation": False,
            "num_other_agents_observed": 10,
        },
        nearest=True,
    ),
    ComparedWorld(
        "tag_continuous",
        {
            "num_taggers": 50,
            "num_runners": 950,
            "grid_length": 100.0,
            "use_full_observation": False,
            "num_other_agents_observed": 10,
        },
        nearest=True,
        num_envs=2,
        num_steps=60,
    ),
    ComparedWorld("deathmatch", {}, rays=True),
    # wherever agents look they hit another, so that every step is full of shots, deaths and new lives
    ComparedWorld(
        "deathmatch",
        {"players": 2, "rivals": 2, "plans": "box", "res": 32, "fire_cone": 80.0, "cooldown": 1, "kills_to_win": 9},
        rays=True,
    ),
    # in a box, where an agent is hit in many steps
    ComparedWorld(
        "deathmatch",
        {"players": 2, "rivals": 2, "plans": "box", "res": 32, "megastep_rules": True, "episode_length": 60},
        rays=True,
    ),
    ComparedWorld("companions, of blocks", {}, rays=True, own=Companions),
)


# What the suite measures comes first: each is also an example of what others do.
FIRST = ("tag_gridworld", "tag_continuous", "cartpole", "minatar_breakout", "explorer", "point_goal", "deathmatch")


def compared_worlds() -> list[ComparedWorld]:
    """The worlds above, and one for every registered env that is not among them; the most telling first."""
    named = {compared.name for compared in COMPARED_WORLDS}
    others = [name for name in packaged_names() if name not in named]
    found = [
        *COMPARED_WORLDS,
        *(ComparedWorld(name, {}, rays=issubclass(get_environment(name), Indoor)) for name in others),
    ]
    return sorted(found, key=lambda compared: FIRST.index(compared.name) if compared.name in FIRST else len(FIRST))


def within_tolerance(context: Context) -> None:
    """Compare all as they are built by default."""
    _compare_all(context, exact=False)


def bit_for_bit(context: Context) -> None:
    """Built without fused multiply-add: no bit differs after a reset, nor in the steps of an env without libm."""
    _compare_all(context, exact=True)


def _compare_all(context: Context, exact: bool) -> None:
    # a kernel that faults spoils the GPU for its process alone; on cpu there is no such fault, and one process does
    for done in run_jobs(context, jobs_of(context, exact), AT_ONCE if context.device == "cuda" else 0):
        if done.found:
            context.row(**done.found)
        for difference in [done.fault] if done.fault else done.found["differences"]:
            context.wrong(f"{done.job.name}: {difference}")
    exactly = sum(row.get("bit_for_bit", False) for row in context.figures["rows"])
    context.holds(f"{len(compared_worlds())} worlds agree, {exactly} bit for bit; the same actions are drawn")


def jobs_of(context: Context, exact: bool) -> list[Job]:
    """The comparison of every world, and of the actions that are drawn."""
    steps = context.size(NUM_STEPS, 5)
    worlds = [
        Job(name_of(compared), ".compare:compare_one", (number, context.device, steps, exact))
        for number, compared in enumerate(compared_worlds())
    ]
    return [*worlds, Job("actions drawn from equal logits", ".compare:draws", (context.device,))]


def name_of(compared: ComparedWorld) -> str:
    """Name and parameters, for people."""
    return f"{compared.name} {dict(compared.params)}"


def compare_one(number: int, device: str, most_steps: int, exact: bool) -> dict[str, Any]:
    """Compare one world; returns its row."""
    compared = compared_worlds()[number]
    steps = min(compared.num_steps, most_steps)
    found = compare(compared, device, steps, exact)
    return {
        "world": compared.name,
        "params": dict(compared.params),
        "num_envs": compared.num_envs,
        "steps": steps,
        **found,
    }


def draws(device: str) -> dict[str, Any]:
    """Compare the actions that a rollout at random takes."""
    differences = [] if _draws_alike(device) else ["they differ"]
    return {"world": "tag_gridworld", "params": {}, "column": "draws", "differences": differences}


def compare(compared: ComparedWorld, device: str, num_steps: int, exact: bool) -> dict[str, Any]:
    """Step a world on cpu and one on ``device`` side by side.

    Args:
        compared: which world.
        device: of the second world.
        num_steps: how many.
        exact: hold the floats of a reset, and those of an env without libm, to the bit.

    Returns:
        ``differences``, in words and empty if all is well; ``largest_difference`` of a float; ``bit_for_bit``; how many
        ``episodes`` ended; ``rows_in_other_order``; ``steps_that_graze``.
    """
    cpu, other = worlds = [_world(compared, where) for where in ("cpu", device)]
    found = Differences(compared)
    found.look(cpu, other, step=0, exact=exact)
    generators = [np.random.default_rng(SEED) for _ in worlds]
    episodes = 0
    for step in range(1, num_steps + 1):
        for world, generator in zip(worlds, generators, strict=True):
            for name, values in random_actions(world, generator).items():
                world[name].copy_(values)
            world.step()
        found.look(cpu, other, step=step, exact=exact and not compared.libm)
        if len(found.differences) >= 5:
            break
        if compared.libm:
            other.restore(cpu.snapshot())
        episodes += int((cpu["terminated"] | cpu["truncated"]).sum())
    found.check_rows(num_steps)
    return {
        "differences": found.differences,
        "largest_difference": found.largest,
        "bit_for_bit": found.bit_for_bit,
        "episodes": episodes,
        "rows_in_other_order": found.rows,
        "steps_that_graze": found.grazed,
    }


def _draws_alike(device: str) -> bool:
    """Whether a rollout at random takes the same actions on both: Philox, and sums of ones."""
    taken = []
    for where in ("cpu", device):
        world = warpworld.make("tag_gridworld", num_envs=100, device=where, seed=SEED)
        collector = Collector(world, num_steps=32)
        for group in world.groups:
            collector.shared(Rollout).record(group, None)
        world.reset()
        collector.collect()
        taken.append({group: world[f"rollout_actions_{group}"].cpu() for group in world.groups})
    return all(torch.equal(taken[0][group], taken[1][group]) for group in taken[0])


def _world(compared: ComparedWorld, device: str) -> World:
    """A world of which nothing is undefined: what no reset writes is zero."""
    threads = max(1, available_cores() // AT_ONCE) if device == "cpu" else None
    world = World(compared.kind(**compared.params), compared.num_envs, device, num_workers=threads, seed=SEED)
    world.reset()
    for name in ("rewards", "terminated", "truncated", "agent_mask", "agent_terminated", "agent_truncated"):
        if name in world:
            world[name].zero_()
    for name in world.data:
        if name.startswith("actions"):
            world[name].zero_()
    world.reset()
    return world


def host_arrays(data: DataManager) -> dict[str, np.ndarray]:
    """All arrays of a store by name, from one copy of its block: a copy for each array takes most of a step's time."""
    block, views = data.block.cpu(), {name: data[name] for name in data}
    starts = {name: view.data_ptr() - data.block.data_ptr() for name, view in views.items()}
    return {
        name: block[starts[name] : starts[name] + view.nbytes].view(view.dtype).reshape(view.shape).numpy()
        for name, view in views.items()
        if view.numel()
    }


class Differences:
    """Differences between two worlds of one kind."""

    def __init__(self, compared: ComparedWorld) -> None:
        self._compared = compared
        self.differences: list[str] = []
        self.largest = 0.0
        self.bit_for_bit = True
        self.rows = 0
        self.grazed = 0

    def look(self, cpu: World, other: World, step: int, exact: bool) -> None:
        """Compare all arrays, but for scratch and for what says which envs a launch was for."""
        exact = exact and not self._compared.rays
        grazed = np.zeros(cpu.num_envs, bool)
        on_host = host_arrays(other.data)
        for name in cpu.data:
            if name == "active" or cpu.data.array(name).scratch or name not in on_host:
                continue
            expected, found = cpu.data.numpy(name), on_host[name]
            if expected.tobytes() == found.tobytes():
                continue
            self.bit_for_bit = False
            wrong = self._wrong(name, expected, found, exact)
            if self._compared.nearest and not exact and name.startswith("observations") and wrong.any():
                self.rows += int(wrong.any(-1).sum())
            elif self._compared.rays and cpu.data.array(name).per != "world":
                grazed |= wrong.reshape(cpu.num_envs, -1).any(1)
            elif wrong.any():
                self._say(name, step, expected, found, wrong)
        self.grazed += int(grazed.sum())

    def _wrong(self, name: str, expected: np.ndarray, found: np.ndarray, exact: bool) -> np.ndarray:
        """Entries of an array that differ more than they may."""
        if expected.dtype.kind == "f" and not exact:
            return self._far(expected, found)
        wrong = expected != found
        if name.startswith("observations") and (columns := list(self._compared.libm_columns)):
            wrong[..., columns] = self._far(expected[..., columns], found[..., columns])
        return wrong

    def _far(self, expected: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Floats that are not within the tolerance; what is no number on both sides is equal."""
        difference = np.abs(found.astype(np.float64) - expected)
        with np.errstate(invalid="ignore"):
            near = difference <= TOLERANCE * (1.0 + np.abs(expected))
        near |= (expected == found) | (np.isnan(expected) & np.isnan(found))
        if near.any():
            self.largest = max(self.largest, float(np.nan_to_num(difference[near], nan=0.0, posinf=0.0).max()))
        return ~near

    def _say(self, name: str, step: int, expected: np.ndarray, found: np.ndarray, wrong: np.ndarray) -> None:
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        self.differences.append(
            f"step {step}: {name}{list(place)} is {found[place]}, expected {expected[place]} "
            f"({int(wrong.sum())} of {wrong.size} entries)"
        )

    def check_rows(self, num_steps: int) -> None:
        """Refuse too many rows whose order differs, and too many steps in which a ray met something else."""
        params = self._compared.params
        agents = params.get("num_taggers", 0) + params.get("num_runners", 0)
        rows = self._compared.num_envs * agents * num_steps
        if self.rows * ROWS_IN_OTHER_ORDER > rows:
            self.differences.append(f"{self.rows} of {rows} rows of observations differ")
        steps = self._compared.num_envs * (num_steps + 1)
        if self.grazed * STEPS_THAT_GRAZE > steps:
            self.differences.append(f"in {self.grazed} of {steps} steps of envs something differs")
