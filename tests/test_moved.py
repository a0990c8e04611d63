"""Former names: found where they were, with one warning for each in a process."""

from __future__ import annotations

import importlib
import inspect
import warnings

import pytest

from warpworld import moved
from warpworld.trainers import algorithms


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has warned of nothing."""
    monkeypatch.setattr(moved, "_warned", set())


def test_a_module_that_moved_warns_once_and_says_what_to_write() -> None:
    with pytest.warns(FutureWarning) as caught:
        from warpworld.trainers.algorithms.batch import Batch  # type: ignore[import-not-found]
        from warpworld.trainers.algorithms.batch import Batch as Again  # type: ignore[import-not-found]
    assert [str(each.message) for each in caught] == [
        "warpworld.trainers.algorithms.batch is deprecated and goes with warpworld 2.0: "
        "write warpworld.trainers.algorithms.experience.batch"
    ]
    assert caught[0].filename == __file__
    assert Batch is Again is importlib.import_module("warpworld.trainers.algorithms.experience.batch").Batch


def test_each_former_place_warns_for_itself() -> None:
    with pytest.warns(FutureWarning) as caught:
        found = algorithms.gae.gae, algorithms.gae.gae, algorithms.vtrace.vtrace  # type: ignore[attr-defined]
    assert [str(each.message).split()[0] for each in caught] == [
        "warpworld.trainers.algorithms.gae",
        "warpworld.trainers.algorithms.vtrace",
    ]
    assert found[0] is importlib.import_module("warpworld.trainers.algorithms.targets.gae").gae


def test_what_looks_at_all_modules_sees_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert inspect.getmodule(algorithms.ActorCritic.__init__.__code__) is not None


def test_a_name_that_neither_place_has() -> None:
    with pytest.raises(ImportError, match="cannot import name 'Bach'"), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec("from warpworld.trainers.algorithms.batch import Bach")
