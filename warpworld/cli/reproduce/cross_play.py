"""Cross-play: policies of other seeds as partners, the first agent by one seed and all others by another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from warpworld.cli.reproduce.playing import EXAMINED_WITH, agents_in, judged_config
from warpworld.cli.reproduce.sections import Judged
from warpworld.policies import Policy
from warpworld.runs import Run
from warpworld.trainers import load_policies
from warpworld.trainers.collecting.players import Seen, decide
from warpworld.trainers.play import play


@dataclass(frozen=True)
class Partners:
    """A player of a group whose first agent one policy plays, and all others another.

    Attributes:
        first: without a memory.
        others: likewise.
    """

    first: Policy
    others: Policy


@decide.register
def _(player: Partners, seen: Seen, outputs: Tensor) -> None:
    for policy, agents in ((player.first, slice(0, 1)), (player.others, slice(1, None))):
        policy.to(seen.world.device)
        outputs[:, agents].copy_(policy.outputs(seen.observations[:, agents].contiguous()))


def cross_play(runs: Sequence[Run], how: Judged) -> tuple[tuple[float, ...], ...]:
    """Scores of every run's policy beside every other's, the same episodes for all.

    Args:
        runs: of one configuration but for the seed; the policy that is judged plays one group and has no memory.
        how: they are judged.

    Returns:
        Scores by row, whose policy plays the first agent, and column, whose policy plays the others.

    Raises:
        ConfigError: the policies could not play with the table's parameters.
        RunError: a run has no checkpoint, or episodes do not end.
    """
    loaded, config = [load_policies(run) for run in runs], judged_config(runs[0], how)

    def score(row: int, column: int) -> float:
        first, others = (loaded[i][how.metric] for i in (row, column))
        assert first is not None and others is not None
        players = {**loaded[row], how.metric: Partners(first, others)}
        played = play(config, players, how.episodes, EXAMINED_WITH, how.greedy)  # type: ignore[arg-type]
        return agents_in(runs[row], how) * float(played.returns[how.metric].mean())

    numbers = range(len(runs))
    return tuple(tuple(score(row, column) for column in numbers) for row in numbers)
