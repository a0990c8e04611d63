"""Updates that would be lost if agents met, found where no two agents have met in a step of the check.

A line that adds to an element without an atomic operation, and that several agents have come to for one element, loses
an update where two of them come to it in one launch. The check has to rule out that they cannot meet:

- conditions in the text may let one agent alone come there (selection.py): then nothing is reported;
- an array of flags may mark one agent of each env, or agents may never share a place: then it is a note.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.checking.checked_world import CheckedWorld
from warpworld.checking.findings import Finding
from warpworld.checking.places import Place
from warpworld.checking.selection import Guards
from warpworld.checking.source_tree import Sources, covers
from warpworld.managers import RunKernel, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_COUNTING = ("++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "<<=", ">>=")  # what each agent does once more
_READING = ("subscript_expression", "pointer_expression", "field_expression")
_ADVICE = "use an atomic operation such as atomicAdd, or let one agent do it"
_MAKE_CLEAR = (
    "if one agent at most comes here in a launch, make that explicit: compare agent_id() with the chosen agent's; "
    "otherwise use an atomic operation such as atomicAdd"
)


class LostUpdates:
    """Looks for updates that would be lost.

    Args:
        checked: the world that it looks at.
    """

    def __init__(self, checked: CheckedWorld) -> None:
        self._checked, self._most_flags = checked, dict[str, int]()
        checked.after_kernel.append(self._count_flags)

    def findings(self, seen: Iterable[Finding]) -> Iterator[Finding]:
        """Report one finding for each line and array.

        Args:
            seen: what was found already: a line that races for an array needs no second finding.
        """
        runtime = self._checked.backend.runtime
        if runtime is None:
            return
        # known races, and updates by line and array
        raced = {(f.kernel, f.array, place) for f in seen if f.kind == "race" for place in (f.place, f.other)}
        groups: dict[tuple[int, int, int], list[Any]] = defaultdict(list)
        for update in runtime.updates():
            groups[int(update["kernel_index"]), int(update["region"]), int(update["pc"])].append(update)
        # lines at which several agents update one element
        for (kernel, region, pc), updates in groups.items():
            found = _Shared.of(updates)
            if found is None:
                continue
            name, array = self._checked.kernels.get(kernel, ""), runtime.region(region)
            accesses = self._checked.accesses
            place, read = accesses.line(pc, name), accesses.line(int(found.last["read_pc"]), name)
            if (name, array.name.decode(), place) not in raced and _accumulates(accesses.sources, place, read, updates):
                yield from self._finding(found, name, array, place)

    def _finding(self, found: _Shared, kernel: str, region: Any, place: Place) -> Iterator[Finding]:
        # guards that let one agent through
        site = self._checked.accesses.line(int(found.last["site"]), kernel)
        sources, between_envs = self._checked.accesses.sources, not region.env_bytes
        guards = Guards(sources, place, site, between_envs)
        if guards.choose_one() or Guards(sources, site, site, between_envs).choose_one():
            return
        # updates that may be intended, for a note
        agents = self._checked.world.num_agents
        elements = (region.env_bytes or region.bytes) // (region.item or 1)
        chosen_place = found.moves and elements >= agents
        is_note = chosen_place or self._one_flag(guards) or not guards.known
        # the element, and its agents
        index, element = self._element(region, found.last)
        (first, first_env), (last, last_env) = self._agents(region, found.first), self._agents(region, found.last)
        where = f" of env {first_env}" if not region.env_bytes else ""
        yield Finding(
            kind="race",
            place=place,
            message=f"kernel '{kernel}', env {last_env}: agent {last} updates {element} in step {found.last['step']} "
            f"without an atomic operation, as agent {first}{where} did in step {found.first['step']}: where two agents "
            "come here in one launch, an update is lost",
            advice=_MAKE_CLEAR if is_note else _ADVICE,
            note=is_note,
            kernel=kernel,
            array=region.name.decode(),
            index=index,
            env=last_env,
            agents=(last, first),
            writes=(True, True),
            other=place,
            step=int(found.last["step"]),
        )

    def _agents(self, region: Any, update: Any) -> tuple[int, int]:
        """Agent and env of an update."""
        thread, agents = int(update["thread"]), self._checked.world.num_agents
        return (thread if region.env_bytes else thread % agents), int(update["env"])

    def _element(self, region: Any, update: Any) -> tuple[tuple[int, ...], str]:
        offset = int(update["offset"]) + int(region.env_bytes) * int(update["env"])
        return self._checked.accesses.named(region, offset)

    def _count_flags(self, step: RunKernel) -> None:
        """Note how many agents of an env a kernel's per-agent whole numbers mark at most."""
        data = self._checked.world.data
        for name in self._checked.writable(step):
            view, array = data.numpy(name), data.array(name)
            if array.per == "agent" and view.ndim == 2 and view.dtype.kind in "biu" and view.size:
                most = int(np.count_nonzero(view, axis=1).max())
                self._most_flags[name] = max(self._most_flags.get(name, 0), most)

    def _one_flag(self, guards: Guards) -> bool:
        """Whether the conditions read an array that has marked one agent of an env at a time, and more in none."""
        return any(self._most_flags.get(name) == 1 for name in guards.names())


