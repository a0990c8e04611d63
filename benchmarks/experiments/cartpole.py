"""CartPole: how soon the pole stays up."""

from __future__ import annotations

from warpworld.trainers.play import play

from . import experiment
from .experiment import Experiment, Figures, Trained
from .recent_return import RECENT_EPISODES

SOLVED = 475.0  # mean return over RECENT_EPISODES episodes, as Gymnasium defines it


def _judge(trained: Trained) -> Figures:
    """When the mean over the last 100 episodes of the training first reached 475, and what is reached in the end."""
    solved = next((seconds for seconds, _, values in trained.curve if (values["recent_return"] or 0) >= SOLVED), None)
    final = play(trained.config, trained.policies, experiment.EPISODES, seed=1)
    return {"seconds_to_475": solved, "final_return": float(final.returns["agent"].mean()), **trained.times}


CARTPOLE = Experiment(
    name="cartpole",
    claim=f"a mean return of {SOLVED:.0f} over {RECENT_EPISODES} episodes within 60 s",
    changes={},
    curves={"recent_return": f"mean return of the last {RECENT_EPISODES} episodes"},
    judge=_judge,
    holds=lambda figures: (figures["seconds_to_475"] or 1e9) <= 60,
)
