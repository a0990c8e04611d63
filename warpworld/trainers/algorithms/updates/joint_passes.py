"""Passes of several policies in one launch, see passes.cuh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from warpworld.managers import LEAST_BLOCKS, Needs
from warpworld.trainers.collecting import TensorKernels
from warpworld.trainers.spans import PASSES, span
from warpworld.world import World

MOST_POLICIES = 4  # of a launch, as the kernels have them


@dataclass
class DuePasses:
    """Passes of a policy that are ready to be launched; a call gives what they find, and launches them if that is due.

    Attributes:
        launch: that takes them.
        number: of the policy in it.
        numbers: fields of the kernel's struct Learnt.
        blocks: that find work at once.
        needs: operations, and bytes read and written.
        found: (minibatches, 7) float32, once they are launched: diagnostics of each, and its gradient's length.
        held: what must not be freed before.
    """

    launch: PassLaunch
    number: int
    numbers: tuple[float, ...]
    blocks: int
    needs: tuple[float, float, float]
    found: Tensor
    held: object
    is_due: bool = field(default=True, init=False)

    def __call__(self) -> Tensor:
        """Return ``found``."""
        if self.is_due:
            with span(PASSES):
                self.launch([self])
        return self.found


class PassLaunch:
    """A kernel for the passes of up to ``MOST_POLICIES`` policies.

    Args:
        world: that is not sealed.
        source: the kernel's file.
        kernel: its name.
        lanes: threads of a block.
        constants: of the file, that the policies share.
    """

    def __init__(self, world: World, source: Path, kernel: str, lanes: int, constants: Mapping[str, int]) -> None:
        self.world, self.kind = world, (source, kernel, lanes, dict(constants))
        self._num_policies, self._shapes = 0, list[dict[str, int]]()
        self._kernels: TensorKernels | None = None

    @property
    def is_full(self) -> bool:
        """Whether there is no place for another policy."""
        return self._num_policies == MOST_POLICIES

    def add(self, shape: Mapping[str, int]) -> tuple[int, int]:
        """The number of another policy, and that of its networks' shape, by the constants that the shape has."""
        if dict(shape) not in self._shapes:
            self._shapes.append(dict(shape))
        self._num_policies += 1
        return self._num_policies - 1, self._shapes.index(dict(shape))

    def build(self) -> None:
        """Compile the kernel for the policies that were added."""
        source, kernel, lanes, shared = self.kind
        constants = {**shared, "NUM_SHAPES": len(self._shapes), "LANES": lanes}
        constants[LEAST_BLOCKS] = min(shape.get(LEAST_BLOCKS, 1) for shape in self._shapes)
        for number, shape in enumerate(self._shapes):
            constants |= {f"{name}_{number}": each for name, each in shape.items() if name != LEAST_BLOCKS}
        self._kernels = TensorKernels(self.world, source, constants, [kernel], lanes, exactly=True)

    def is_here(self, tensor: Tensor) -> bool:
        """Whether the kernel can read a tensor."""
        return self._kernels is not None and self._kernels.is_here(tensor)

    def __call__(self, due: Iterable[DuePasses]) -> None:
        """Launch passes of some of the policies, each policy's once."""
        assert self._kernels is not None
        taken = {each.number: each for each in due}
        absent = (0,) * max(len(each.numbers) for each in taken.values())
        fields = [taken[i].numbers if i in taken else absent for i in range(MOST_POLICIES)]
        needs = Needs(*(sum(parts) for parts in zip(*(each.needs for each in taken.values()), strict=True)))
        blocks = sum(each.blocks for each in taken.values())
        self._kernels.launch(self.kind[1], (), [number for own in fields for number in own], blocks, needs)
        for each in taken.values():
            each.is_due = False


class PassLaunches:
    """The launches of a world's policies: one takes all that fit it.

    Args:
        world: that is not sealed.
    """

    def __init__(self, world: World) -> None:
        self.world, self._known = world, list[PassLaunch]()
        world.when_sealed(self.build)

    def build(self) -> None:
        """Compile all kernels, once all policies are known: when the world is sealed."""
        for each in self._known:
            each.build()

    def of(self, source: Path, kernel: str, lanes: int, constants: Mapping[str, int]) -> PassLaunch:
        """A launch of a kernel that has a place left; arguments as of ``PassLaunch``."""
        kind = source, kernel, lanes, dict(constants)
        for known in self._known:
            if known.kind == kind and not known.is_full:
                return known
        self._known.append(PassLaunch(self.world, source, kernel, lanes, constants))
        return self._known[-1]


def launch_together(passes: Iterable[object]) -> None:
    """Launch those that are ``DuePasses``, in as few launches as they fit; leave all others to their calls."""
    launches = dict[int, list[DuePasses]]()
    for each in passes:
        if isinstance(each, DuePasses) and each.is_due:
            launches.setdefault(id(each.launch), []).append(each)
    for together in launches.values():
        together[0].launch(together)
