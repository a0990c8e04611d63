"""Rollouts that the suite measures are of the run's own precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from benchmarks.gpu.cases import rollout_of


def test_a_rollout_is_taken_in_the_precision_of_the_run() -> None:
    """The first rollout captures the graph: products that it does not set are of float32 for ever."""
    notes: list[str] = []

    @contextmanager
    def products() -> Iterator[None]:
        notes.append("bf16")
        yield
        notes.append("before")

    collector = SimpleNamespace(collect=lambda: notes.append("collected"))
    collect = rollout_of(SimpleNamespace(_products=products, collector=collector))  # type: ignore[arg-type]
    collect()
    collect()
    assert notes == ["bf16", "collected", "before"] * 2
