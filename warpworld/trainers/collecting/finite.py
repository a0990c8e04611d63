"""Reports of collected numbers that are not finite, with possible causes."""

from __future__ import annotations

from torch import Tensor

from warpworld.environment import Group, observation_names
from warpworld.errors import TrainingError
from warpworld.world import World


def refuse_not_finite(
    world: World, name: str, group: Group, rows: Tensor, mask: Tensor | None, first_step: int = 0
) -> None:
    """Search rows that count for a number that is NaN or infinite.

    Args:
        world: whose.
        name: what the rows are, for the message.
        group: whose.
        rows: (steps, num_envs, n, numbers).
        mask: (steps, num_envs, n or 1) bool, False for rows that do not count; None counts all.
        first_step: step of the iteration that the first row is of.

    Raises:
        TrainingError: names env, agent, step of the rollout and number.
    """
    # numbers that are not finite, in rows that count
    wrong = ~rows.isfinite()
    if mask is not None:
        wrong &= mask.unsqueeze(-1)
    found = wrong.nonzero()
    if not len(found):
        return
    # the first of them
    step, env, agent, i = found[0].tolist()
    which = f", number {i}" if rows.shape[-1] > 1 else ""
    raise TrainingError(
        f"{world.environment.name}: {name} of env {world.first_env + env}, agent {group.numbers[agent]} "
        f"({group.name} {agent}){which} in step {first_step + step} of the rollout is "
        f"{rows[step, env, agent, i].item()}, expected a finite number; look for a division by zero, a root of "
        "a negative number or an array that is read before it is written"
        f"{'' if name == 'rewards' else _beyond_half(world, group)}"
    )


def _beyond_half(world: World, group: Group) -> str:
    """A further cause if a part of the group's observations is float16."""
    names = observation_names(world.groups, group).values()
    is_half = any(world.data.array(name).dtype == "float16" for name in names)
    return ", or for a number beyond 65504, where float16 ends" if is_half else ""
