"""Explorer: how much of a home is seen, beside a random agent."""

from __future__ import annotations

from collections.abc import Mapping

from warpworld.config import RunConfig
from warpworld.trainers.building import build_world
from warpworld.trainers.collecting.players import Player
from warpworld.trainers.play import play

from . import experiment
from .experiment import Experiment, Figures, Trained

TEXELS_OF_A_REWARD = 64
CPU_SECONDS = 600  # of 5 minutes on two cores


def texels(config: RunConfig, players: Mapping[str, Player]) -> float:
    """Texels of wall that are seen in an episode, those in sight at its start included."""
    world = build_world(config, experiment.EPISODES, seed=1)
    world.reset()
    at_once = float(world["potential"].double().mean())
    returns = play(config, players, experiment.EPISODES, seed=1).returns["explorer"]
    return at_once + TEXELS_OF_A_REWARD * float(returns.mean())


def _judge(trained: Trained) -> Figures:
    learnt, random = (texels(trained.config, players) for players in (trained.policies, {"explorer": None}))
    return {"texels": learnt, "texels_of_a_random_agent": random, "ratio": learnt / random, **trained.times}


EXPLORER = Experiment(
    name="explorer",
    claim="an agent sees at least twice the wall that a random one sees",
    changes={},
    curves={"charts/explorer/episodic_return": "texels first seen in an episode / 64"},
    judge=_judge,
    holds=lambda f: f["ratio"] >= 2.0 and f["cpu_seconds"] <= CPU_SECONDS,  # type: ignore[operator]
)
