"""Plays every player against every other: a run's past selves and scripts, in a table of win rates."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from warpworld.config import RANDOM, RunConfig, self_play_entries, sides_of
from warpworld.errors import RunError, suggest
from warpworld.runs import Run
from warpworld.trainers.collecting import Player, Scripted, player_of
from warpworld.trainers.league.opponents import thinned
from warpworld.trainers.league.ratings import fitted_ratings
from warpworld.trainers.league.saved_state import read_saved_state
from warpworld.trainers.loaded_policies import load_policies
from warpworld.trainers.play import play_groups

_Selves = Mapping[int, Mapping[str, Player]]  # the policies of each checkpoint


@dataclass(frozen=True)
class Member:
    """A player in the table.

    Attributes:
        name: in the table.
        players: who plays each group of its side.
    """

    name: str
    players: Mapping[str, Player]


@dataclass(frozen=True)
class CrossPlay:
    """Table of win rates and ratings of two sides' players.

    Attributes:
        policy: whose selves the rows are.
        against: names of the policies whose selves the columns are, joined by commas.
        rows: names of those who play its side.
        columns: names of those who play the other.
        win_rates: (rows, columns) float64: part of the episodes that the row won, draws half; NaN where it would have
            met itself.
        row_ratings: (rows,) float64, Elo fitted to the whole table.
        column_ratings: (columns,) float64, likewise; the same where rows and columns are the same.
        episodes: of each pair.
        same: whether rows and columns are the same players, who then played both sides.
    """

    policy: str
    against: str
    rows: list[str]
    columns: list[str]
    win_rates: np.ndarray
    row_ratings: np.ndarray
    column_ratings: np.ndarray
    episodes: int
    same: bool

    def to_json(self) -> str:
        """The table as a JSON object of its attributes; null where a player would have met itself."""
        rates = [[None if math.isnan(rate) else rate for rate in line] for line in self.win_rates.tolist()]
        ratings = {name: getattr(self, name).tolist() for name in ("row_ratings", "column_ratings")}
        return json.dumps({**dataclasses.asdict(self), "win_rates": rates, **ratings})


def cross_play(
    run: Run,
    episodes: int = 100,
    members: int = 5,
    seed: int = 0,
    policy: str | None = None,
    on_pair: Callable[[int, int], None] = lambda done, all: None,
    *,
    checkpoints: Sequence[int] = (),
    played_in: RunConfig | None = None,
) -> CrossPlay:
    """Let the selves of a run play each other, the environment's scripts and random actions.

    Where one policy plays all groups, rows and columns are the same: each pair plays half of its episodes with the
    sides exchanged, a side being the policy's first group, or what its ``self_play`` leaves to the present self, and
    all others. Else rows play the policy's groups and columns all others. An episode is won by the side whose agents'
    mean return is higher.

    Args:
        run: with checkpoints.
        episodes: of each pair, rounded up to whole rounds of the envs.
        members: how many selves from checkpoints, spread over the training, and as many of the pool besides.
        seed: of the episodes; the same seed gives the same table.
        policy: whose selves are the rows; None takes the first with opponents, or else the first that is trained.
        on_pair: called after each pair: how many are done, of how many.
        checkpoints: iterations of the selves, in place of ``members`` that are spread over the training.
        played_in: the run's configuration with other parameters of the environment; None plays as it was trained.

    Raises:
        RunError: there is no checkpoint, or none of these iterations, no such policy or no player to meet it, a file
            of the pool is missing or was changed, or episodes do not end.
    """
    # sides, and selves from checkpoints
    name = _policy(run, policy)
    own, other, same = _sides(run, name)
    iterations = sorted(set(checkpoints)) or _spread(run.checkpoints(), members)
    if not iterations:
        run.load_checkpoint()  # raises if there is none
    selves = {iteration: load_policies(run, iteration) for iteration in iterations}
    # rows and columns of the table
    rows = columns = _members(run, name, selves, (*own, *other) if same else own)
    rivals = [name] if same else [entry for entry in run.config.policy if entry != name]
    if not same:
        columns = _others(run, rivals, selves, other)
    # games, and what follows from them
    scores, games = _table(played_in or run.config, rows, columns, (own, other), same, episodes, seed, on_pair)
    with np.errstate(invalid="ignore"):
        win_rates = np.divide(scores, games, out=np.full_like(scores, np.nan), where=games > 0)
    row_ratings, column_ratings = _ratings(scores, games, same)
    names = [member.name for member in rows], [member.name for member in columns]
    return CrossPlay(name, ", ".join(rivals), *names, win_rates, row_ratings, column_ratings, int(games.max()), same)


# ---- who -------------------------------------------------------------------------------------------------------------
def _policy(run: Run, asked: str | None) -> str:
    """The policy whose selves are the rows."""
    policies = run.config.policy
    trained = [name for name, entry in policies.items() if entry.train]
    if asked is not None and asked not in trained:
        raise RunError(
            f"run '{run.path}' has no policy '{asked}' that is trained.{suggest(asked, trained)} "
            f"It has {', '.join(trained) or 'none'}"
        )
    if not trained:
        raise RunError(f"run '{run.path}' has no policy that is trained, so that there are no selves to play")
    return asked or next((name for name in self_play_entries(run.config) if name in trained), trained[0])


def _sides(run: Run, name: str) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """The groups of either side, and whether the same policy plays both."""
    own, other = sides_of(run.config, name)
    if not other:
        raise RunError(
            f"run '{run.path}': policy '{name}' plays the only group, '{own[0]}', so it has no other player to meet"
        )
    return own, other, set(other) <= set(run.config.policy[name].groups)


def _spread(checkpoints: Sequence[int], count: int) -> list[int]:
    """``count`` checkpoints from first to last, evenly spread over the training; all where there are fewer."""
    if len(checkpoints) <= count:
        return list(checkpoints)
    wanted = np.linspace(checkpoints[0], checkpoints[-1], count) if count > 1 else [checkpoints[-1]]
    return sorted({min(checkpoints, key=lambda iteration: abs(iteration - at)) for at in wanted})


def _members(run: Run, name: str, selves: _Selves, groups: Sequence[str]) -> list[Member]:
    """A policy's selves, its pool, the environment's scripts, and random actions; one that is frozen has one self."""
    different = selves if run.config.policy[name].train else {max(selves): selves[max(selves)]}
    own = {iteration: known[name] for iteration, known in different.items()}
    found: dict[str, Player] = {f"{iteration}": player for iteration, player in own.items() if player is not None}
    found |= {**_pool(run, name, list(selves)), **_strangers(run)}
    return [Member(member, dict.fromkeys(groups, player)) for member, player in found.items()]


def _others(run: Run, rivals: Sequence[str], selves: _Selves, groups: Sequence[str]) -> list[Member]:
    """Players of the other side: all other policies as they were at the same checkpoint, a single one's pool too."""
    if len(rivals) == 1:
        return _members(run, rivals[0], selves, groups)
    served = {group: name for name in rivals for group in run.config.policy[name].groups}
    environment, entries = run.config.make_environment(), run.config.policy
    found = [
        Member(f"{i}", {group: player_of(known[name], entries[name], environment) for group, name in served.items()})
        for i, known in selves.items()
    ]
    return [*found, *(Member(name, dict.fromkeys(groups, player)) for name, player in _strangers(run).items())]


