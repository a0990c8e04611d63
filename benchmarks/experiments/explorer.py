"""Explorer: how much of a home is seen, beside a random agent."""

from __future__ import annotations

from collections.abc import Mapping

from warpworld.policies import Policy
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer, build_world

from . import experiment
from .experiment import Curve, Experiment, Figures

TEXELS_OF_A_REWARD = 64


def _judge(trainer: Trainer, curve: Curve) -> Figures:
    """Texels of wall that are seen in an episode, those in sight at its start included."""
    world = build_world(trainer.config, experiment.EPISODES, seed=1)
    world.reset()
    at_once = float(world["potential"].double().mean())

    def texels(policies: Mapping[str, Policy | None]) -> float:
        returns = play(trainer.config, policies, experiment.EPISODES, seed=1).returns["explorer"]
        return at_once + TEXELS_OF_A_REWARD * float(returns.mean())

    trained, random = texels(trainer.policies), texels({"explorer": None})
    return {"texels": trained, "texels_of_a_random_agent": random, "ratio": trained / random, "seconds": curve[-1][0]}


EXPLORER = Experiment(
    name="explorer",
    claim="an agent sees at least twice the wall that a random one sees, within 30 minutes",
    changes={},
    curves={"charts/explorer/episodic_return": "texels first seen in an episode / 64"},
    judge=_judge,
    holds=lambda f: f["ratio"] >= 2.0 and f["seconds"] <= 1800,  # type: ignore[operator]
)
