"""Which rule plays what, and what is measured of it: the figure that is asked of the environment's config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from warpworld.config import RunConfig, load_config
from warpworld.environment import Group, get_environment
from warpworld.trainers.collecting.players import Player, Scripted
from warpworld.trainers.play import play

from ..experiments import EXPERIMENTS, deathmatch, experiment, explorer
from . import boards, eyes, minatar, particles, warehouse

Rule = Callable[[Any, Group], Tensor]
Figures = Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """A rule that is measured.

    Attributes:
        name: of the packaged config that it plays.
        about: what the rule does, as a noun.
        measure: gives figures by name.
    """

    name: str
    about: str
    measure: Callable[[], Figures]


def by(rule: Rule) -> Scripted:
    """A player that follows a rule."""
    return Scripted(rule.__name__, rule)


def _of_environment(config: RunConfig, script: str) -> Scripted:
    """A player that follows a script of the run's environment."""
    return Scripted(script, get_environment(config.name)(**config.env).scripts()[script])


def _returns(name: str, about: str, episodes: int | None = None, **players: Rule) -> Case:
    """The mean return of those who follow a rule, while all others act at random."""

    def measure() -> Figures:
        config = load_config(name)
        everybody: dict[str, Player] = dict.fromkeys(config.policy)
        everybody |= {policy: by(rule) for policy, rule in players.items()}
        played = play(config, everybody, episodes or experiment.EPISODES, seed=1)
        return {f"{policy} return": float(played.returns[policy].mean()) for policy in players}

    return Case(name, about, measure)


def _solved(name: str) -> Case:
    def measure() -> Figures:
        played = play(load_config(name), {"walker": by(eyes.straight_to_the_goal)}, experiment.EPISODES, seed=1)
        return {"solved": float(played.returns["walker"].mean())}

    return Case(name, "a walker that turns to its goal and walks, whatever stands between", measure)


def _texels() -> Figures:
    config = load_config("explorer")
    players: dict[str, Player] = {"explorer": _of_environment(config, "wander")}
    return {"texels": explorer.texels(config, players), "share": explorer.share(config, players)}


def _four_in_a_line() -> Figures:
    shares = {}
    for own, other in (("first", "second"), ("second", "first")):
        players: dict[str, Player] = {own: by(boards.one_move_ahead), other: None}
        played = play(load_config("connect_four"), players, experiment.EPISODES, seed=1)
        shares[f"{own} beats random"] = float((played.returns[own] > 0).double().mean())
    return shares


def _steps_to_the_catch() -> Figures:
    config = _experiment("tag_gridworld")
    players: dict[str, Player] = {"tagger": _of_environment(config, "greedy"), "runner": None}
    played = play(config, players, experiment.EPISODES, seed=1)
    return {"steps": float(played.lengths.double().mean())}


def _on_the_plane() -> Figures:
    config = _experiment("tag_continuous")
    greedy, figures = _of_environment(config, "greedy"), {}
    for own, other in (("tagger", "runner"), ("runner", "tagger")):
        played = play(config, {own: greedy, other: None}, experiment.EPISODES, seed=1)
        figures[f"{own} when the other side is random"] = float(played.returns[own].mean())
    return figures


def _duels() -> Figures:
    config = load_config("deathmatch")
    turret, walker = (_of_environment(config, name) for name in ("turret", "walker"))
    return {"turret beats walker": deathmatch.wins(config, turret, walker)}


def _experiment(name: str) -> RunConfig:
    return EXPERIMENTS[name].config(seed=1)


CASES = (
    Case("tag_gridworld", "taggers that step towards the runner", _steps_to_the_catch),
    Case("tag_continuous", "the environment's greedy script", _on_the_plane),
    Case("explorer", "a walker that turns to the side with more room", _texels),
    _solved("waypoint"),
    _solved("point_goal"),
    Case("deathmatch", "the environment's turret", _duels),
    Case("connect_four", "a player that looks one move ahead", _four_in_a_line),
    _returns("warehouse", "robots that fetch the nearest shelf by the shortest way", 64, robot=warehouse.fetch),
    _returns("particles_spread", "agents that share out the landmarks", agent=particles.share_out),
    _returns("particles_push", "an agent that walks to its landmark", agent=particles.to_the_goal),
    _returns("particles_push", "an adversary that walks there", adversary=particles.to_the_goal),
    _returns("particles_adversary", "agents that walk to the goal", agent=particles.to_the_goal),
    _returns("particles_adversary", "an adversary between the landmarks", adversary=particles.to_the_middle),
    _returns("particles_pursuit", "adversaries that chase", adversary=particles.chase),
    _returns("particles_pursuit", "an agent that flees", agent=particles.flee),
    _returns("particles_speaker_listener", "a listener that walks to the goal", listener=particles.to_the_goal),
    _returns("particles_reference", "agents that walk to each other's goals", agent=particles.to_the_others_wish),
    _returns("minatar_asterix", "a player that dodges, and fetches gold", 200, agent=minatar.dodge_and_fetch),
    _returns("minatar_freeway", "a chicken that always goes up", 64, agent=minatar.up),
    _returns("minatar_seaquest", "a submarine that shoots along its row", 200, agent=minatar.shoot_along_the_row),
    _returns("minatar_space_invaders", "a cannon that evades, aims and shoots", 64, agent=minatar.shoot_from_cover),
)
