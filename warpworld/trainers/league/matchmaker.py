"""Matchmaking of one policy: its slots, the opponents that it may meet in them, and their ratings."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from warpworld.config import SelfPlayConfig
from warpworld.policies import Policy
from warpworld.trainers.collecting import Player, Scripted, Slot
from warpworld.trainers.league.episode_counts import MANY, EpisodeCounts
from warpworld.trainers.league.match_making import chances, draw
from warpworld.trainers.league.opponents import KINDS, Opponent, thinned
from warpworld.trainers.league.ratings import START, expected_score
from warpworld.trainers.league.weights import copied, digest_of, packed
from warpworld.trainers.processes import ALONE, ProcessGroup

logger = logging.getLogger(__name__)


@dataclass
class MatchmakerState:
    """The part of a matchmaker that changes during a run, and is saved.

    Attributes:
        rating: Elo of the present selves who meet the opponents.
        opponents: everyone that can be met, by name, in the order in which they came.
        retired: names of past selves that left the pool while they play on.
        matches: who plays in each slot; empty before the first match.
        generator: that opponents are drawn with.
        counts: of what has ended since the last one was judged.
        judged: the latest counts of whole matches with ``MANY`` ends.
    """

    rating: float = START
    opponents: dict[str, Opponent] = field(default_factory=dict)
    retired: set[str] = field(default_factory=set)
    matches: list[str] = field(default_factory=list)
    generator: torch.Generator = field(default_factory=torch.Generator)
    counts: EpisodeCounts = field(default_factory=EpisodeCounts)
    judged: EpisodeCounts = field(default_factory=EpisodeCounts)

    def pool(self) -> list[Opponent]:
        """The past selves that may be met, the oldest first."""
        past = [opponent for opponent in self.opponents.values() if opponent.kind == "past"]
        return [opponent for opponent in past if opponent.name not in self.retired]


class Matchmaker:
    """Chooses one policy's opponents and rates them.

    Attributes:
        policy: name of the policy that they replace.
        slots: where, in this process's envs; some may be empty.
        state: what is saved.

    Args:
        policy: see above.
        present: the policy as it learns.
        modules: one for each slot, which opponents' weights are copied into.
        slots: see above.
        num_envs: of all slots, in all processes together.
        settings: the policy's ``self_play``.
        scripts: the environment's scripts that may be met, as players.
        others: opponents from the start.
        seed: of the draws.
        processes: those that train the run.
    """

    def __init__(
        self,
        policy: str,
        present: Policy,
        modules: Sequence[Policy],
        slots: Sequence[Slot],
        num_envs: int,
        settings: SelfPlayConfig,
        scripts: Mapping[str, Scripted],
        others: Sequence[Opponent],
        seed: int,
        processes: ProcessGroup = ALONE,
    ) -> None:
        self.policy, self.slots = policy, list(slots)
        self._num_envs, self._processes = num_envs, processes
        self._present, self._modules, self._settings, self._scripts = present, modules, settings, scripts
        self.state = MatchmakerState(opponents={other.name: other for other in others})
        self.state.generator.manual_seed(seed)
        self._latest = [(math.nan, 0)] * len(self.slots)  # mean score and games of the latest iteration
        self._latest_kinds = [""] * len(self.slots)
        self._told: set[str] = set()  # what was warned of

    # ---- matches -----------------------------------------------------------------------------------------------------
    def is_due(self, iteration: int) -> bool:
        """Whether opponents change before the next iteration."""
        return iteration % self._settings.match_every == 0 or self._keeps(iteration)

    def _keeps(self, iteration: int) -> bool:
        return self._settings.pool_size > 0 and iteration % self._settings.snapshot_every == 0

    def begin(self, iteration: int, exchange: Callable[[Slot], None]) -> None:
        """Keep the present self, and draw new opponents, where it is time.

        Args:
            iteration: iterations done.
            exchange: is called for each slot in which another opponent plays from here on.
        """
        if self._keeps(iteration):
            self._keep_present(iteration)
        if iteration % self._settings.match_every == 0:
            self._make_matches(exchange)

    def _keep_present(self, iteration: int) -> None:
        """Take the present self into the pool, with its rating, and let another go where the pool is full."""
        state, weights = self.state, copied(self._present)
        name = f"{self.policy}-{iteration:06d}"
        past = Opponent(name, "past", iteration, state.rating, weights=weights, file=f"{name}.pt")
        past.digest = digest_of(packed(weights))
        state.opponents[name] = past
        pool = state.pool()
        kept = thinned([other.iteration for other in pool], self._settings.pool_size)
        state.retired |= {other.name for other in pool if other.iteration not in kept}
        self._forget_retired()

    def _forget_retired(self) -> None:
        """Drop those who left the pool, unless they play on."""
        for name in sorted(self.state.retired - set(self.state.matches)):
            del self.state.opponents[name]
            self.state.retired.remove(name)

    def _make_matches(self, exchange: Callable[[Slot], None]) -> None:
        state = self.state
        if state.matches:
            self._judge()
        # opponents, drawn by their win rates
        known = [opponent for opponent in state.opponents.values() if opponent.name not in state.retired]
        probabilities = chances([opponent.win_rate for opponent in known], self._settings.match_making)
        indices = torch.tensor(draw(probabilities, len(self.slots), state.generator))
        self._processes.first_says(indices)  # another processor may draw others from the same seed
        drawn = [known[i].name for i in indices.tolist()]
        # slots whose opponent is new
        before, state.matches = state.matches or [""] * len(self.slots), drawn
        for slot, old, new in zip(self.slots, before, drawn, strict=True):
            if new != old:
                exchange(slot)
        self.place_opponents()
        self._forget_retired()

    def _judge(self) -> None:
        """Warn if most of the episodes that ended in the slots do not count."""
        state = self.state
        # no game counts at all
        if not any(opponent.games for opponent in state.opponents.values()):
            self._warn_once(
                "no episode ended while an opponent stayed in its slot, so no opponent is rated; let match_every times "
                "num_steps be several episodes long"
            )
        # most of many episodes do not count
        if state.counts.ended < MANY:
            return
        state.judged, state.counts = state.counts, EpisodeCounts()
        if state.judged.share_left_out > 0.5:
            self._warn_once(
                "most games do not count: %d of %d episodes that ended in its slots began against another opponent; "
                "the mean episode takes %.1f rollouts: let match_every, which is %d, be several times as many",
                state.judged.left_out,
                state.judged.ended,
                state.judged.rollouts_an_episode,
                self._settings.match_every,
            )

    def _warn_once(self, problem: str, *numbers: float) -> None:
        if problem not in self._told:
            self._told.add(problem)
            logger.warning(f"policy.%s.self_play: {problem}", self.policy, *numbers)

    def place_opponents(self) -> None:
        """Put the opponents of ``matches`` into the slots."""
        for slot, module, name in zip(self.slots, self._modules, self.state.matches, strict=False):
            slot.player = self._player(self.state.opponents[name], module)

    def scripts(self) -> list[Scripted]:
        """The scripts that may be met."""
        return [self._scripts[other.name] for other in self.state.opponents.values() if other.kind == "script"]

    def _player(self, opponent: Opponent, module: Policy) -> Player:
        """Past selves and other runs' policies take the slot's own module, in place: a graph of it stays valid."""
        if opponent.weights is not None:
            module.load_state_dict(opponent.weights)
            return module
        return self._scripts[opponent.name] if opponent.kind == "script" else None

    # ---- results -----------------------------------------------------------------------------------------------------
    def take(self, results: Sequence[Sequence[float]]) -> None:
        """Update ratings and win rates with an iteration's results, all from the ratings before it.

        Args:
            results: for each slot, in all processes together, the sum of the present selves' scores, the number of
                matches, and how many episodes ended that are none, as they began against another opponent.
        """
        state = self.state
        # this iteration's results, for the metrics
        players = [state.opponents[name] for name in state.matches]
        self._latest = [(score / games if games else math.nan, int(games)) for score, games, _ in results]
        self._latest_kinds = [player.kind for player in players]
        # surprises, all by the ratings before
        surprises = [
            score - expected_score(state.rating, player.rating) if games else 0.0
            for player, (score, games) in zip(players, self._latest, strict=True)
        ]
        # ratings and win rates
        for player, surprise, (score, games) in zip(players, surprises, self._latest, strict=True):
            state.rating += self._settings.elo_k * surprise
            player.rating -= self._settings.elo_k * surprise
            if games:
                player.remember(score)
                player.games += games
        # counts of episodes, for the warning
        state.counts.played += self._num_envs
        state.counts.ended += int(sum(games + left_out for _, games, left_out in results))
        state.counts.left_out += int(sum(left_out for _, _, left_out in results))

    def metrics(self) -> dict[str, Any]:
        """Metrics of the latest iteration that was taken in."""
        found = {
            "elo": self.state.rating,
            "pool_size": len(self.state.pool()),
            "games": sum(games for _, games in self._latest),
            "left_out": self.state.judged.share_left_out,
            **{f"win_rate/{kind}": self._win_rate(kind) for kind in self._kinds()},
        }
        return {f"league/{self.policy}/{name}": value for name, value in found.items()}

    def _kinds(self) -> list[str]:
        """The kinds of opponents that there can be."""
        met = {opponent.kind for opponent in self.state.opponents.values()}
        return [kind for kind in KINDS if kind in met or (kind == "past" and self._settings.pool_size > 0)]

    def _win_rate(self, kind: str) -> float:
        """Mean score in all of the latest iteration's matches against a kind; NaN if there were none."""
        of_kind = [found for found, other in zip(self._latest, self._latest_kinds, strict=True) if other == kind]
        games = sum(count for _, count in of_kind)
        return sum(score * count for score, count in of_kind if count) / games if games else math.nan
