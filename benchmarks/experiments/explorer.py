"""Explorer: how much of a home is seen, beside a random agent."""

from __future__ import annotations

from collections.abc import Mapping

from warpworld.config import RunConfig, with_env
from warpworld.trainers.building import build_world
from warpworld.trainers.collecting.players import Player
from warpworld.trainers.play import play

from . import experiment
from .experiment import Experiment, Figures, Trained

TEXELS_OF_A_REWARD = 64
CPU_SECONDS = 600  # of 5 minutes on two cores
UNSEEN = {"plan_seed": 1000, "num_plans": 128}


def texels(config: RunConfig, players: Mapping[str, Player]) -> float:
    """Texels of wall that are seen in an episode, those in sight at its start included."""
    world = build_world(config, experiment.EPISODES, seed=1)
    world.reset()
    at_once = float(world["potential"].double().mean())
    returns = play(config, players, experiment.EPISODES, seed=1).returns["explorer"]
    return at_once + TEXELS_OF_A_REWARD * float(returns.mean())


def share(config: RunConfig, players: Mapping[str, Player]) -> float:
    """What is seen in an episode of the wall that can be seen, in homes that no training has seen."""
    unseen = with_env(config, UNSEEN, "unseen homes")
    return play(unseen, players, experiment.EPISODES, seed=1).metrics["env/share"]


def _judge(trained: Trained) -> Figures:
    by_chance: dict[str, Player] = {"explorer": None}
    learnt, random = (texels(trained.config, players) for players in (trained.policies, by_chance))
    shares = [share(trained.config, players) for players in (trained.policies, by_chance)]
    seen = {"share_of_unseen_homes": shares[0], "share_of_a_random_agent": shares[1]}
    return {"texels": learnt, "texels_of_a_random_agent": random, "ratio": learnt / random, **seen, **trained.times}


EXPLORER = Experiment(
    name="explorer",
    claim="an agent sees at least twice the wall that a random one sees",
    changes={},
    curves={"charts/explorer/episodic_return": "texels first seen in an episode / 64"},
    judge=_judge,
    holds=lambda f: f["ratio"] >= 2.0 and f["cpu_seconds"] <= CPU_SECONDS,  # type: ignore[operator]
)
