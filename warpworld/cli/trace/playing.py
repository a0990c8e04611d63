"""Plays episodes with a run's policies, and writes them down."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.checking import Trace
from warpworld.config import RunConfig
from warpworld.errors import RunError
from warpworld.trainers import build_actors, build_world

if TYPE_CHECKING:
    from warpworld.policies import Policy

MOST_STEPS = 1_000_000  # of an episode, so that one that never ends does


def trace_policies(
    config: RunConfig,
    policies: Mapping[str, Policy | None],
    paths: Sequence[str | Path],
    episodes: int = 1,
    seed: int = 0,
    greedy: bool = False,
    arrays: Sequence[str] | None = None,
) -> list[Trace]:
    """Play one env from its start, and write every step of it; with the same seed, the episodes of ``warpworld watch``.

    Args:
        config: the environment, its parameters and the device.
        policies: by the names in ``config.policy``; None acts at random.
        paths: of the traces, each with the same numbers: arrays where it ends in ``.npz``, else CSV.
        episodes: to play, one after the other.
        seed: of the env and of the actions drawn.
        greedy: take the likeliest actions instead of drawing; random ones stay random.
        arrays: names of those to show; None for all.

    Returns:
        The traces, written.

    Raises:
        StoreError: there is no such array.
        RunError: a file cannot be written, or an episode does not end.
    """
    world = build_world(config, num_envs=1, seed=seed)
    actors = build_actors(world, config, policies, greedy)
    with contextlib.ExitStack() as files:
        traces = [files.enter_context(Trace(world, 0, path, arrays, episodes)) for path in paths]
        world.reset()
        for trace in traces:
            trace.reset()
        while not traces[0].done:
            if traces[0].timestep == MOST_STEPS:
                raise RunError(f"an episode of {config.title} has not ended after {MOST_STEPS:,} steps")
            for actor in actors:
                actor.act()
            world.step()
            for trace in traces:
                trace.step()
    return traces
