"""What prioritized replay costs, beside cpprb's and beside sums in PyTorch; and batches of frames, beside a plain copy.

All on one core, each system's windows between the others'. A cycle draws 512 transitions with weights and gives them
new priorities; our transitions are of three steps, put together as they are drawn, theirs are stored whole.
"""

from __future__ import annotations

import importlib.util
import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete

import warpworld
from warpworld import Environment, Group, World
from warpworld.config import ModelConfig
from warpworld.managers.program import Copy
from warpworld.trainers.algorithms.r2d2 import R2D2, R2D2Settings
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.replay import ReplaySizes, TransitionReplay, WindowReplay, WindowSizes

from .rows import ReplayRow

NAME = "replay"
BATCH, ROW, FEATURES = 512, 1024, 4
SIZES = (1 << 16, 1 << 20)
WINDOWS = 7
ALPHA, BETA = 0.6, 0.4
Call = Callable[[], object]


@dataclass(frozen=True)
class Calls:
    """What a system is asked for: a cycle, and a row that is inserted."""

    cycle: Call
    insert: Call


# ---- ours ------------------------------------------------------------------------------------------------------------
def replay_of(world: World, sizes: ReplaySizes) -> TransitionReplay:
    """A replay of a world's first group, filled with so many rows of random play."""
    collector = Collector(world, num_steps=1)
    group = next(iter(world.groups))
    replay = TransitionReplay(collector, [group], sizes)
    replay.act(group)
    world.reset()
    for _ in range(sizes.rows + sizes.n_step + sizes.frame_stack):
        collector.collect()
    return replay


