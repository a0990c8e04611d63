"""Values that should not be in an array: NaN, infinities, what lies outside of declared bounds and spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warpworld.checking.accesses import element_name
from warpworld.checking.checked_world import CheckedWorld
from warpworld.checking.findings import Finding
from warpworld.environment import observation_names, observation_parts
from warpworld.managers import RunKernel

LOOKED_AT = 64  # bad elements of an array, for one that a kernel wrote
Limits = tuple[Any, Any]


class Contents:
    """Looks at what kernels have written, after each of them; each kind of finding is reported once per array.

    Attributes:
        findings: so far.

    Args:
        checked: the world that it looks at.
    """

    def __init__(self, checked: CheckedWorld) -> None:
        self.findings: list[Finding] = []
        self._checked, self._told = checked, set[tuple[str, str]]()
        self._bounds = _bounds(checked)
        self._spaces = _spaces(checked)
        checked.after_kernel.append(self.look)

    def look(self, step: RunKernel) -> None:
        """Look at the arrays that a kernel may have written."""
        for name in self._checked.writable(step):
            view = self._checked.world.data.numpy(name)
            low, high = self._bounds.get(name, (-np.inf, np.inf))
            if view.dtype.kind == "f" and ("not-finite", name) not in self._told:
                legal = np.isfinite(view) | (np.isinf(view) & (name in self._bounds) & (view >= low) & (view <= high))
                self._tell("not-finite", step, name, ~legal, "", "look for a division by 0 or a root of less than 0")
            if name in self._bounds and ("bounds", name) not in self._told:
                outside, words = (view < low) | (view > high), f", outside its bounds ({low:g}, {high:g})"
                self._tell("bounds", step, name, outside, words, "clamp it, or declare wider bounds")
            if name in self._spaces and ("observation", name) not in self._told:
                low, high = self._spaces[name]
                outside, words = (view < low) | (view > high), ", outside the declared observation space"
                self._tell("observation", step, name, outside, words, "scale it, or declare a wider space")

    def _tell(self, kind: str, step: RunKernel, name: str, bad: np.ndarray, words: str, advice: str) -> None:
        """Report the first bad element that a kernel wrote."""
        if not bad.any():
            return
        data = self._checked.world.data
        # the first bad element that a kernel wrote
        view = data.numpy(name)
        for flat in np.flatnonzero(bad)[:LOOKED_AT]:
            pc = self._checked.accesses.writer(name, int(flat) * view.itemsize)
            if pc:
                break
        else:
            return
        # its place in the array
        index = tuple(int(i) for i in np.unravel_index(flat, view.shape))
        per = data.array(name).per
        self._told.add((kind, name))
        self.findings.append(
            Finding(
                kind=kind,
                place=self._checked.accesses.line(pc, step.name),
                message=f"kernel '{step.name}': {element_name(data, name, index)} became {view[index]:g}{words}",
                advice=advice,
                kernel=step.name,
                array=name,
                index=index,
                env=index[0] if per != "world" else None,
                agents=(index[1],) if per == "agent" else (),
                writes=(True,),
                step=self._checked.backend.world_step,
            )
        )


def _bounds(checked: CheckedWorld) -> dict[str, Limits]:
    """Lowest and highest legal values by array; of floats as the array's dtype rounds them."""
    found = {}
    for name in checked.world.data:
        array = checked.world.data.array(name)
        if array.bounds is not None:
            low, high = array.bounds
            is_float = array.dtype.startswith("float")
            found[name] = tuple(np.array(array.bounds, array.dtype)) if is_float else (low, high)
    return found


def _spaces(checked: CheckedWorld) -> Mapping[str, Limits]:
    """Lowest and highest legal observations by array, in the array's shape without envs."""
    world = checked.world
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for group in world.groups.values():
        parts = observation_parts(group)
        for key, name in observation_names(world.groups, group).items():
            shape = world.data.array(name).full_shape(world.num_envs, world.num_agents)[1:]
            low, high = found.setdefault(name, (np.full(shape, -np.inf), np.full(shape, np.inf)))
            agents = group.slice if world.data.array(name).per == "agent" else slice(None)
            low[agents], high[agents] = parts[key].low, parts[key].high
    dtypes = {name: world.data.array(name).dtype for name in found}
    return {name: (low.astype(dtypes[name]), high.astype(dtypes[name])) for name, (low, high) in found.items()}
