"""Parts of a report that are played for it: a replay, and the returns of random actions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.errors import RunError, WarpworldError

if TYPE_CHECKING:
    from warpworld.runs import RunFolder

RANDOM_EPISODES = 64  # that the line of random play is the mean of


def random_returns(runs: Sequence[RunFolder], seed: int, allowed: bool) -> dict[str, float]:
    """Each policy's mean return with random actions of all; nothing where environments differ or are not warpworld's.

    Args:
        runs: of the report.
        seed: of the episodes.
        allowed: whether code from outside warpworld may run.
    """
    from warpworld.config import foreign_code, load_config, read_saved

    # one environment, whose code may run
    environments = [{key: read_saved(run.config_path).settings.get(key) for key in ("name", "env")} for run in runs]
    if any(environment != environments[0] for environment in environments):
        return {}
    if not allowed and foreign_code(runs[0].config_path):
        return {}
    from warpworld.trainers.play import play

    # random play in it
    try:
        config = load_config(runs[0].config_path, ["trainer.device=auto"])
        played = play(config, dict.fromkeys(config.policy), RANDOM_EPISODES, seed)
    except WarpworldError as error:
        print(f"no random play: {error}")
        return {}
    return {name: float(returns.mean()) for name, returns in played.returns.items()}


def first_replay(runs: Sequence[RunFolder], seed: int, record: bool) -> dict[Path, str]:
    """Replay of the first run that has a checkpoint; a report without one says why."""
    for run in runs:
        if run.checkpoints():
            try:
                return {run.path: _replay(run, seed, record)}
            except WarpworldError as error:
                print(f"no replay: {error}")
                return {}
    return {}


def _replay(run: RunFolder, seed: int, record: bool) -> str:
    """A replay that is recorded now, or where that would run code from elsewhere the one that was saved."""
    from warpworld.config import foreign_code
    from warpworld.report import read_replay, replay_text

    # the saved replay, where no code from outside may run
    foreign = foreign_code(run.config_path)
    if foreign and not record:
        if run.replay_path.exists():
            return read_replay(run.replay_path)
        raise RunError(
            f"recording one runs {', '.join(foreign)}, and a report runs no code from outside warpworld unless it is "
            "asked to: --replay"
        )
    # a new recording
    from warpworld.report import record_run
    from warpworld.runs import Run

    return replay_text(record_run(Run.open(run.path), seed=seed))