def ours(items: int) -> Calls:
    """CartPole's steps in a replay of the store."""
    world = warpworld.make("cartpole", ROW, device="cpu", num_workers=1)
    replay = replay_of(world, ReplaySizes(items // ROW, BATCH, n_step=3, alpha=ALPHA, final_observations=True))
    leaves = replay.array("leaves")
    leaves.mul_(torch.rand(leaves.shape) + 0.01)
    replay.priorities.add_up_all()
    errors = torch.rand(BATCH) + 0.01
    row = replay.ring.aliases["row"]
    copies = [*replay.policy_agents.copies("rewards", replay.ring.aliases["ring_rewards"], row)]
    copies += [Copy(name, replay.ring.aliases[f"ring_{name}"], row=row) for name in ("terminated", "truncated")]
    record = world.program(copies)  # what the world does in its own step

    def cycle() -> None:
        replay.draw(BETA)
        replay.update(errors)

    def insert() -> None:
        replay.acted()
        record()
        replay.stepped()
        replay.end()

    return Calls(cycle, insert)


# ---- others ----------------------------------------------------------------------------------------------------------
def cpprb(items: int) -> Calls:
    """Segment trees in C++."""
    from cpprb import PrioritizedReplayBuffer

    parts: Mapping[str, dict[str, Any]] = {
        **{name: {"shape": FEATURES} for name in ("obs", "next_obs")},
        **{"act": {"dtype": np.int32}, "rew": {}, "done": {}},
    }
    buffer = PrioritizedReplayBuffer(items, parts, alpha=ALPHA)
    row = {name: np.zeros((ROW, part.get("shape", 1)), part.get("dtype", np.float32)) for name, part in parts.items()}
    draw = np.random.default_rng(0)
    for _ in range(items // ROW):
        buffer.add(**row, priorities=draw.random(ROW, np.float32) + 0.01)
    errors, priorities = draw.random(BATCH, np.float32) + 0.01, draw.random(ROW, np.float32) + 0.01

    def cycle() -> None:
        drawn = buffer.sample(BATCH, beta=BETA)
        buffer.update_priorities(drawn["indexes"], errors)

    return Calls(cycle, lambda: buffer.add(**row, priorities=priorities))


class Blocks:
    """Sums of 64 leaves each, in PyTorch."""

    width = 64

    def __init__(self, items: int) -> None:
        self.leaves = torch.rand(items // self.width, self.width) + 0.01
        self.sums = self.leaves.sum(1, dtype=torch.float64)

    def set(self, index: torch.Tensor, leaves: torch.Tensor) -> None:
        """New leaves."""
        self.leaves.view(-1)[index] = leaves
        blocks = torch.unique(index // self.width)
        self.sums[blocks] = self.leaves[blocks].sum(1, dtype=torch.float64)

    def draw(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Stratified items and their leaves."""
        running = self.sums.cumsum(0)
        targets = (torch.arange(BATCH) + torch.rand(BATCH, dtype=torch.float64)) * (running[-1] / BATCH)
        block = torch.searchsorted(running, targets).clamp_(max=len(running) - 1)
        rest = (targets - (running[block] - self.sums[block])).float().unsqueeze(1)
        place = torch.searchsorted(self.leaves[block].cumsum(1), rest).squeeze(1).clamp_(max=self.width - 1)
        index = block * self.width + place
        return index, self.leaves.view(-1)[index]


def two_levels(items: int) -> Calls:
    """``Blocks`` and indexed tensors."""
    blocks, at = Blocks(items), iter(range(1 << 60))
    stored = [torch.zeros(items, FEATURES), torch.zeros(items, FEATURES), *(torch.zeros(items) for _ in range(3))]
    errors, fresh = torch.rand(BATCH) + 0.01, torch.rand(ROW) + 0.01
    row = [part[:ROW].clone() for part in stored]

    def cycle() -> None:
        index, leaves = blocks.draw()
        for part in stored:
            part[index]
        weights = (leaves / leaves.sum()).pow(-BETA)
        weights /= weights.max()
        blocks.set(index, errors.pow(ALPHA))

    def insert() -> None:
        index = (torch.arange(ROW) + next(at) * ROW) % items
        blocks.set(index, fresh)
        for part, new in zip(stored, row, strict=True):
            part.index_copy_(0, index, new)

    return Calls(cycle, insert)


@dataclass(frozen=True)
class System:
    """Who replays.

    Attributes:
        name: in the table.
        make: for so many transitions.
        package: that must be installed.
    """

    name: str
    make: Callable[[int], Calls]
    package: str = "warpworld"


SYSTEMS = (System("warpworld", ours), System("cpprb", cpprb, "cpprb"), System("PyTorch, two levels", two_levels))


# ---- frames ----------------------------------------------------------------------------------------------------------
class Pictures(Environment):
    """In PyTorch alone: pictures of 84 x 84 bytes that stay as they are."""

    def groups(self) -> Sequence[Group]:
        """One agent."""
        return [Group("agent", 1, Box(0, 255, (1, 84, 84), np.uint8), Discrete(2))]

    def phases(self) -> Sequence[Any]:
        """Episodes of 200 steps."""
        return [lambda arrays, active: arrays["truncated"].copy_(arrays["timestep"] >= 200)]

    def resets(self) -> Sequence[Any]:
        """Nothing."""
        return []


def beside_copies(draw: Call, ring: torch.Tensor, frames: int) -> dict[str, Call]:
    """A draw, as many frames that PyTorch takes from the ring by their indices, and a copy of as many in their order.

    The copies read one part of the ring after the other: of one part, repeated, caches would hold what no draw finds.
    """
    flat = ring.view(-1, 84 * 84)
    parts = itertools.cycle(flat[: len(flat) // frames * frames].split(frames))
    target, index = torch.zeros_like(flat[:frames]), torch.randint(0, len(flat), (frames,))
    return {
        "warpworld": draw,
        "PyTorch, index_select": lambda: torch.index_select(flat, 0, index, out=target),
        "plain copy": lambda: target.copy_(next(parts)),
    }


def stacks() -> dict[str, Call]:
    """512 transitions of three steps, with two stacks of four frames each."""
    replay = replay_of(World(Pictures(), 16, "cpu", num_workers=1), ReplaySizes(1024, BATCH, n_step=3, frame_stack=4))
    return beside_copies(replay.draw, replay.array("ring_observations"), 2 * BATCH * 4)


def windows() -> dict[str, Call]:
    """64 windows of R2D2, of 126 frames each."""
    world = World(Pictures(), 64, "cpu", num_workers=1)
    collector, model = Collector(world, num_steps=1), ModelConfig(recurrent="gru", recurrent_size=4, hidden_sizes=[4])
    settings = R2D2Settings(groups=("agent",), model=model)
    policy = R2D2.build_policy(settings, world.groups["agent"], torch.Generator(), None)
    sizes = WindowSizes(rows=480, batch_size=64, state_size=4, burn_in=40, train_length=80, n_step=6)
    replay = WindowReplay(collector, ["agent"], sizes)
    replay.act("agent", policy)
    world.reset()
    for _ in range(sizes.rows):
        collector.collect()
    return beside_copies(replay.draw, replay.array("ring_observations"), sizes.batch_size * sizes.length)


# ---- measuring -------------------------------------------------------------------------------------------------------
def rows(seconds: float) -> Iterator[ReplayRow]:
    """Every system that is installed, on every size."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for items in SIZES:
        made = {each.name: each.make(items) for each in SYSTEMS if importlib.util.find_spec(each.package) is not None}
        yield from measured("cycle", items, {name: calls.cycle for name, calls in made.items()}, seconds)
        yield from measured("insert a row", items, {name: calls.insert for name, calls in made.items()}, seconds)
    yield from measured("stacks of frames", 1 << 14, stacks(), seconds)
    yield from measured("windows of frames", 480 * 64, windows(), seconds)
    torch.set_num_threads(threads)


def measured(task: str, items: int, calls: Mapping[str, Call], seconds: float) -> list[ReplayRow]:
    """A row for each call; its windows lie between those of the others."""
    windows: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for number in range(WINDOWS + 1):
        for name, call in calls.items():
            window = _window(call, seconds)
            if number:  # the first warms up
                windows[name].append(window)
    found = []
    for name, figures in windows.items():
        wall, cpu = (statistics.median(figure) for figure in zip(*figures, strict=True))
        walls = [each for each, _ in figures]
        found.append(ReplayRow(task, name, items, wall, cpu, (max(walls) - min(walls)) / wall))
    return found


def _window(call: Call, seconds: float) -> tuple[float, float]:
    """Wall time and CPU time of a call."""
    done, start, cpu = 0, time.perf_counter(), time.process_time()
    while done == 0 or time.perf_counter() - start < seconds:  # a machine may stand still before the first call
        for _ in range(8):
            call()
        done += 8
    return (time.perf_counter() - start) / done, (time.process_time() - cpu) / done
