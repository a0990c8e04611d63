"""Skirmish, by PPO and MAPPO: whether allies that have learnt win against a script that plays as many of the same."""

from __future__ import annotations

from warpworld.environment import get_environment
from warpworld.trainers.collecting.players import Player, Scripted
from warpworld.trainers.play import play_groups

from .experiment import EPISODES, Experiment, Figures, Trained

CPU_SECONDS = 1800  # of 15 minutes on two cores
WON = 1.5  # a return above: a win pays 1 and all of the enemy's health 1; a draw the latter alone


def _judge(trained: Trained) -> Figures:
    script = Scripted("attack", get_environment(trained.config.name)().scripts()["attack"])
    learnt = trained.policies["ally"]
    allies: dict[str, tuple[Player, bool]] = {
        "greedy": (learnt, True),
        "drawn": (learnt, False),
        "script": (script, False),
        "random": (None, False),
    }
    figures: Figures = {}
    for name, (player, greedy) in allies.items():
        players = {"ally": player, "enemy": script}
        returns = play_groups(trained.config, players, EPISODES, seed=1, greedy=greedy)["ally"][:, 0]
        figures[f"{name}_wins"] = float((returns > WON).double().mean())
        figures[f"{name}_return"] = float(returns.mean())
    return {**figures, "seconds": trained.seconds, "cpu_seconds": trained.cpu_seconds}


def _holds(figures: Figures) -> bool:
    return (figures["greedy_wins"] or 0.0) >= 0.95 and (figures["cpu_seconds"] or 1e9) <= CPU_SECONDS


SKIRMISH, SKIRMISH_MAPPO = (
    Experiment(
        name=name,
        claim="2 stalkers and 3 zealots win 95 % of their fights with as many that the script plays",
        changes={},
        curves={"league/enemy/win_rate/script": "mean score of the allies against the script"},
        judge=_judge,
        holds=_holds,
    )
    for name in ("skirmish", "skirmish_mappo")
)
