"""Games on a board: whether both sides beat players who draw lots, and whether they hold out against a perfect one."""

from __future__ import annotations

from warpworld.environment import get_environment
from warpworld.trainers.collecting.players import Player, Scripted
from warpworld.trainers.play import play_groups

from . import experiment
from .experiment import Experiment, Figures, Trained

CPU_SECONDS = 600
SIDES = (("first", "second"), ("second", "first"))


def _judge(trained: Trained) -> Figures:
    """Shares of greedy games against each opponent, for each side; and those of random players on that side."""
    scripts = get_environment(trained.config.name)().scripts()
    opponents: dict[str, Player] = {name: Scripted(name, script) for name, script in scripts.items()}
    figures: Figures = {}
    for name, opponent in {"random": None, **opponents}.items():
        for own, other in SIDES:
            players = {own: trained.policies[own], other: opponent}
            returns = play_groups(trained.config, players, experiment.EPISODES, seed=1, greedy=True)[own]
            figures[f"{own}_beats_{name}"] = float((returns > 0).double().mean())
            figures[f"{own}_loses_to_{name}"] = float((returns < 0).double().mean())
    for own, _ in SIDES:
        returns = play_groups(trained.config, dict.fromkeys(("first", "second")), experiment.EPISODES, seed=1)[own]
        figures[f"random_{own}_beats_random"] = float((returns > 0).double().mean())
    return {**figures, "seconds": trained.seconds, "cpu_seconds": trained.cpu_seconds}


def _connect_four_holds(figures: Figures) -> bool:
    return all((figures[f"{own}_beats_random"] or 0.0) >= 0.95 for own, _ in SIDES) and _is_in_time(figures)


def _tic_tac_toe_holds(figures: Figures) -> bool:
    lost = [figures[f"{own}_loses_to_{name}"] for own, _ in SIDES for name in ("random", "perfect")]
    return all(share is not None and share <= 0.05 for share in lost) and _is_in_time(figures)


def _is_in_time(figures: Figures) -> bool:
    return (figures["cpu_seconds"] or 1e9) <= CPU_SECONDS


CURVES = {f"league/{side}/win_rate/past": f"mean score against past {side} players" for side in ("first", "second")}

BOARDS = (
    Experiment(
        name="connect_four",
        claim="either side wins 95 % of its games against random moves",
        changes={},
        curves=CURVES,
        judge=_judge,
        holds=_connect_four_holds,
    ),
    Experiment(
        name="tic_tac_toe",
        claim="either side loses at most 5 % of its games against random moves, and against a perfect player, too",
        changes={},
        curves=CURVES,
        judge=_judge,
        holds=_tic_tac_toe_holds,
    ),
)
