"""`warpworld league`: a run's selves and its environment's scripts play each other."""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import at_least
from warpworld.cli.override_options import add_device, opened_run, played_config
from warpworld.text import print_columns

if TYPE_CHECKING:
    from warpworld.trainers.league.cross_play import CrossPlay

MOST_EPISODES, MOST_MEMBERS = 100_000, 100


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    league = commands.add_parser(
        "league",
        help="who beats whom: a run's selves, its pool, other runs' policies, scripts and random actions",
        description="Every player against every other: a table of win rates and Elo ratings, and league.png.",
    )
    league.add_argument("run", metavar="RUN", help="a run folder, as `warpworld train` makes")
    league.add_argument(
        "overrides",
        metavar="env.key=value",
        nargs="*",
        default=[],
        help="parameters of the environment to play in, such as env.plan_seed=1000",
    )
    league.add_argument(
        "--episodes", type=at_least(1, MOST_EPISODES), default=100, help="episodes of each pair (default: 100)"
    )
    league.add_argument(
        "--members", type=at_least(1, MOST_MEMBERS), default=5, metavar="K",
        help="selves from checkpoints, spread over the training, and as many of the pool (default: 5)",
    )  # fmt: skip
    league.add_argument(
        "--checkpoint", type=at_least(0), action="append", default=[], metavar="ITERATION",
        help="a self of this iteration, in place of K that are spread over the training; may be repeated",
    )  # fmt: skip
    league.add_argument("--seed", type=at_least(0), default=0, help="seed of the episodes (default: 0)")
    league.add_argument(
        "--policy",
        metavar="NAME",
        help="whose selves the rows are (default: the first with self_play, or else that learns)",
    )
    add_device(league, "play")
    league.set_defaults(command=_league, settings="overrides")


def _league(arguments: argparse.Namespace) -> int:
    from warpworld.drawing import write_whole
    from warpworld.report.heat_map import draw_win_rates

    run = opened_run(arguments)
    played_in = played_config(run, arguments.overrides)
    from warpworld.trainers.league.cross_play import cross_play

    found = cross_play(
        run,
        arguments.episodes,
        arguments.members,
        arguments.seed,
        arguments.policy,
        _say,
        checkpoints=arguments.checkpoint,
        played_in=played_in,
    )
    # tables of win rates and ratings
    print(f"{found.policy}: how often rows beat columns, {found.episodes} episodes each; numbers are iterations")
    print_columns(_rows(found))
    if not found.same:
        print(f"\nthe columns: {found.against}")
        print_columns([["", "Elo"], *_ranked(found.columns, found.column_ratings)])
    # files: the table for the board, and a picture
    write_whole(run.output_folder / "league.json", found.to_json() + "\n")  # which the board shows
    labels = f"{found.policy}: iteration (Elo)", f"against {found.against}: iteration (Elo)"
    named = _with_ratings(found.rows, found.row_ratings), _with_ratings(found.columns, found.column_ratings)
    print(draw_win_rates(run.output_folder / "league.png", found.win_rates, *named, run.path.resolve().name, labels))
    return 0


def _with_ratings(names: list[str], ratings: Any) -> list[str]:
    return [f"{name} ({rating:.0f})" for name, rating in zip(names, ratings, strict=True)]


def _say(done: int, all_pairs: int) -> None:
    """Report progress if a terminal is attached."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r{done} of {all_pairs} pairs", end="" if done < all_pairs else "\n", file=sys.stderr, flush=True)


def _rows(found: CrossPlay) -> list[list[str]]:
    """The table, the strongest row first."""
    order = sorted(range(len(found.rows)), key=lambda i: -found.row_ratings[i])
    across = order if found.same else list(range(len(found.columns)))
    rows = [["", "Elo", *(found.columns[j] for j in across)]]
    for i in order:
        rates = [found.win_rates[i, j] for j in across]
        cells = ["-" if math.isnan(rate) else f"{rate:.2f}" for rate in rates]
        rows.append([found.rows[i], f"{found.row_ratings[i]:.0f}", *cells])
    return rows


def _ranked(names: list[str], ratings: Any) -> list[list[str]]:
    return [[name, f"{rating:.0f}"] for rating, name in sorted(zip(ratings, names, strict=True), reverse=True)]
