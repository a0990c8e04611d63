"""Progress of a training run: a live display on a terminal, an occasional line elsewhere."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from warpworld.config import RunConfig, whose_envs
from warpworld.runs import EPISODES, RecentMean, of_episodes, own_metrics
from warpworld.text import duration, shown, shown_metric
from warpworld.trainers.session.remaining_time import RemainingTime
from warpworld.trainers.session.sparkline import Sparkline


class TrainingProgress:
    """Follows a run from its metrics; a context manager around the training.

    Args:
        config: the run's configuration.
        console: where to show; None takes standard output, and a notebook for no terminal.
        interval: seconds between two lines where there is no terminal.
        clock: seconds that only rise.
        env_steps: env steps that earlier sessions of the run have done.
        losses: show losses and entropies, too.

    Attributes:
        env_steps: env steps so far, in all sessions.
        rollout_seconds: seconds in rollouts, in those iterations of this session that were timed.
        update_seconds: seconds in updates, likewise.
        iterations: those of this session.
        timed: how many of them were timed: those that were logged or saved.
        first: each policy's first mean return of this session, see ``RecentMean``.
        last: each policy's latest mean return, likewise.
        of_envs: the envs that each policy's mean return is of, in words, where opponents play in some.
        own: the first and the latest of each of the environment's own metrics, by heading, likewise.
    """

    def __init__(
        self,
        config: RunConfig,
        console: Console | None = None,
        interval: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        env_steps: int = 0,
        losses: bool = False,
    ) -> None:
        trainer = config.trainer
        self.env_steps = self._first_step = env_steps
        self.rollout_seconds = self.update_seconds = 0.0
        self.iterations = self.timed = 0
        self._agents = 0  # of an env; known from the first metrics on
        self.first: dict[str, float | None] = dict.fromkeys(config.policy)
        self.last: dict[str, float | None] = dict.fromkeys(config.policy)
        self.of_envs = whose_envs(config)
        self.own: dict[str, tuple[float, float]] = {}
        self._recent: dict[str, RecentMean] = {}  # by metric, of those that are means of episodes
        self._curves = {name: Sparkline() for name in config.policy}
        self._with_losses, self._losses = losses, dict[str, tuple[float, float]]()
        self._scores: dict[str, float] = {}  # of the latest evaluation
        rollout = trainer.num_envs * trainer.num_steps
        self._total = trainer.total_env_steps // rollout * rollout
        self._limit = trainer.stop_seconds
        self._trained = 0.0  # seconds of training in all sessions, at the end of the latest iteration
        self._speed: float | None = None  # env steps a second, of the latest iteration that was timed
        self._length: float | None = None
        self._console = console or standard_output()
        self._clock = clock
        self._started = clock()
        self._remaining = RemainingTime(self._started, env_steps)
        self._interval = interval
        self._next_line = self._started + interval
        self._live: Live | None = None

    def __enter__(self) -> TrainingProgress:
        """Start the clock and, on a terminal, the display."""
        self._started = self._clock()
        self._remaining = RemainingTime(self._started, self.env_steps)
        self._next_line = self._started + self._interval
        if self._console.is_terminal:
            self._live = Live(console=self._console, get_renderable=self._display, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last state on the terminal."""
        if self._live is not None:
            self._live.stop()

    @property
    def elapsed(self) -> float:
        """Seconds since this session began."""
        return self._clock() - self._started

    @property
    def session(self) -> tuple[int, int, float]:
        """Env steps, agent steps and (more than 0) seconds of this session."""
        env_steps = self.env_steps - self._first_step
        return env_steps, env_steps * self._agents, max(self.elapsed, 1e-9)

    @property
    def beginning(self) -> str:
        """A name for the beginning of this session."""
        return "when resumed" if self._first_step else "at first"

    def update(self, metrics: Mapping[str, Any]) -> None:
        """Take in the metrics of an iteration."""
        # counters and times
        self.env_steps = int(metrics.get("env_steps", self.env_steps))
        self._agents = int(metrics.get("agent_steps", 0)) // max(self.env_steps, 1)
        self.iterations += 1
        self._trained = _number(metrics.get("time")) or self._trained
        self._remaining.update(self._clock(), self.env_steps)
        self.timed += "perf/rollout_s" in metrics
        self.rollout_seconds += _number(metrics.get("perf/rollout_s")) or 0.0
        self.update_seconds += _number(metrics.get("perf/update_s")) or 0.0
        self._speed = _number(metrics.get("perf/env_steps_per_s")) or self._speed
        # episodes and evaluations
        self._take_episodes(metrics)
        for name in self.last:
            score = _number(metrics.get(f"eval/{name}/score"))
            self._scores |= {name: score} if score is not None else {}
        # losses, first and latest
        for name in _loss_names(metrics) if self._with_losses else ():
            value = _number(metrics[name])
            if value is not None:
                heading = name.removeprefix("losses/").replace("/", ": ").replace("_", " ")
                self._losses[heading] = self._losses.get(heading, (value, value))[0], value
        # a line from time to time, where no display is live
        if self._live is None and (self._clock() >= self._next_line or self._fraction() >= 1):
            self._next_line = self._clock() + self._interval
            self._console.print(self._line(), markup=False, highlight=False, soft_wrap=True)

    def _take_episodes(self, metrics: Mapping[str, Any]) -> None:
        """Take in the means of an iteration's episodes."""
        changed = {name for name in metrics if of_episodes(name) and self._add_mean(name, metrics)}
        self._length = self._mean("charts/episodic_length")[1]
        for name in self.last:
            key = f"charts/{name}/episodic_return"
            self.first[name], self.last[name] = self._mean(key)
            if key in changed and self._recent[key].is_full:
                self._curves[name].append(self._recent[key].value or 0.0)
        for name, heading in own_metrics(changed).items():
            first, last = self._mean(name)
            self.own |= {heading: (first, last)} if first is not None and last is not None else {}
        # what the environment measured of the policies, not of episodes
        for name, heading in own_metrics(name for name in metrics if not of_episodes(name)).items():
            value = _number(metrics[name])
            if value is not None:
                self.own[heading] = self.own.get(heading, (value, value))[0], value

    def _add_mean(self, name: str, metrics: Mapping[str, Any]) -> bool:
        """Take in one metric; whether it has a number."""
        value = _number(metrics[name])
        if value is not None:
            self._recent.setdefault(name, RecentMean()).add(value, _number(metrics.get(EPISODES)))
        return value is not None

    def _mean(self, name: str) -> tuple[float | None, float | None]:
        """The first and the latest mean of a metric."""
        recent = self._recent.get(name)
        return (None, None) if recent is None else (recent.first, recent.value)

    def _fraction(self) -> float:
        of_time = self._trained / self._limit if self._limit is not None else 0.0
        return min(1.0, max(self.env_steps / self._total, of_time))

    def _left(self) -> str:
        seconds = self._remaining.left(self._clock(), self._total)
        if seconds is None:
            return "-:--:--"
        return duration(seconds if self._limit is None else min(seconds, max(self._limit - self._trained, 0.0)))

    def _line(self) -> str:
        returns = ", ".join(f"{name} {shown(value)}" for name, value in self.last.items())
        returns += "".join(f", {name} evaluated {shown(score)}" for name, score in self._scores.items())
        also = {**self.own, **self._losses}
        own = "".join(f"; {heading} {shown_metric(value)}" for heading, (_, value) in also.items())
        done = f"{self._fraction():4.0%}  {self.env_steps:,} env steps"
        return f"{done}  {self._speeds()}  {self._left()} left  mean return: {returns}{own}"

    def _speeds(self) -> str:
        if not self._agents:
            return "-"
        env_steps, _, seconds = self.session
        speed = self._speed or env_steps / seconds
        return f"{speed:,.0f} env steps/s, {speed * self._agents:,.0f} agent steps/s"

    def _display(self) -> Group:
        # the bar, and times below it
        bar = Table.grid(padding=(0, 2))
        bar.add_row(
            ProgressBar(total=1.0, completed=self._fraction(), width=30),
            Text(f"{self._fraction():.0%}"),
            Text(f"{self.env_steps:,} of {self._total:,} env steps"),
        )
        speed = self._speeds() if self._agents else "first rollout"
        length = f", episodes of {self._length:,.1f} steps" if self._length else ""
        clock = Text(f"{duration(self.elapsed)} elapsed, {self._left()} left, {speed}{length}", style="dim")
        # a row for each policy
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("policy")
        for heading in ("mean return", self.beginning, *(["evaluated"] if self._scores else [])):
            table.add_column(heading, justify="right")
        table.add_column("")
        for name, value in self.last.items():
            score = [shown(self._scores.get(name))] if self._scores else []
            curve = self._curves[name].drawn(ascii_only=self._console.options.ascii_only)
            table.add_row(Text(name), shown(value), shown(self.first[name]), *score, curve)
        # other numbers
        also = {**self.own, **self._losses}
        return Group(bar, clock, table, _table(also, self.beginning)) if also else Group(bar, clock, table)


def _table(metrics: Mapping[str, tuple[float, float]], beginning: str) -> Table:
    """Metrics by heading: the latest and the first of each."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("metric")
    for heading in ("mean", beginning):
        table.add_column(heading, justify="right")
    for heading, (first, last) in metrics.items():
        table.add_row(Text(heading), shown_metric(last), shown_metric(first))
    return table


def _loss_names(metrics: Mapping[str, Any]) -> list[str]:
    """The losses and entropies among metrics."""
    return [name for name in metrics if name.startswith("losses/") and name.endswith(("loss", "entropy"))]


def standard_output() -> Console:
    """Standard output, as a terminal only where a live display can stand on it."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty() and not _in_notebook()
    return Console(file=sys.stdout, force_terminal=None if is_terminal else False, force_jupyter=False)


def _in_notebook() -> bool:
    """Whether this process is a notebook's kernel, or was started in one with ``!``, which gives it a terminal."""
    return "JPY_PARENT_PID" in os.environ or os.environ.get("MPLBACKEND", "").endswith("backend_inline")


def _number(value: Any) -> float | None:
    """``value`` as a finite float, else None."""
    if value is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None
