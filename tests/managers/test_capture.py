"""The check of a graph: it blames the graph for what the graph does, and not for what no run of the work repeats."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from warpworld import Array
from warpworld.managers import capture
from warpworld.managers.capture import captured
from warpworld.managers.data_manager import DataManager

pytestmark = pytest.mark.cpu_backend
Work = Callable[[], None]


class Device:
    """A device whose graphs do what a test says, and the work that they are to do: x + 1, and a weight halved.

    Args:
        noise: added to x by each run, on the device; None adds nothing.
        noise_in_graph: the same for each replay.
        error: added to x by each replay.
        shift: added to the weight by each replay.
    """

    def __init__(self, noise: Any = None, noise_in_graph: Any = None, error: float = 0.0, shift: float = 0.0) -> None:
        self.data = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), 2, 1)
        self.data.add(Array("x", "float32", initial=1.0))
        self.data.add(Array("copy_of_x", "float32", initial=0.0), kept="derived")
        self.data.seal()
        self.weight = torch.ones(3)
        self._noise, self._noise_in_graph, self._error, self._shift = noise, noise_in_graph, error, shift
        self.backend: Any = SimpleNamespace(
            captures=True,
            wait=lambda: None,
            random_state=lambda: torch.zeros(1),
            set_random_state=lambda state: None,
            warm_up=lambda run: run(),
            capture=lambda run: self.replay,
        )

    def run(self) -> None:
        self._work(next(self._noise) if self._noise else 0.0)

    def replay(self) -> None:
        self._work((next(self._noise_in_graph) if self._noise_in_graph else 0.0) + self._error)
        self.weight += self._shift

    def _work(self, added: float) -> None:
        self.data["x"] += 1.0 + added
        self.data["copy_of_x"].copy_(self.data["x"])
        self.weight *= 0.5

    def captured(self) -> Work:
        """What the check gives for the work; everything is as before."""
        found = captured(self.backend, self.data, self.run, [self.weight])
        assert self.data["x"].eq(1.0).all() and self.weight.eq(1.0).all()
        return found


def varying(first: float) -> Any:
    """Other numbers each time, but for some that are equal by chance."""
    return itertools.cycle([first, 0.5, 0.5, 0.25, 0.75])


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    capture._warn_once.cache_clear()
    caplog.set_level(logging.WARNING, logger="warpworld")
    return caplog


def test_a_graph_that_does_the_same_is_kept_silently(log: pytest.LogCaptureFixture) -> None:
    device = Device()
    assert device.captured() == device.replay
    assert log.messages == []


def test_work_that_never_repeats_is_no_fault_of_the_graph_and_said_once(log: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        device = Device(noise=varying(0.125), noise_in_graph=varying(0.375))
        assert device.captured() == device.replay
    assert log.messages == ["updates give other results in copy_of_x, x each time, with a CUDA graph and without"]


@pytest.mark.parametrize(
    ("faults", "names"),
    [
        ({"error": 1.0}, "copy_of_x, x"),
        ({"shift": 1.0}, "what is learnt"),
        # the weights are the graph's own fault
        ({"noise": varying(0.125), "noise_in_graph": varying(0.375), "shift": 1.0}, "copy_of_x, what is learnt, x"),
        # a number that Python changes from call to call is one and the same in each replay
        ({"noise": itertools.count(1.0)}, "copy_of_x, x"),
        # only the graph varies
        ({"noise_in_graph": varying(0.375)}, "copy_of_x, x"),
    ],
    ids=["an array", "a weight", "a weight beside noise", "a number of Python's", "noise in the graph alone"],
)
def test_a_graph_that_does_something_else_is_given_up(
    faults: dict[str, Any], names: str, log: pytest.LogCaptureFixture
) -> None:
    device = Device(**faults)
    assert device.captured() == device.run
    assert log.messages == [
        f"updates run one by one: as a CUDA graph they give other results in {names}; see trainer.graph_steps"
    ]
