"""The steps that copy between arrays: they move bytes, so what does not fit would overwrite other arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from warpworld.errors import StoreError
from warpworld.managers.data_manager import DataManager
from warpworld.managers.program import Agents, Copy, KeepFinal, Step

if TYPE_CHECKING:
    import torch


def check_copies(steps: Sequence[Step], data: DataManager) -> None:
    """Check the arrays of every Copy and KeepFinal of a program.

    Raises:
        StoreError: an array is unknown, or has another shape or dtype than the step needs.
    """
    for step in steps:
        if isinstance(step, Copy):
            _check_copy(step, data)
        elif isinstance(step, KeepFinal):
            _check_keep_final(step, data)


def copy_fields(step: Copy | KeepFinal, data: DataManager, num_envs: int) -> dict[str, Any]:
    """Source and target of a step's copy, in bytes and addresses, as the fields of both backends' C structs.

    ``bytes`` of each env go from ``source + env * source_stride`` to ``target + env * target_stride + *row *
    row_stride``; with ``slots``, to the env's next free one of them.

    Args:
        step: checked by ``check_copies``.
        data: a sealed store.
        num_envs: envs of the world.
    """
    source, target = data[step.source], data[step.target]
    shared = isinstance(step, Copy) and step.shared
    nbytes = source.numel() * source.element_size() // (1 if shared else num_envs)
    fields: dict[str, Any] = {
        "source": source.data_ptr(),
        "target": target.data_ptr(),
        "source_stride": 0 if shared else nbytes,
        "target_stride": nbytes,
        "bytes": nbytes,
        "row": data.pointer(step.row) if step.row else None,
    }
    # a copy, of all agents or of some
    if isinstance(step, Copy):
        fields |= {"active_only": step.active_only, "row_stride": nbytes * num_envs}
        return fields if step.agents is None else fields | _of_agents(step.agents, fields, source, target)
    # final observations, into a slot of the env
    slots = {"slot_rows": data.pointer(step.slot_rows), "slots_used": data.pointer(step.slots_used)}
    return fields | slots | {"slots": target.shape[1], "active_only": True}


def _of_agents(agents: Agents, fields: dict[str, Any], source: torch.Tensor, target: torch.Tensor) -> dict[str, Any]:
    """Fields that differ if some agents are copied. The target's dimensions begin with rows, then envs, then agents."""
    of_one = fields["bytes"] // source.shape[1]
    target_stride = of_one * target.shape[2]
    return {
        "source": fields["source"] + agents.source * of_one,
        "target": fields["target"] + agents.target * of_one,
        "target_stride": target_stride,
        "bytes": agents.count * of_one,
        "row_stride": target_stride * source.shape[0],
    }


def _check_copy(step: Copy, data: DataManager) -> None:
    if step.agents is not None:
        _check_copy_of_agents(step, step.agents, data)
        return
    expected = tuple(data[step.source].shape)
    if step.shared or step.row:  # one more dimension: envs, or rows
        expected = (*tuple(data[step.target].shape)[:1], *expected)
    _check(data, step.source, step.target, expected)
    if step.row:
        _check_int32(data, step.row, ())


def _check_copy_of_agents(step: Copy, agents: Agents, data: DataManager) -> None:
    source, target = tuple(data[step.source].shape), tuple(data[step.target].shape)
    if step.row is None:
        raise StoreError(f"array '{step.target}': some agents are copied into a row, name its array")
    is_flat = len(target) == 4 and target[3] == math.prod(source[2:])  # an agent's numbers may lie in one dimension
    numbers = target[3:] if is_flat else source[2:]
    _check(data, step.source, step.target, (*target[:1], source[0], *target[2:3], *numbers))
    _check_int32(data, step.row, ())
    for name, first, there_are in ((step.source, agents.source, source[1]), (step.target, agents.target, target[2])):
        if not 0 <= first <= first + agents.count <= there_are:
            raise StoreError(
                f"array '{name}' has {there_are} agents, agents {first} to {first + agents.count - 1} are copied"
            )


def _check_keep_final(step: KeepFinal, data: DataManager) -> None:
    source, target = data[step.source], data[step.target]
    lead = (source.shape[0], *tuple(target.shape)[1:2])
    _check(data, step.source, step.target, (*lead, *source.shape[1:]))
    for name, expected in ((step.slot_rows, lead), (step.slots_used, lead[:1]), (step.row, ())):
        _check_int32(data, name, expected)


def _check_int32(data: DataManager, name: str, expected: tuple[int, ...]) -> None:
    if tuple(data[name].shape) != expected or data.array(name).dtype != "int32":
        raise StoreError(f"array '{name}' is {_describe(data, name)}, expected {expected} int32")


def _check(data: DataManager, source: str, target: str, expected: tuple[int, ...]) -> None:
    dtype = data.array(source).dtype
    if tuple(data[target].shape) != expected or data.array(target).dtype != dtype:
        raise StoreError(
            f"array '{target}' is {_describe(data, target)}; '{source}', {_describe(data, source)}, is copied into it, "
            f"so it must be {expected} {dtype}"
        )


def _describe(data: DataManager, name: str) -> str:
    return f"{tuple(data[name].shape)} {data.array(name).dtype}"
