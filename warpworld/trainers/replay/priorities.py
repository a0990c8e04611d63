"""Drawing items of a ring in proportion to their priority."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from warpworld.environment import Array, Kernel
from warpworld.managers import Kept, Step
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.world import World

KERNELS = Path(__file__).resolve().parent  # the folder of the replays' kernels
FAN = 32  # as in cuda/replay.cuh
SMALLEST_PRIORITY = 1e-6  # added to every error, so that what was learnt well is drawn again (Schaul et al. 2016)
MOST_LANES = 256  # as in priorities.cu


class Priorities:
    """Leaves of all items of a ring, and the sums that draws go by (Schaul et al. 2016, arXiv 1511.05952).

    An item is drawn with probability leaf / sum of leaves, where leaf = (|error| + 1e-6)^alpha; items that cannot be
    drawn have leaf 0. Draws are stratified, with replacement, and a function of seed and number of the update.

    Attributes:
        items: number of leaves.
        batch_size: items in a draw.
        alpha: how much priorities count; 0 draws uniformly.
        aliases: the arrays' names by those of the kernels' parameters.

    Args:
        world: an unsealed world.
        name: keeps the arrays apart from those of other rings.
        blocks: blocks of items in the ring.
        block: items in a block.
        batch_size: see above.
        alpha: see above.
        processes: those that learn together, each from a ring of its own.
    """

    def __init__(
        self,
        world: World,
        name: str,
        blocks: int,
        block: int,
        batch_size: int,
        alpha: float,
        processes: ProcessGroup = ALONE,
    ) -> None:
        self._world, self.batch_size, self.alpha, self._processes = world, batch_size, alpha, processes
        self.items = -(-blocks * block // FAN**2) * FAN**2
        self.aliases = self._add_arrays(name, blocks)
        sizes = {"items": self.items, "blocks": blocks, "block": block, "batch": batch_size}
        constants = {"NUM_AGENTS": 1, "SMALLEST_PRIORITY": SMALLEST_PRIORITY}
        source, scalars = KERNELS / "priorities.cu", {"alpha": alpha, **sizes}
        self._kernels = world.kernels(source, constants, scalars=scalars, aliases=self.aliases)
        lanes = dict.fromkeys(self._kernels.signatures, lanes_for(max(batch_size, block), world.num_envs))
        lanes |= dict.fromkeys(("find_largest", "find_smallest"), lanes_for(batch_size, 1))  # env 0's do it all
        self._kernels.build([Kernel(name, number, own_env_only=False) for name, number in lanes.items()])
        world.when_sealed(self._bind)

    def _add_arrays(self, name: str, blocks: int) -> dict[str, str]:
        """Add all arrays; what the run depends on is state, leaves are part of the ring's history."""
        sums, parts, batch = self.items // FAN, self.items // FAN**2, self.batch_size
        key = self._world.constants.seed ^ zlib.crc32(name.encode()) << 32
        arrays: list[tuple[Array, Kept]] = [
            (Array("update", "uint64", (1,), "world", initial=0, doc="number of the next draw"), "state"),
            (Array("key", "uint64", (1,), "world", initial=key, doc="seed of the draws"), "state"),
            (Array("largest_leaf", "float32", (1,), "world", initial=1.0, doc="of all that were set"), "state"),
            (Array("leaves", "float32", (self.items,), "world", initial=0.0, doc="priority^alpha"), "history"),
            (Array("generation", "int32", (blocks,), "world", initial=0, doc="how often it was written"), "history"),
            (Array("sums_1", "float64", (sums,), "world", initial=0.0), "history"),
            (Array("sums_2", "float64", (parts,), "world", initial=0.0), "history"),
            (Array("sums_3", "float64", (-(-parts // FAN),), "world", initial=0.0), "history"),
            (Array("prefix", "float64", (parts,), "world", initial=0.0), "history"),
            (Array("touched", "int32", (2,), "world", initial=0, doc="first block, number of blocks"), "derived"),
            (Array("batch_items", "int32", (batch,), "world", initial=0), "derived"),
            (Array("batch_generation", "int32", (batch,), "world", initial=0), "derived"),
            (Array("batch_rests", "float64", (batch,), "world", initial=0.0), "derived"),
            (Array("batch_shares", "float32", (batch,), "world", initial=0.0), "derived"),
            (Array("batch_weights", "float32", (batch,), "world", initial=0.0), "derived"),
            (Array("batch_errors", "float32", (batch,), "world", initial=0.0), "derived"),
            (Array("batch_leaves", "float32", (batch,), "world", initial=0.0), "derived"),
            (Array("smallest_share", "float32", (1,), "world", initial=0.0, doc="of a batch"), "derived"),
            (Array("beta", "float32", (1,), "world", initial=0.0, doc="of the latest weights"), "derived"),
        ]
        return add_arrays(self._world, name, arrays)

    # ---- what a program is made of -----------------------------------------------------------------------------------
    def step(self, kernel: str) -> Step:
        """Bind one of the kernels to the arrays."""
        return self._kernels.step(kernel, index=0, own_env_only=False)

    def draw_steps(self) -> list[Step]:
        """Draw a batch; the next draw has another number."""
        return [self.step(name) for name in ("draw_blocks", "draw_items", "count_update")]

    def add_up_steps(self) -> list[Step]:
        """Add up the sums over the blocks in ``touched``."""
        return [self.step(name) for name in ("add_up_blocks_1", "add_up_blocks_2", *self._RUNNING)]

    _RUNNING = ("add_up_3", "add_up_prefix")

    def _bind(self) -> None:
        """Find arrays and freeze programs in the sealed store."""
        world = self._world
        names = ("set_leaves", "find_largest", "add_up_batch_1", "add_up_batch_2", *self._RUNNING)
        self._set_leaves = world.program([self.step(name) for name in names])
        self._add_up = world.program(self.add_up_steps())
        together = [["find_smallest"], ["weigh"]] if self._processes.several else [["find_smallest", "weigh"]]
        self._weigh = [world.program([self.step(name) for name in names]) for names in together]
        self._smallest, self._largest = self._array("smallest_share"), self._array("largest_leaf")
        self._beta, self._weights = self._array("beta"), self._array("batch_weights")
        self._errors = self._array("batch_errors")

    def _array(self, what: str) -> Tensor:
        return self._world[self.aliases[what]]

    # ---- drawing and learning ----------------------------------------------------------------------------------------
    def weights(self, beta: float | Tensor) -> Tensor:
        """Importance weights of the batch that was drawn last, divided by the largest: (batch,) float32, in the store.

        w_i = (N * P(i))^-beta / max_j w_j, in which N cancels out. All are 0 where nothing was drawable. Of several
        processes each draws as many items from its own ring, so that P(i) is the item's share of that ring over the
        number of processes, which cancels out too; the maximum is that of all.
        """
        self._beta.fill_(beta)
        first, *others = self._weigh
        first()
        self._processes.smallest(self._smallest)
        for weigh in others:
            weigh()
        return self._weights

    def update(self, errors: Tensor) -> None:
        """Give the batch that was drawn last new priorities; nothing is done where draws are uniform.

        Args:
            errors: (batch,) float32, how far each item's value was off; the sign does not count. Of an item that was
                drawn several times the first counts. What is not finite is left out.
        """
        if self.alpha == 0:
            return
        self._errors.copy_(errors.detach())
        self._set_leaves()
        self._processes.largest(self._largest)

    def history(self) -> list[Tensor]:
        """Arrays that an update writes and that are kept as history."""
        return [self._array(name) for name in ("leaves", "sums_1", "sums_2", "sums_3", "prefix")]

    def add_up_all(self) -> None:
        """Recompute all sums from the leaves."""
        blocks = len(self._array("generation"))
        self._array("touched").copy_(torch.tensor([0, blocks], dtype=torch.int32))
        self._add_up()


def lanes_for(work: int, num_envs: int) -> tuple[int, int]:
    """Fewest and most lanes of an env, for work that lanes of all envs share: where lanes take turns, one."""
    lanes = FAN
    while lanes < min(MOST_LANES, work / num_envs):
        lanes *= 2
    return 1, lanes


def add_arrays(world: World, name: str, arrays: Sequence[tuple[Array, Kept]]) -> dict[str, str]:
    """Add a ring's arrays to the store; gives their names there by those that kernels use."""
    aliases = {}
    for array, kept in arrays:
        aliases[array.name] = f"replay_{array.name}_{name}"
        world.add(dataclasses.replace(array, name=aliases[array.name]), kept=kept)
    return aliases
