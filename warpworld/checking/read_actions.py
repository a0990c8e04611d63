"""Actions that kernels read although they are outside of their space."""

from __future__ import annotations

import numpy as np

from warpworld.checking.accesses import element_name
from warpworld.checking.checked_world import CheckedWorld
from warpworld.checking.findings import Finding
from warpworld.environment import Group, action_parts
from warpworld.managers import RunKernel


class ReadActions:
    """Looks at the actions that stand before each kernel, and at what the kernel has read of them.

    Attributes:
        findings: so far, one of each group.

    Args:
        checked: the world that it looks at.
    """

    def __init__(self, checked: CheckedWorld) -> None:
        self.findings: list[Finding] = []
        self._checked, self._told = checked, set[str]()
        self._outside: list[tuple[Group, str, np.ndarray]] = []  # group, array, (wrong, 3) indices
        checked.before_kernel.append(self._before)
        checked.after_kernel.append(self._after)

    def _before(self, step: RunKernel) -> None:
        """Note which actions are outside of their spaces."""
        world = self._checked.world
        self._outside = []
        for group in world.groups.values():
            names, first = world.action_names(group.name), world.action_array(group.name)[1]
            for part in action_parts(group.action):
                name = names[part.key]
                actions = world.data.numpy(name)[:, first : first + group.size]
                within = (actions >= part.low) & (actions <= part.high)
                wrong = np.argwhere(~within) + np.array([0, first, 0])
                if len(wrong) and group.name not in self._told:
                    self._outside.append((group, name, wrong))

    def _after(self, step: RunKernel) -> None:
        """Report the first of them that the kernel has read."""
        data, accesses = self._checked.world.data, self._checked.accesses
        for group, name, wrong in self._outside:
            if group.name in self._told:
                continue
            view = data.numpy(name)
            for index in (tuple(int(i) for i in row) for row in wrong):
                pc = accesses.reader(name, int(np.ravel_multi_index(index, view.shape)) * view.itemsize)
                if pc:
                    self._told.add(group.name)
                    element = element_name(data, name, index)
                    self._tell(step, group, name, index, pc, f"{element}, which is {view[index]:g}")
                    break

    def _tell(self, step: RunKernel, group: Group, name: str, index: tuple[int, ...], pc: int, words: str) -> None:
        self.findings.append(
            Finding(
                kind="action",
                place=self._checked.accesses.line(pc, step.name),
                message=f"kernel '{step.name}' reads {words}: outside the action space of group '{group.name}', "
                f"{group.action}",
                advice="look for the phase that writes actions, or a kernel that does so through a cast",
                kernel=step.name,
                array=name,
                index=index,
                env=index[0],
                agents=(index[1],),
                writes=(False,),
                step=self._checked.backend.world_step,
            )
        )
