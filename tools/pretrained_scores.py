"""Scores of the policies that come with the package: which ones there are, and the games that each is judged by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from warpworld.config import RunConfig, sides_of, with_env
from warpworld.environment import Environment
from warpworld.runs import Run
from warpworld.trainers import load_policies
from warpworld.trainers.collecting import Player, Scripted, player_of
from warpworld.trainers.play import play_groups

EPISODES, SEED = 1000, 1  # of each game whose score is stated
ITSELF, RANDOM = "policies as trained", "random actions"
WON = 1.0  # least return of who has won: Connect Four pays 1, a duel more for each kill that is not paid back


@dataclass(frozen=True)
class Game:
    """Episodes that a policy is judged by; actions are drawn.

    Attributes:
        policy: by name.
        against: who plays all other groups: ``ITSELF``, ``RANDOM`` or a script of the environment.
        won: count episodes that are won, instead of returns.
    """

    policy: str
    against: str = ITSELF
    won: bool = False

    @property
    def metric(self) -> str:
        """Name of the score."""
        return "part of games won" if self.won else "mean return"


@dataclass(frozen=True)
class Pretrained:
    """A policy that comes with the package.

    Attributes:
        config: packaged config that it is trained by, whose name it has.
        games: that judge it.
        overrides: of the config.
        env: parameters of the environment that it is judged in, in place of those trained with.
    """

    config: str
    games: tuple[Game, ...]
    overrides: tuple[str, ...] = ()
    env: Mapping[str, Any] = field(default_factory=dict)


_SMALL_TAG = ("env.num_taggers=5", "env.num_runners=20", "env.episode_length=200", "trainer.num_envs=64")
_SMALL_TAG += ("trainer.num_steps=50", "trainer.total_env_steps=960_000")

PRETRAINED = (
    Pretrained("tag_continuous", (Game("tagger"), Game("runner")), _SMALL_TAG),
    Pretrained(
        "deathmatch",
        (Game("fighter", "turret", won=True), Game("fighter", "walker", won=True)),
        env={"kills_to_win": 3, "episode_length": 1000},
    ),
    Pretrained("connect_four", (Game("first", RANDOM, won=True), Game("second", RANDOM, won=True))),
    Pretrained("overcooked", (Game("cook"),), ("trainer.precision=bf16",), env={"start": "fixed"}),
    Pretrained("minatar_breakout", (Game("agent"),), ("trainer.precision=bf16",)),
)


@dataclass(frozen=True)
class Score:
    """Score of a game.

    Attributes:
        mean: over the episodes.
        deviation: standard deviation of an episode's score.
        random: mean in the same game, where random actions play in the policy's place.
        episodes: of each of the two.
    """

    mean: float
    deviation: float
    random: float
    episodes: int

    @property
    def confidence(self) -> float:
        """Half-width of the mean's 95% interval."""
        return 1.96 * self.deviation / math.sqrt(self.episodes)


def scores(run: Run, entry: Pretrained, episodes: int = EPISODES, seed: int = SEED) -> Iterator[tuple[Game, Score]]:
    """Play the games of a run.

    Args:
        run: with a checkpoint.
        entry: whose games are played.
        episodes: of each game, rounded up to whole rounds of the envs.
        seed: of the episodes and of the actions drawn.

    Yields:
        Each game and its score.
    """
    config, policies = with_env(run.config, entry.env), load_policies(run)
    environment = config.make_environment()
    players = {name: player_of(policy, config.policy[name], environment) for name, policy in policies.items()}
    for game in entry.games:
        played = _values(config, game, _seated(config, environment, game, players), episodes, seed)
        at_random = _values(
            config, game, _seated(config, environment, game, {**players, game.policy: None}), episodes, seed
        )
        yield game, Score(float(played.mean()), float(played.std()), float(at_random.mean()), len(played))


def _seated(
    config: RunConfig, environment: Environment, game: Game, players: Mapping[str, Player]
) -> dict[str, Player]:
    """Who plays each group."""
    seated = {group: players[name] for name, entry in config.policy.items() for group in entry.groups}
    if game.against == ITSELF:
        return seated
    script = environment.scripts().get(game.against)
    other = None if script is None else Scripted(game.against, script)
    return {**seated, **dict.fromkeys(sides_of(config, game.policy)[1], other)}


def _values(config: RunConfig, game: Game, players: Mapping[str, Player], episodes: int, seed: int) -> torch.Tensor:
    """(episodes,) float64: what each episode counts for the policy."""
    returns = play_groups(config, players, episodes, seed)
    groups = config.policy[game.policy].groups if game.against == ITSELF else sides_of(config, game.policy)[0]
    mean = torch.cat([returns[group] for group in groups], dim=1).mean(1)
    return (mean >= WON).double() if game.won else mean
