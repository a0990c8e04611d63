"""The command line: train, eval, watch, report, list, info, bench.

Only this file, ``progress.py``, ``report/commands.py`` and the benchmark print.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import inspect
import logging
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from warpworld.config import load_config, packaged_configs
from warpworld.environment import environment_names, get_environment
from warpworld.errors import BuildError, WarpworldError

if TYPE_CHECKING:
    from warpworld.progress import TrainingProgress
    from warpworld.runs import Run

USER_ERROR = 2  # exit statuses
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the words after ``warpworld``; None takes those of the process.

    Returns:
        The exit status: 0, 2 for a mistake that the user can mend, 130 after Ctrl-C.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 0
    # Torch's threads would otherwise spin between two operations, and take the cores from other programs: beside one
    # busy process a training run was ten times slower. Read when torch is loaded, which is later.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())  # so that `name: my_module:MyEnvironment` finds the user's module
    try:
        with _log_to_stderr():
            status: int = arguments.command(arguments)
            sys.stdout.flush()
            return status
    except WarpworldError as error:
        print(f"error: {error}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `warpworld list | head`: nobody reads any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="warpworld", description="Multi-agent reinforcement learning on one device, with a GPU or without."
    )
    parser.add_argument("--version", action="version", version=f"warpworld {_version('warpworld')}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    train = commands.add_parser(
        "train", help="train the policies of a config", description="Train a config's policies."
    )
    train.add_argument("config", metavar="CONFIG", help="a YAML file, or a packaged config (see `warpworld list`)")
    train.add_argument("overrides", metavar="key=value", nargs="*", help="overrides, such as trainer.num_envs=64")
    train.set_defaults(command=_train)

    evaluation = commands.add_parser(
        "eval", help="play a run's policies", description="Mean return of a run's policies, against random actions."
    )
    evaluation.add_argument("run", metavar="RUN", help="a run folder, as `warpworld train` makes")
    evaluation.add_argument("--episodes", type=_at_least(1), default=1000, help="episodes to play (default: 1000)")
    evaluation.add_argument("--seed", type=_at_least(0), default=0, help="seed of the episodes (default: 0)")
    evaluation.add_argument("--greedy", action="store_true", help="take the likeliest actions instead of drawing them")
    evaluation.set_defaults(command=_eval)

    watch = commands.add_parser(
        "watch",
        help="play a run as a web page and a GIF",
        description="Record episodes and write replay.html and replay.gif into the run folder.",
    )
    watch.add_argument("run", metavar="RUN", help="a run folder; or a config, which is played with random actions")
    watch.add_argument("overrides", metavar="key=value", nargs="*", help="overrides, such as env.num_taggers=8")
    watch.add_argument("--episodes", type=_at_least(1), default=1, help="episodes to record (default: 1)")
    watch.add_argument("--seed", type=_at_least(0), default=0, help="seed of the episodes (default: 0)")
    watch.add_argument("--greedy", action="store_true", help="take the likeliest actions instead of drawing them")
    watch.add_argument("--checkpoint", metavar="ITERATION", type=_at_least(0), help="which one (default: the latest)")
    watch.add_argument("--gif", action=argparse.BooleanOptionalAction, default=True, help="also a GIF (default)")
    watch.add_argument("--mp4", action="store_true", help="also a video; needs pip install warpworld[video]")
    watch.add_argument("--output", metavar="DIR", help="write into this folder (default: the run's; for configs here)")
    watch.set_defaults(command=_watch)

    report = commands.add_parser(
        "report",
        help="one web page about one or several runs",
        description="Settings, curves, a replay, machine and speed on a page of its own.",
    )
    report.add_argument("runs", metavar="RUN", nargs="+", help="run folders; the curves of several are overlaid")
    report.add_argument("--output", metavar="FILE", help="the page (default: report.html in the folder of the one run)")
    report.add_argument("--seed", type=_at_least(0), default=0, help="seed of the replay (default: 0)")
    report.add_argument("--no-replay", action="store_true", help="leave the replay out")
    report.set_defaults(command=_report)

    commands.add_parser("list", help="environments and packaged configs").set_defaults(command=_list)
    commands.add_parser("info", help="what is installed, and which device would be used").set_defaults(command=_info)

    bench = commands.add_parser(
        "bench",
        help="measure speed on this machine",
        description="Speed of stepping and of learning, beside peers that are installed.",
    )
    bench.add_argument(
        "--only",
        metavar="WORLD",
        help="only worlds whose name contains this; leaves the peers out; ppo, rollout: the tables of learning",
    )
    bench.add_argument("--seconds", type=float, default=0.2, help="length of each of the five windows (default: 0.2)")
    bench.add_argument("--save", metavar="FILE", help="also write the rows, with machine, date and commit, as JSON")
    bench.set_defaults(command=_bench)
    return parser


def _at_least(lowest: int) -> Callable[[str], int]:
    """An argparse type: whole numbers from ``lowest``."""

    def convert(text: str) -> int:
        if not text.isdecimal() or int(text) < lowest:
            raise argparse.ArgumentTypeError(f"{text!r}, expected a whole number of at least {lowest}")
        return int(text)

    return convert


# --- train and eval -------------------------------------------------------------------------------------------------


def _train(arguments: argparse.Namespace) -> int:
    config = load_config(arguments.config, arguments.overrides)
    from warpworld.progress import TrainingProgress
    from warpworld.runs import Run
    from warpworld.trainers.cpu_tuning import tune_for_cpu
    from warpworld.trainers.trainer import Trainer

    trainer = Trainer(config)
    if trainer.world.device.type == "cpu":
        tune_for_cpu()
    run = Run.create(config)  # only now, so that a mistake leaves no folder behind
    print(f"training {config.name} with {config.trainer.num_envs:,} envs; run folder: {run.path}", flush=True)
    progress = TrainingProgress(config)
    try:
        with progress:
            trainer.train(run, on_iteration=progress.update)
    except KeyboardInterrupt:
        _draw(run)
        print(f"interrupted after {progress.env_steps:,} env steps; run folder: {run.path}", file=sys.stderr)
        return INTERRUPTED
    finally:
        run.close()
    _print_summary(run, progress)
    return 0


def _print_summary(run: Run, progress: TrainingProgress) -> None:
    from warpworld.progress import duration, shown

    seconds = max(progress.elapsed, 1e-9)
    rows = [
        ("run folder", str(run.path)),
        ("learning curve", _draw(run)),
        (
            "env steps",
            f"{progress.env_steps:,} in {duration(seconds)} ({progress.env_steps / seconds:,.0f} per second)",
        ),
        ("agent steps", f"{progress.agent_steps:,} ({progress.agent_steps / seconds:,.0f} per second)"),
    ]
    for name, last in progress.last.items():
        rows.append((f"{name}", f"mean return {shown(progress.first[name])} at first, {shown(last)} at last"))
    print()
    _print_columns(rows)


def _draw(run: Run) -> str:
    """Draw the learning curve; say where it is, or why it is not: the run itself does not fail for a picture."""
    from warpworld.report.plots import draw_curves

    if not run.metrics_path.is_file():
        return "not drawn: no metrics were logged"
    try:
        return str(draw_curves(run.metrics_path, run.curve_path, title=run.path.name))
    except (WarpworldError, ImportError) as error:
        return f"not drawn: {error}"


def _eval(arguments: argparse.Namespace) -> int:
    from warpworld.runs import Run

    run = Run.open(arguments.run)
    from warpworld.trainers.evaluate import evaluate

    results = evaluate(run, episodes=arguments.episodes, seed=arguments.seed, greedy=arguments.greedy)
    rows = [["policy", "mean return", "95% confidence", "all at random", "others at random"]]
    for name, result in results.items():
        keys = ("random_return", "against_random")
        confidence = f"+- {result['confidence']:,.2f}"
        rows.append([name, f"{result['mean_return']:,.2f}", confidence, *(f"{result[key]:,.2f}" for key in keys)])
    _print_columns([row[: 5 if len(results) > 1 else 4] for row in rows])
    return 0


def _watch(arguments: argparse.Namespace) -> int:
    from warpworld.report.commands import watch

    return watch(arguments)


def _report(arguments: argparse.Namespace) -> int:
    from warpworld.report.commands import report

    return report(arguments)


def _bench(arguments: argparse.Namespace) -> int:
    from warpworld.benchmarks.main import run

    run(only=arguments.only, seconds=arguments.seconds, save=arguments.save)
    return 0


# --- list and info --------------------------------------------------------------------------------------------------


def _list(_: argparse.Namespace) -> int:
    print("environments")
    rows = []
    for name in environment_names():
        try:
            about = (inspect.getdoc(get_environment(name)) or "").partition("\n")[0]
        except (WarpworldError, ImportError) as error:
            about = f"cannot be imported: {error}"
        rows.append((f"  {name}", about))
    _print_columns(rows)
    print("\npackaged configs (warpworld train NAME)")
    _print_columns(
        [(f"  {name}", _first_comment(entry.read_text(encoding="utf-8"))) for name, entry in packaged_configs().items()]
    )
    return 0


def _first_comment(text: str) -> str:
    first = text.partition("\n")[0]
    return first.lstrip("# ") if first.startswith("#") else ""


def _info(_: argparse.Namespace) -> int:
    rows = [("warpworld", _version("warpworld")), ("python", f"{platform.python_version()} on {platform.platform()}")]
    rows += [
        (name, _version(name)) for name in ("torch", "numpy", "gymnasium", "pydantic", "tree-sitter-cuda", "pycuda")
    ]
    rows.append(("compiler", _compiler()))
    _print_columns(rows)
    from warpworld.managers.backend import describe_devices

    print("\n".join(describe_devices()))
    return 0


def _compiler() -> str:
    from warpworld.managers.host_compiler import find_compiler

    try:
        compiler = find_compiler()
    except BuildError as error:
        return f"none: {error}"
    return f"{' '.join(compiler.command)} ({compiler.version})"


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        if distribution == "warpworld":  # run from a checkout
            return str(getattr(importlib.import_module("warpworld"), "__version__", "unknown"))
        return "not installed"


def _print_columns(rows: Sequence[Sequence[str]]) -> None:
    """Print rows with their columns aligned; the last one runs free."""
    if rows:
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
        for row in rows:
            print("  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[-1]]).rstrip())


class _StderrHandler(logging.Handler):
    """Logs to whatever ``sys.stderr`` is at the moment, so that a live display can stand below the lines; each once."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        if line not in self._said:
            self._said.add(line)
            print(line, file=sys.stderr)


@contextmanager
def _log_to_stderr() -> Iterator[None]:
    """Show what the library has to say (a build, the device it took) while a command runs."""
    logger = logging.getLogger("warpworld")
    handler, level = _StderrHandler(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
