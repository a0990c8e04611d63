"""A run of a check: a watched world and its replicas, stepped side by side."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from warpworld.checking.checked_world import CheckedWorld
from warpworld.checking.contents import Contents
from warpworld.checking.coverage import Coverage, LinesRun
from warpworld.checking.ended_kernels import ended
from warpworld.checking.findings import Finding
from warpworld.checking.left_by_resets import left_by_resets
from warpworld.checking.lost_updates import LostUpdates
from warpworld.checking.native import BACKWARD, SHUFFLED
from warpworld.checking.outside_state import outside_state
from warpworld.checking.read_actions import ReadActions
from warpworld.checking.replicas import Replica, Trace
from warpworld.checking.source_tree import authors_files
from warpworld.environment import Environment
from warpworld.world import World


class Actions(Protocol):
    """Actions of agents in the steps of a check."""

    def draw(self) -> None:
        """Choose the actions of every env for a step."""

    def put(self, world: World, envs: slice) -> None:
        """Put the actions of some envs into the store of a world that has these envs."""


MakeActions = Callable[[World, int], Actions]


class CheckRun:
    """A checked world, its replicas in other orders and packings, and what is found in them.

    Attributes:
        sources: texts of the kernel files, for the places of findings.
        not_followed: state outside of the store that a check cannot follow.

    Args:
        environment: whose kernels are checked.
        num_envs: envs of the world.
        seed: of the world and of the actions.
        make_actions: makes the actions of an unsealed world, from it and the seed.
        stack: closes the worlds.
    """

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
                marked = chosen.random(self._num_envs) < 0.5
                marked[0] = False  # whose episodes reach their end, however long they are
                self._reset_some(step, marked)
        return steps if self._main.stopped is None else steps - 1

    def findings(self) -> Iterator[Finding]:
        """Report all that was found; a fault may be reported several times."""
        # accesses, in every world that watches them
        accesses = self._main.accesses.findings()
        packed = [replica.checked.accesses.findings() for replica in self._replicas if replica.checked.backend.watching]
        seen = [*accesses, *(finding for findings in packed for finding in findings)]
        yield from seen
        # faults that show over the whole run
        yield from self._lost_updates.findings(seen)
        yield from self._contents.findings
        yield from self._read_actions.findings
        yield from left_by_resets(self._main, seen)
        for checked in (self._main, *(replica.checked for replica in self._replicas)):
            yield from ended(checked, seen)
        # replicas, where accesses do not explain how they differ
        if any(state.is_shared for state in self.not_followed):  # by these worlds, too
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
            advice = f"let the outcome not depend on which agent comes first: {self._advice_on_order()}"
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

    def _advice_on_order(self) -> str:
        """Advice on results that depend on the order of agents, or the reason why there is none."""
        if self._environment.host_code() is None:
            return "it is not defined on a GPU"
        return "let agent 0 call what changes an object, and sync_env() before others look"

    def _packing(self) -> int:
        """Number of envs that would share a warp on a GPU; 0 if none would."""
        module, agents = self._main.backend.module, self._main.world.num_agents
        if (
            module is None
            or module.source.host is not None
            or set(module.source.threads) != {agents}
            or not module.source.uses_header_words_only()
        ):
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
