"""Battle: whether an army that has learnt by fighting itself beats one that acts at random, and how much of it dies."""

from __future__ import annotations

from warpworld.config import RunConfig, config_from_dict
from warpworld.policies import Policy
from warpworld.trainers.play import play

from .experiment import EPISODES, Experiment, Figures, Trained

CPU_SECONDS = 1800  # of 15 minutes on two cores


def _judge(trained: Trained) -> Figures:
    config, soldier = _sides_apart(trained.config), trained.policies["soldier"]
    figures: Figures = {}
    armies: dict[str, tuple[Policy | None, Policy | None]] = {"learnt": (soldier, None), "random": (None, None)}
    for name, (red, blue) in armies.items():
        played = play(config, {"red": red, "blue": blue}, EPISODES, seed=1)
        figures[f"{name}_wins"] = played.metrics["env/red_won"]
        figures[f"{name}_kills"] = played.metrics["env/red/kills"]  # for each of red, and so for each of blue
        figures[f"{name}_return"] = float(played.returns["red"].mean())
    return {**figures, **trained.times}


def _sides_apart(config: RunConfig) -> RunConfig:
    """The same battle with a policy for either army, and without opponents, which only a training has."""
    data = config.to_dict()
    soldier = {**data["policy"]["soldier"], "self_play": None}
    data["policy"] = {army: {**soldier, "groups": [army]} for army in ("red", "blue")}
    return config_from_dict(data)


def _holds(figures: Figures) -> bool:
    shares = ((figures["learnt_wins"], 0.99), (figures["learnt_kills"], 0.95))
    return all((share or 0.0) >= least for share, least in shares) and (figures["cpu_seconds"] or 1e9) <= CPU_SECONDS


BATTLE = Experiment(
    name="battle",
    claim="red wins 99 % of battles with a blue army that acts at random, and kills 95 % of it",
    changes={},
    curves={"charts/soldier/episodic_return": "mean return of a soldier, against its own kind"},
    judge=_judge,
    holds=_holds,
)