def _strangers(run: Run) -> dict[str, Player]:
    """The environment's scripts, and random actions."""
    scripts = run.config.make_environment().scripts()
    return {**{name: Scripted(name, script) for name, script in scripts.items()}, RANDOM: None}


def _pool(run: Run, name: str, iterations: Sequence[int]) -> dict[str, Player]:
    """Past selves of the latest checkpoint's pool, as many as ``iterations``, and policies of other runs."""
    saved = run.load_checkpoint().get("league", {})
    if name not in saved:
        return {}
    # past selves, spread over the training
    state = read_saved_state(name, saved[name], {}, run.opponents_folder)
    past = [opponent.iteration for opponent in state.pool() if opponent.iteration not in iterations]
    kept = thinned(past, len(iterations))
    # players, with the weights that are kept
    found: dict[str, Player] = {}
    newest = load_policies(run)[name]
    assert newest is not None
    for opponent in state.opponents.values():
        is_past = opponent.kind == "past"
        if opponent.weights is None or (is_past and opponent.iteration not in kept):
            continue
        player = copy.deepcopy(newest)
        player.load_state_dict(opponent.weights)
        found[f"pool {opponent.iteration}" if is_past else _short(opponent.name, found)] = player
    return found


def _short(run: str, taken: Container[str]) -> str:
    """The folder of a run and the policy in it, without the folders around it where no other player has that name."""
    return run if Path(run).name in taken else Path(run).name


# ---- the table -------------------------------------------------------------------------------------------------------
def _table(
    config: RunConfig,
    rows: Sequence[Member],
    columns: Sequence[Member],
    sides: tuple[Sequence[str], Sequence[str]],
    same: bool,
    episodes: int,
    seed: int,
    on_pair: Callable[[int, int], None],
) -> tuple[np.ndarray, np.ndarray]:
    """Points of each row against each column, and games."""
    scores, games = np.zeros((len(rows), len(columns))), np.zeros((len(rows), len(columns)))
    # pairs; in both orders where rows are columns
    pairs = [(i, j) for i in range(len(rows)) for j in range(len(columns)) if not (same and i == j)]
    each = -(-episodes // 2) if same else episodes
    own, other = sides
    for done, (i, j) in enumerate(pairs, 1):
        players = {group: rows[i].players[group] for group in own}
        players |= {group: columns[j].players[group] for group in other}
        won = _scores(play_groups(config, players, each, seed + done), players, own)
        scores[i, j] += won.sum().item()
        games[i, j] += len(won)
        # the same games, from the other side
        if same:
            scores[j, i] += len(won) - won.sum().item()
            games[j, i] += len(won)
        on_pair(done, len(pairs))
    return scores, games


def _scores(returns: Mapping[str, Tensor], players: Mapping[str, Player], own: Sequence[str]) -> Tensor:
    """1, 1/2 or 0 for each episode, (episodes,) float64: whether the own side's mean return was the higher."""
    sides = [[group for group in players if (group in own) is mine] for mine in (True, False)]
    agents = [torch.cat([returns[group] for group in groups], 1) for groups in sides]
    # compared as sums that count as often as the other side has agents: equal means are equal to the bit
    ahead = agents[0].sum(1) * agents[1].shape[1] - agents[1].sum(1) * agents[0].shape[1]
    return (ahead.sign() + 1.0) / 2.0


def _ratings(scores: np.ndarray, games: np.ndarray, same: bool) -> tuple[np.ndarray, np.ndarray]:
    """Elo of rows and columns; of different players, all in one list, of which only rows met columns."""
    if same:
        ratings = fitted_ratings(scores, games)
        return ratings, ratings
    rows, columns = scores.shape
    all_scores, all_games = np.zeros((rows + columns,) * 2), np.zeros((rows + columns,) * 2)
    all_scores[:rows, rows:], all_scores[rows:, :rows] = scores, (games - scores).T
    all_games[:rows, rows:], all_games[rows:, :rows] = games, games.T
    ratings = fitted_ratings(all_scores, all_games)
    return ratings[:rows], ratings[rows:]
