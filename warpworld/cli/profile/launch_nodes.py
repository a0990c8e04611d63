"""Launches as nodes: bytes of the arrays that a kernel is bound to, and of the copies that ride in its launch.

Arrays count once in a launch: those behind a pointer to const are read; others are written, and where they are state
also read. Observations, actions, rewards, ends and masks are written without being read. Of an array of rows, such as
a rollout's, a kernel that knows the present row takes that row. What a launch does only for envs that have just ended
counts for nothing, and neither do step numbers and clocks, some bytes an env.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from warpworld.cli.profile.nodes import Node
from warpworld.environment import observation_arrays
from warpworld.managers import Copy, DataManager, Needs, RunKernel, Step, copy_fields
from warpworld.managers.cuda.launches import Launch
from warpworld.world import ON_REQUEST, World

ROWS = "rollout_"  # how names of arrays of rows begin
ROW_NUMBERS = ("rollout_row", "rollout_taken_rows")


def moved_once(world: World) -> set[str]:
    """Names of the arrays that a step of a world either reads or writes; all other state it may do both to."""
    seen = (array.name for array in observation_arrays(world.groups))
    return {"actions", "rewards", "terminated", "truncated", *ON_REQUEST, *seen}


def node_of(launch: Launch, data: DataManager, num_envs: int, once: Collection[str]) -> Node:
    """The node of a launch.

    Args:
        launch: of a program.
        data: the program's store.
        num_envs: of the world.
        once: names of arrays that are written without being read.
    """
    read = written = flop = 0.0
    is_known = True
    for step in launch.steps:
        needs = _needs_of(step, data, num_envs, once)
        flop += needs.flop
        is_known = is_known and needs.read is not None and needs.written is not None
        read += needs.read or 0.0
        written += needs.written or 0.0
    blocks, threads = launch.grid[0], launch.block[0]
    return Node(launch.kernel, f"{blocks:,} x {threads}", read, written, flop, is_known=is_known)


def _needs_of(step: Step, data: DataManager, num_envs: int, once: Collection[str]) -> Needs:
    if isinstance(step, Copy) and not step.active_only:
        moved = float(copy_fields(step, data, num_envs)["bytes"] * num_envs)
        return Needs(0.0, moved, moved)
    if not isinstance(step, RunKernel) or step.active_only:
        return Needs(0.0, 0.0, 0.0)
    given = step.needs or Needs()
    if given.read is not None:
        return given
    if not any(argument.array for argument in step.arguments):
        return Needs(given.flop) if step.arguments else Needs(given.flop, 0.0, 0.0)
    found = dict(_bound(step, data))
    read = sum(nbytes for name, (nbytes, is_const) in found.items() if is_const or _is_changed(name, data, once))
    written = sum(nbytes for nbytes, is_const in found.values() if not is_const)
    return Needs(given.flop, read, written)


def _is_changed(name: str, data: DataManager, once: Collection[str]) -> bool:
    """Whether what writes an array reads it, too."""
    return name not in once and not name.startswith(ROWS) and name in data.names("state")


def _bound(step: RunKernel, data: DataManager) -> Iterator[tuple[str, tuple[float, bool]]]:
    """Each array of a kernel, with its bytes and whether the kernel only reads it; what is written comes last."""
    signature = next(each for each in step.module.source.signatures if each.name == step.name)
    leaves = [leaf.parameter for leaf in signature.leaves]
    names = {argument.array for argument in step.arguments}
    knows_row = any(name in names for name in ROW_NUMBERS)
    pairs = [(each.array, leaf.const) for each, leaf in zip(step.arguments, leaves, strict=True) if each.array]
    for name, is_const in sorted(pairs, key=lambda pair: not pair[1]):
        tensor = data[name]
        nbytes = float(tensor.numel() * tensor.element_size())
        is_row = knows_row and name.startswith(ROWS) and name not in ROW_NUMBERS and data.array(name).per == "world"
        yield name, (nbytes / tensor.shape[0] if is_row else nbytes, is_const)