@dataclass(frozen=True)
class _Shared:
    """Two agents that have updated one element at one place, in different launches.

    Attributes:
        first, last: an update of each.
        moves: whether one agent has updated several elements there: data choose which.
    """

    first: Any
    last: Any
    moves: bool

    @classmethod
    def of(cls, updates: Sequence[Any]) -> _Shared | None:
        """The pair among the updates of a place; None if no two agents share an element, or if barriers order them."""
        by_offset: dict[int, list[Any]] = defaultdict(list)
        by_thread: dict[int, set[int]] = defaultdict(set)
        for update in updates:
            by_offset[int(update["offset"])].append(update)
            by_thread[int(update["thread"])].add(int(update["offset"]))
        if any(update["ordered"] for update in updates):
            return None
        most = max(by_offset.values(), key=lambda group: len(group))
        if len(most) < 2:
            return None
        pair = sorted(most, key=lambda update: (int(update["step"]), int(update["thread"])))
        moves = any(len(offsets) > 1 for offsets in by_thread.values())
        return cls(pair[0], pair[1], moves)


def _accumulates(sources: Sources, place: Place, read: Place, updates: Sequence[Any]) -> bool:
    """Whether a line makes a new value of the old one.

    Its statement reads the element itself, or uses a variable that an earlier line made of it. A line that writes one
    value each time, whichever agent comes, loses nothing, unless it counts.
    """
    same_value = len({int(update["value"]) for update in updates}) == 1 and not any(u["varies"] for u in updates)
    counts, reads = _operations(sources, place)
    if place.file == read.file and (place == read or _in_one_statement(sources, place, read)):
        return counts or (reads and not same_value)
    return not same_value and place.file == read.file and _uses(sources, place, read)


def _operations(sources: Sources, place: Place) -> tuple[bool, bool]:
    """Whether a line has an operation that counts, as ``+=`` does, and whether what it assigns is read from memory."""
    found = sources.on_line(place, "update_expression", "assignment_expression")
    operators = [node.child_by_field_name("operator") for node in found]
    counts = any(operator is not None and operator.type in _COUNTING for operator in operators)
    reads = any(_reads_itself(node) for node in found)
    return counts, reads or counts or not found  # what a macro does is not known


def _reads_itself(assignment: Node) -> bool:
    """Whether an assigned value reads memory, or what it is assigned to."""
    target, value = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    if target is None or value is None:
        return False
    return any(node.type in _READING or text_of(node) == text_of(target) for node in walk(value))


def _in_one_statement(sources: Sources, place: Place, read: Place) -> bool:
    """Whether an assignment holds both lines."""
    function = sources.function_at(place.file, place.line, read.line)
    nodes = walk(function) if function is not None else ()
    return any(node.type == "assignment_expression" and covers(node, place.line, read.line) for node in nodes)


def _uses(sources: Sources, place: Place, read: Place) -> bool:
    """Whether what is written at a line depends on a variable that was given its value at the line of the read."""
    function = sources.function_at(place.file, place.line, read.line)
    made: set[str] = set()
    for node in walk(function) if function is not None else ():
        line = node.start_point[0] + 1
        fields = {"init_declarator": ("declarator", "value"), "assignment_expression": ("left", "right")}.get(node.type)
        target, value = (node.child_by_field_name(field) for field in fields) if fields else (None, None)
        if target is None or value is None or not read.line <= line <= place.line:
            continue
        names = {text_of(each) for each in walk(value) if each.type == "identifier"}
        if line == place.line and names & made:
            return True
        if line == read.line or names & made:
            made.add(text_of(target).lstrip("&* "))
    return False
