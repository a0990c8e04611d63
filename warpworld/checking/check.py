"""A check: a world watched at each access, beside replicas that must give the same results."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from warpworld.checking.accesses import SAME_BRANCHES, element_name
from warpworld.checking.barriers import joined
from warpworld.checking.branches import branch_of
from warpworld.checking.checked_world import CheckedWorld
from warpworld.checking.contents import Contents
from warpworld.checking.coverage import Coverage, LinesRun
from warpworld.checking.findings import Finding, Report, distinct
from warpworld.checking.lost_updates import LostUpdates
from warpworld.checking.native import BACKWARD, SHUFFLED, STOPPED
from warpworld.checking.outside_state import outside_state
from warpworld.checking.places import Place
from warpworld.checking.read_actions import ReadActions
from warpworld.checking.replicas import Replica, Trace
from warpworld.checking.source_tree import authors_files
from warpworld.environment import Environment, get_environment
from warpworld.errors import DeclarationError
from warpworld.managers.cpu import ErrorCode
from warpworld.world import RandomActions, World

NUM_ENVS, NUM_STEPS = 5, 120
ENVS, STEPS = (2, 1000), (1, 100_000)  # fewest and most: the check runtime counts barriers in 32 bits


def check(
    environment: str | type[Environment] | Environment | World,
    num_envs: int = NUM_ENVS,
    steps: int = NUM_STEPS,
    seed: int = 0,
    **params: Any,
) -> Report:
    """Look for races, accesses out of bounds and other faults in an environment's kernels, on a CPU.

    Args:
        environment: a registered name, ``module:Class``, ``file.py:Class``, a class, an Environment, or a World, whose
            environment is checked in worlds of the check's own.
        num_envs: envs to step, 2 to 1000.
        steps: how many, 1 to 100,000, with random actions; some envs are reset in between.
        seed: of the world and of the actions.
        **params: the environment's Params, if it is given by name or class.

    Raises:
        WarpworldError: the environment cannot be built.
    """
    if isinstance(environment, World):
        environment = environment.environment
    if isinstance(environment, str):
        environment = get_environment(environment)
    if isinstance(environment, type):
        environment = environment(**params)
    elif params:
        raise DeclarationError(f"{environment.name} has its parameters already; {', '.join(params)} cannot be given")
    return check_with(environment, num_envs, steps, seed, RandomActions)


def check_with(
    environment: Environment, num_envs: int, steps: int, seed: int, make_actions: MakeActions, policies: str = ""
) -> Report:
    """Look for faults while agents act as an object says; arguments and errors otherwise as of ``check``.

    Args:
        environment: whose kernels are checked.
        num_envs: see ``check``.
        steps: see ``check``.
        seed: see ``check``.
        make_actions: makes the actions of an unsealed world, from it and the seed.
        policies: the run whose policies act, for the report; empty if actions are random.
    """
    if environment.per_env_values:  # one for each env of another world
        environment = copy.copy(environment)
        environment.per_env_values = {}
    if environment.source_path() is None:
        raise DeclarationError(f"{environment.name}: there is nothing to check, since `source` names no kernel file")
    for name, value, (least, most) in (("num_envs", num_envs, ENVS), ("steps", steps, STEPS)):
        if not isinstance(value, (int, np.integer)) or not least <= value <= most:
            raise DeclarationError(f"{name}={value!r}: a check takes a whole number from {least} to {most}")
    start = time.perf_counter()
    with contextlib.ExitStack() as stack:
        run = _Check(environment, num_envs, seed, make_actions, stack)
        done = run.run(steps)
        findings = tuple(joined(distinct(run.findings()), run.sources))
        coverage, not_followed = run.coverage(), run.not_followed
    return Report(
        environment=environment.name,
        num_envs=num_envs,
        steps=steps,
        seed=seed,
        findings=findings,
        stopped="" if done == steps else f"the check ended in step {done} of {steps}, because a kernel was ended",
        seconds=time.perf_counter() - start,
        coverage=coverage,
        not_followed=not_followed,
        policies=policies,
    )


class Actions(Protocol):
    """Actions of agents in the steps of a check."""

    def draw(self) -> None:
        """Choose the actions of every env for a step."""

    def put(self, world: World, envs: slice) -> None:
        """Put the actions of some envs into the store of a world that has these envs."""


MakeActions = Callable[[World, int], Actions]


class _Check:
    def __init__(
        self,
        environment: Environment,
        num_envs: int,
        seed: int,
        make_actions: MakeActions,
        stack: contextlib.ExitStack,
    ) -> None:
        self._environment, self._num_envs, self._seed, self._stack = environment, num_envs, seed, stack
        self._main = self._checked_world(speaks=True)
        self._contents, self._trace = Contents(self._main), Trace.of(self._main)
        module = self._main.backend.module
        self.sources = self._main.accesses.sources
        self.not_followed = outside_state(module.source) if module is not None else ()
        self._lost_updates = LostUpdates(self._main)
        self._read_actions = ReadActions(self._main)
        self._actions = make_actions(self._main.world, seed)
        self._replicas = list(self._make_replicas())

    def run(self, steps: int) -> int:
        """Step the world and its replicas; how many steps were done."""
        self._move(0, lambda checked: checked.world.reset())
        chosen = np.random.default_rng(self._seed)
        for step in range(1, steps + 1):
            if self._main.stopped is not None:
                return step - 1
            self._actions.draw()
            self._move(step, self._step)
            if step % max(steps // 4, 1) == 0:
                self._reset_some(step, chosen.random(self._num_envs) < 0.5)
        return steps if self._main.stopped is None else steps - 1

    def findings(self) -> Iterator[Finding]:
        """Report all that was found; a fault may be reported several times."""
        accesses = self._main.accesses.findings()
        packed = [replica.checked.accesses.findings() for replica in self._replicas if replica.checked.backend.watching]
        seen = [*accesses, *(finding for findings in packed for finding in findings)]
        yield from seen
        yield from self._lost_updates.findings(seen)
        yield from self._contents.findings
        yield from self._read_actions.findings
        yield from _left_by_resets(self._main, seen)
        for checked in (self._main, *(replica.checked for replica in self._replicas)):
            yield from _ended(checked, seen)
        if self.not_followed:  # the worlds share it
            return
        explained = {finding.kernel for finding in seen if not finding.note}
        for replica in self._replicas:  # what differs where accesses are wrong is no news
            if replica.finding is not None and replica.finding.kernel not in explained:
                yield replica.finding

    def coverage(self) -> tuple[Coverage, ...]:
        """Coverage of each kernel, where accesses were watched."""
        module, used = self._main.backend.module, set(self._main.kernels.values())
        if module is None:
            return ()
        lines = LinesRun(authors_files(module.source))
        for checked in (self._main, *(replica.checked for replica in self._replicas)):
            if checked.backend.watching and checked.backend.runtime is not None and checked.backend.module is not None:
                lines.add(checked.backend.module.path, checked.backend.runtime.ran(), checked.kernels)
        return lines.report(module.source.signatures, used)

    def _checked_world(self, **settings: Any) -> CheckedWorld:
        num_envs = settings.pop("num_envs", self._num_envs)
        checked = CheckedWorld(self._environment, num_envs, self._seed, **settings)
        self._stack.callback(checked.close)
        return checked

    def _make_replicas(self) -> Iterator[Replica]:
        for order, words in ((BACKWARD, "when agents run backward"), (SHUFFLED, "when agents run in a shuffled order")):
            checked = self._checked_world(order=order, watching=False)
            advice = "let the outcome not depend on which agent comes first: it is not defined on a GPU"
            yield Replica(checked, self._trace, "order", words, advice, rounds=True)
        alone = self._checked_world(num_envs=1, first_env=self._num_envs - 1, watching=False)
        advice = "let an env depend on nothing but itself; num_envs changes from run to run"
        yield Replica(alone, self._trace, "neighbours", "when this env is alone in its world", advice, rounds=False)
        envs_per_warp = self._packing()
        if envs_per_warp:
            packed = self._checked_world(envs_per_warp=envs_per_warp)
            words = f"when {envs_per_warp} envs share a warp, as on a GPU"
            advice = "use agent_id(), lane() and sync_env() instead of a thread's position in its block"
            yield Replica(packed, self._trace, "packing", words, advice, rounds=False)

    def _packing(self) -> int:
        """Number of envs that would share a warp on a GPU; 0 if none would."""
        module, agents = self._main.backend.module, self._main.world.num_agents
        if module is None or set(module.source.threads) != {agents} or not module.source.uses_header_words_only():
            return 0
        return self._main.backend.warp_size // agents

    def _move(self, step: int, act: Callable[[CheckedWorld], None]) -> None:
        self._trace.start()
        self._main.backend.world_step = step
        self._main.move(act)
        if self._main.stopped is None:
            for replica in self._replicas:
                replica.move(act, step)

    def _step(self, checked: CheckedWorld) -> None:
        self._actions.put(checked.world, checked.envs)
        checked.world.step()

    def _reset_some(self, step: int, chosen: np.ndarray) -> None:
        import torch

        mask = torch.from_numpy(chosen)
        self._move(step, lambda checked: checked.world.reset(mask[checked.envs]))


def _left_by_resets(checked: CheckedWorld, seen: list[Finding]) -> Iterator[Finding]:
    """Findings on bytes that resets left: observations, which policies read; as notes, others that no kernel read."""
    resets = [name for name in checked.kernels.values() if name in checked.resets]
    stale = {finding.array for finding in seen if finding.kind == "reset"}
    for name, (offset, step) in checked.left.items():
        if name in stale:
            continue
        observed = name in checked.observations
        index = checked.accesses.index_of(name, offset)
        element = element_name(checked.world.data, name, index)
        yield Finding(
            kind="reset",
            place=checked.accesses.kernel_line(resets[-1]),
            message=f"kernel '{resets[-1]}' leaves {element} as "
            + ("it was, and policies read it" if observed else "the previous episode left it"),
            advice="write every observation in the reset kernel: it is the first of the new episode"
            if observed
            else 'no kernel has read it since; declare the array with on_reset="keep" if that is intended',
            note=not observed,
            kernel=resets[-1],
            array=name,
            index=index,
            env=index[0],
            step=step,
        )


def _ended(checked: CheckedWorld, seen: list[Finding]) -> Iterator[Finding]:
    """Finding that says why a kernel was ended, unless the access that caused it is reported already."""
    stopped = checked.stopped
    if stopped is None or stopped.code == STOPPED:
        return
    place = Place(stopped.file, stopped.line)
    if any(finding.kind == "out-of-bounds" and finding.place == place for finding in seen):
        return
    if any(finding.kind == "undefined" and finding.kernel == stopped.kernel for finding in seen):
        return  # its stack may be overwritten
    meets = stopped.code in (ErrorCode.DIVERGED, ErrorCode.DEADLOCK)
    advice = SAME_BRANCHES if meets else "fix this fault first; the check stopped here"
    yield Finding(
        kind="barrier" if meets else "fault",
        place=(branch_of(checked.accesses.sources, place) if meets else None) or place,
        message=f"kernel '{stopped.kernel}', env {stopped.env}, agent {stopped.agent}: {stopped.text}",
        advice=advice,
        kernel=stopped.kernel,
        env=stopped.env,
        agents=(stopped.agent,),
        step=checked.backend.world_step,
    )
