"""`warpworld run`: a world under random actions, and what one of its envs does."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import at_least
from warpworld.cli.environments import add_environment, made_environment
from warpworld.errors import RunError
from warpworld.managers.devices import device_names
from warpworld.text import print_columns

if TYPE_CHECKING:
    from warpworld.cli.run.stepping import Episodes
    from warpworld.world import World

MOST = 2**31 - 1


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    run = commands.add_parser(
        "run",
        help="step an environment with random actions, and write down what one env does",
        description="Step a world with random actions, and report episodes, their lengths and rewards. --trace writes "
        "every array of one env, step by step, as CSV.",
    )
    add_environment(run)
    run.add_argument("--steps", type=at_least(1), default=120, help="steps to take (default: 120)")
    run.add_argument("--envs", type=at_least(1, MOST), default=5, help="envs to step (default: 5)")
    run.add_argument("--seed", type=at_least(0), default=0, help="seed of world and actions (default: 0)")
    run.add_argument("--device", choices=device_names(), default="auto", help="where to step (default: auto)")
    run.add_argument("--trace", metavar="ENV", type=at_least(0), help="write this env's arrays, step by step")
    run.add_argument("--arrays", metavar="NAME,...", help="the arrays to trace (default: all)")
    run.add_argument("--output", metavar="FILE", help="where the trace goes (default: NAME-envENV.csv, here)")
    run.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from warpworld.checking import Trace
    from warpworld.cli.run.stepping import step_at_random
    from warpworld.world import World

    # options that go together
    if arguments.trace is None and (arguments.output or arguments.arrays):
        raise RunError("--output and --arrays are about a trace; say of which env: --trace 0")
    environment = made_environment(arguments)
    world = World(environment, arguments.envs, arguments.device, arguments.seed)
    # random steps alone
    if arguments.trace is None:
        _print(world, arguments, step_at_random(world, arguments.steps, arguments.seed))
        return 0
    # steps with a trace of one env
    path = arguments.output or f"{environment.name}-env{arguments.trace}.csv"
    chosen = arguments.arrays.split(",") if arguments.arrays else None
    with Trace(world, arguments.trace, path, chosen) as trace:
        episodes = step_at_random(world, arguments.steps, arguments.seed, trace)
    _print(world, arguments, episodes)
    print(f"{path}: env {arguments.trace}, {trace.rows:,} rows")
    return 0


def _print(world: World, arguments: argparse.Namespace, episodes: Episodes) -> None:
    from warpworld.runs import own_metrics

    # the world, and episodes that ended
    name, steps = world.environment.name, arguments.steps
    envs, agents = _counted(world.num_envs, "env"), _counted(world.num_agents, "agent")
    print(f"{name}: {envs} of {agents} on {world.device.type}, seed {arguments.seed}")
    ended = f"{_counted(len(episodes.lengths), 'episode')} ended"
    if episodes.lengths:
        ended += f": {episodes.terminated:,} terminated, {episodes.truncated:,} truncated"
    print(f"{_counted(steps, 'step')} of each env; {ended}")
    # lengths, rewards and metrics
    rows = [["", "mean", "least", "most"]]
    if episodes.lengths:
        rows.append(["episode length", *_spread(episodes.lengths)])
    of, returns = ("an episode", episodes.returns) if episodes.lengths else ("so far", episodes.unfinished)
    rows += [[f"rewards of {group}, {of}", *_spread(values)] for group, values in returns.items()]
    own = own_metrics(episodes.metrics)
    rows += [[f"{own[name]}, an episode", *_spread(values)] for name, values in episodes.metrics.items() if values]
    print_columns(rows)
    # advice to take more steps
    limit = getattr(world.environment.params, "episode_length", None)
    if isinstance(limit, int) and limit > steps:
        print(f"An episode has up to {limit:,} steps, more than were taken: --steps {limit} shows whole ones.")


def _spread(values: Sequence[float]) -> list[str]:
    """Mean, least and most."""
    return [f"{value:,.4g}" for value in (sum(values) / len(values), min(values), max(values))]


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'s' * (number != 1)}"
