"""Measurement of all tables of ``python -m benchmarks``, which are printed and saved."""

from __future__ import annotations

import json
from pathlib import Path

from warpworld.cli.bench.conditions import conditions
from warpworld.errors import DeclarationError, suggest
from warpworld.managers.cpu.host_compiler import find_compiler
from warpworld.managers.cpu.workers import available_cores
from warpworld.runs.machine import processor_name

from . import adapters, brute_force, exported, gallery, learning, off_policy, peers, replay, shares, worlds
from .rows import (
    LearningRow,
    StartRow,
    print_adapters,
    print_exported,
    print_learning,
    print_learning_times,
    print_replay,
    print_shares,
    print_starts,
    print_table,
)


def run(only: str | None = None, seconds: float = 0.2, save: str | Path | None = None) -> None:
    """Measure and print.

    Args:
        only: worlds whose name contains this; peers are left out then. "adapters", "replay" and "rollout" name other
            tables; so do "export", "gallery", "learning" and "off-policy", which take minutes and are measured by their
            whole names only; "gallery:FAMILY" measures one family, "learning:WORK" one work. Of learning, what is
            quick is measured without a name, too.
        seconds: length of one window; every figure is the median of five.
        save: JSON file to write the rows to, with machine, date and commit.

    Raises:
        DeclarationError: no world's name contains ``only``, or no work's what stands behind "learning:".
    """
    works = learning.chosen(only)
    if only is not None and not works:
        _check(only)
    workers = tuple(sorted({1, available_cores()}))
    rows = list(worlds.rows(workers, seconds, only))
    rows += list(brute_force.rows(seconds, only))
    if only is None:
        rows += list(peers.rows(seconds))
    if only is not None and only.startswith(gallery.NAME):
        rows += list(gallery.rows(seconds, only))  # it takes minutes
    trained = list(learning.rows(seconds, only)) if works else []
    learnt = [row for row in trained if isinstance(row, LearningRow)]
    started = [row for row in trained if isinstance(row, StartRow)]
    adapted = list(adapters.rows(seconds)) if only is None or only in adapters.NAME else []
    files = list(exported.rows(seconds)) if only == exported.NAME else []  # a minute, most of it torch's exporters
    drawn = list(replay.rows(seconds)) if only is None or only in replay.NAME else []
    shared = list(shares.rows(seconds)) if only is None or only in shares.NAME else []
    learning_times = list(off_policy.rows(seconds)) if only == off_policy.NAME else []  # it takes minutes
    if rows:
        print_table(rows)
    if adapted:
        print_adapters(adapted)
    if files:
        print_exported(files)
    if learnt:
        print_learning(learnt)
    if started:
        print_starts(started)
    if drawn:
        print_replay(drawn)
    if shared:
        print_shares(shared)
    if learning_times:
        print_learning_times(learning_times)
    found = ", ".join([*peers.installed(), *learning.libraries()]) or "none"
    print(f"{processor_name()}, {available_cores()} cores; {find_compiler().version}; peers installed: {found}")
    if save:
        path = Path(save)
        path.parent.mkdir(parents=True, exist_ok=True)
        every = [row.as_dict() for row in (*rows, *adapted, *files, *trained, *drawn, *shared, *learning_times)]
        path.write_text(json.dumps({**conditions(), "rows": every}, indent=1) + "\n")


def _check(only: str) -> None:
    """Refuse a word that selects nothing.

    Raises:
        DeclarationError: see above.
    """
    whole = exported.NAME, gallery.NAME, learning.NAME, off_policy.NAME  # which take minutes
    names = [*(name for name, *_ in worlds.CASES), *brute_force.CASES]
    names = list(dict.fromkeys([*names, *sorted((adapters.NAME, *whole, replay.NAME, shares.NAME))]))
    families = [f"{gallery.NAME}:{family}" for family in gallery.FAMILIES]
    partly = [name for name in names if name not in whole]
    if only in whole or any(only in name for name in partly) or any(name.startswith(only) for name in families):
        return
    raise DeclarationError(f"no benchmark's name contains '{only}'.{suggest(only, names)} Known: {', '.join(names)}")
