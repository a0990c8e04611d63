"""The opponents of all policies that play against others than their present selves."""

from __future__ import annotations

import copy
import itertools
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from warpworld.config import RANDOM, RunConfig, is_run, opponents_envs, self_play_entries, slots_of
from warpworld.policies import Policy, action_distribution
from warpworld.trainers.collecting import Scripted, Slot, state_array
from warpworld.trainers.initial_weights import load_named_weights
from warpworld.trainers.league.matches import Matches
from warpworld.trainers.league.matchmaker import Matchmaker, MatchmakerState
from warpworld.trainers.league.opponents import Opponent
from warpworld.trainers.league.saved_state import read_saved_state, saved_state
from warpworld.trainers.league.weights import copied, digest_of, is_held, packed
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.world import World


class League:
    """Opponents, by the ``self_play`` sections of a run; without such sections it does nothing.

    Create it before the learners, and hand ``slots`` to the rollout. Around each rollout call ``begin`` and
    ``take_results``; nothing of either waits for the device, but ``begin`` where an opponent comes or goes.

    Among several processes every one draws the same matches and keeps the same pool and ratings. Each plays the part of
    every slot that lies in its envs, and results are summed over all processes before ratings change.

    Attributes:
        matchmakers: one for each policy with opponents, by its name.
        slots: the parts of all slots that lie in this process's envs.
        modules: what opponents play with, by policy, one for each slot: they can be fused like any policy.

    Args:
        config: the run's settings.
        world: an unsealed world.
        policies: by name.
        read: whether to read the weights of other runs' policies; False where a checkpoint follows.
        processes: those that train the run.

    Raises:
        RunError: another run has no such policy, or its weights have other shapes.
    """

    def __init__(
        self,
        config: RunConfig,
        world: World,
        policies: Mapping[str, Policy | None],
        read: bool = True,
        processes: ProcessGroup = ALONE,
    ) -> None:
        self._world, self._processes = world, processes
        share = processes.share(config.trainer.num_envs)
        # opponents of each policy with self-play
        entries = self_play_entries(config)
        self._scripts = {name: Scripted(name, script) for name, script in world.environment.scripts().items()}
        self.matchmakers: dict[str, Matchmaker] = {}
        self.modules: dict[str, list[Policy]] = {}
        for name, envs in opponents_envs(entries, config.trainer.num_envs).items():
            entry, present = entries[name], policies[name]
            assert present is not None
            slots = [Slot(entry.groups, _own_part(part, share)) for part in slots_of(envs, entry.slots)]
            modules = [copy.deepcopy(present).requires_grad_(False).eval() for _ in slots]
            self.modules[name] = modules
            others = [self._opponent(name, number, text, present, read) for number, text in enumerate(entry.opponents)]
            seed = config.trainer.seed ^ zlib.crc32(name.encode())
            self.matchmakers[name] = Matchmaker(
                name, present, modules, slots, len(envs), entry, self._scripts, others, seed, processes
            )
        # slots that have envs in this process
        slots = [slot for matchmaker in self.matchmakers.values() for slot in matchmaker.slots]
        self.slots = [slot for slot in slots if slot.envs.start < slot.envs.stop]
        self._matches = Matches(world, slots) if slots else None
        self._pending: list[Tensor] = []
        world.when_sealed(self._check_scripts)

    def _opponent(self, policy: str, number: int, text: str, present: Policy, read: bool) -> Opponent:
        """An opponent as the configuration names it."""
        if not is_run(text, self._scripts):
            return Opponent(text, "random" if text == RANDOM else "script")
        opponent = Opponent(text, "frozen", file=f"{policy}-opponent-{number}.pt")
        if read:
            where = f"policy.{policy}.self_play.opponents has '{text}'"
            taken = copy.deepcopy(present)
            load_named_weights(taken, policy, text, where)
            opponent.weights = copied(taken)
            opponent.digest = digest_of(packed(opponent.weights))
        return opponent

    def check_same(self) -> None:
        """Refuse to start where processes have read other weights of the same run.

        Raises:
            ProcessError: in all of them, see ``ProcessGroup.check_same``.
        """
        opponents = [other for matchmaker in self.matchmakers.values() for other in matchmaker.state.opponents.values()]
        self._processes.check_same("run as an opponent", " ".join(other.digest for other in opponents))

    def _check_scripts(self) -> None:
        """Check what scripts give.

        Raises:
            DeclarationError: a script fails, or gives another shape or dtype than a policy of its group.
        """
        for matchmaker in self.matchmakers.values():
            for name, player in itertools.product(matchmaker.slots[0].groups, matchmaker.scripts()):
                group = self._world.groups[name]
                player.check(self._world, group, action_distribution(group).num_outputs)

    # ---- around a rollout --------------------------------------------------------------------------------------------
    def begin(self, iteration: int) -> None:
        """Keep past selves and exchange opponents where it is time, before an iteration's rollout.

        Args:
            iteration: iterations done.
        """
        due = [matchmaker for matchmaker in self.matchmakers.values() if matchmaker.is_due(iteration)]
        if due:
            self._settle()
        for matchmaker in due:
            matchmaker.begin(iteration, self._exchange)

    def _exchange(self, slot: Slot) -> None:
        """Prepare a slot for another opponent: it remembers nothing, and the episodes under way do not count."""
        assert self._matches is not None
        self._matches.exchange(slot)
        for group in slot.groups:
            if state_array(group) in self._world:
                self._world[state_array(group)][slot.envs] = 0.0

    def take_results(self) -> None:
        """Note the results of matches after an iteration's rollout, without waiting for the device."""
        if self._matches is not None:
            self._pending.append(self._matches.results())

    def _settle(self) -> None:
        """Read the results that were noted, all at once, and let them change the ratings iteration by iteration.

        Halves and whole numbers are summed over the processes, which is exact: their number makes no difference.
        """
        if not self._pending:
            return
        read = self._processes.sum(torch.stack(self._pending)).tolist()
        self._pending = []
        ends = list(
            itertools.accumulate((len(matchmaker.slots) for matchmaker in self.matchmakers.values()), initial=0)
        )
        for results in read:
            for matchmaker, (first, end) in zip(self.matchmakers.values(), itertools.pairwise(ends), strict=True):
                matchmaker.take(results[first:end])

    def read(self) -> dict[str, Any]:
        """The latest iteration's metrics."""
        self._settle()
        return {name: value for matchmaker in self.matchmakers.values() for name, value in matchmaker.metrics().items()}

    # ---- saving ------------------------------------------------------------------------------------------------------
    def files(self, folder: Path | None = None) -> dict[str, bytes]:
        """Files of the run's ``league`` folder for the present state, by name; call it before ``state_dict``.

        Args:
            folder: what this one holds already is left out, as it is: another version of torch may pack the same
                weights into other bytes, which checkpoints do not know.
        """
        found = {}
        for opponent in (
            other for matchmaker in self.matchmakers.values() for other in matchmaker.state.opponents.values()
        ):
            if opponent.weights is None or (folder is not None and is_held(folder / opponent.file, opponent.digest)):
                continue
            found[opponent.file] = packed(opponent.weights)
            opponent.digest = digest_of(found[opponent.file])
        return found

    def state_dict(self) -> dict[str, Any]:
        """State of the league by policy, without the opponents' weights."""
        self._settle()
        return {name: saved_state(matchmaker.state) for name, matchmaker in self.matchmakers.items()}

    def read_state(self, saved: Mapping[str, Any], folder: Path | None) -> dict[str, MatchmakerState]:
        """Read and check what ``state_dict`` returned, with the weights; nothing of it is taken up yet.

        Args:
            saved: see above.
            folder: the run's ``league`` folder; None knows the weights in memory alone.

        Raises:
            RunError: it is not what it should be, or a file is missing or was changed.
        """
        opponents = [
            opponent for matchmaker in self.matchmakers.values() for opponent in matchmaker.state.opponents.values()
        ]
        known = {opponent.digest: opponent.weights for opponent in opponents if opponent.weights is not None}
        return {name: read_saved_state(name, saved.get(name), known, folder) for name in self.matchmakers}

    def take_state(self, states: Mapping[str, MatchmakerState]) -> None:
        """Continue from what ``read_state`` gave; what matches under way stand at lies in the store."""
        self._pending = []
        for name, state in states.items():
            self.matchmakers[name].state = state
            self.matchmakers[name].place_opponents()


def _own_part(envs: range, share: range) -> slice:
    """The part of a range of envs that lies in a process's share, counted from the share's first; it may be empty."""
    start, stop = (min(max(edge, share.start), share.stop) - share.start for edge in (envs.start, envs.stop))
    return slice(start, stop)
