"""Ranges of parameters, declared in the annotations of ``Params``: in Python, in YAML, and per env."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from warpworld.cli.main import main
from warpworld.config.documents.document import Document
from warpworld.config.settings import checked_params
from warpworld.environment import Environment, Group, Range
from warpworld.errors import ConfigError, DeclarationError

Share = Annotated[float, Range(0, 1)]


@dataclass(frozen=True)
class TrackParams:
    """Parameters of all tracks."""

    laps: Annotated[int, Range(1, 2**31 - 1)] = 3  # until the end


class Track(Environment):
    """Runners on a track."""

    per_env = ("slope", "friction")

    @dataclass(frozen=True)
    class Params(TrackParams):
        """Parameters of a track."""

        laps: int = 5  # a default of its own
        slope: Annotated[float, Range(above=-90, below=90)] = 0.0  # degrees
        friction: Annotated[float, Range(0)] = 0.1
        width: Annotated[float, Range(above=0)] = 1.0  # metres
        wind: Annotated[float, Range()] = 0.0
        drag: Annotated[float, Range(high=0)] = 0.0
        fade: Annotated[float, Range(0, below=1)] = 0.5
        hurdles: Annotated[int, Range(0, 9)] | None = None
        rain: Share = 0.25
        surface: Literal["sand", "grass"] = "sand"

    def groups(self) -> Sequence[Group]:
        """One runner."""
        return [Group("runner", 1, Box(0.0, 1.0, (1,)), Discrete(2))]


WRONG: list[tuple[str, Any, str]] = [
    ("laps", 0, "1 to 2^31 - 1"),
    ("laps", 2**31, "1 to 2^31 - 1"),
    ("slope", 90.0, "a number above -90 and below 90"),
    ("slope", -90, "a number above -90 and below 90"),
    ("friction", -0.5, "a finite number of at least 0"),
    ("friction", float("inf"), "a finite number of at least 0"),
    ("friction", 1e39, "a finite number of at least 0"),
    ("width", 0.0, "a finite number above 0"),
    ("wind", float("-inf"), "a finite number"),
    ("drag", 0.5, "a finite number of at most 0"),
    ("fade", 1.0, "a number of at least 0 and below 1"),
    ("hurdles", 10, "0 to 9"),
    ("rain", 1.5, "0 to 1"),
    ("surface", "gras", "'sand' or 'grass'. Did you mean 'grass'?"),
]
RIGHT: list[tuple[str, Any]] = [
    *[("laps", 1), ("laps", 2**31 - 1), ("slope", 89.9), ("friction", 0), ("width", 1e-9), ("wind", -3e38)],
    *[("drag", 0.0), ("fade", 0.0), ("hurdles", None), ("hurdles", 9), ("rain", np.float32(1.0)), ("surface", "grass")],
]


@pytest.mark.parametrize(("name", "value", "expected"), WRONG)
def test_a_value_outside_of_its_range_is_refused(name: str, value: Any, expected: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Track(**{name: value})
    assert str(caught.value) == f"Track: {name}={value!r}: expected {expected}"


def test_a_truth_value_is_no_number() -> None:
    with pytest.raises(DeclarationError, match=r"^Track: hurdles=True: expected 0 to 9$"):
        Track(hurdles=True)


@pytest.mark.parametrize(("name", "value"), RIGHT)
def test_the_ends_of_a_range_are_accepted(name: str, value: Any) -> None:
    assert getattr(Track(**{name: value}).params, name) == value


@pytest.mark.parametrize(("name", "value", "expected"), WRONG)
def test_a_config_has_the_same_ranges(name: str, value: Any, expected: str) -> None:
    expected = expected.partition(". Did")[0]  # choices are checked by pydantic there
    with pytest.raises(ConfigError) as caught:
        checked_params(Track, {name: value}, Document("run.yaml", {}))
    assert str(caught.value) == f"run.yaml: env.{name} is {value!r}, expected {expected}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"slope": [0.0, 90.0]}, "Track: slope=90.0: expected a number above -90 and below 90"),
        ({"randomize": {"friction": [-1.0, 1.0]}}, "Track: friction=-1.0: expected a finite number of at least 0"),
        ({"randomize": {"slope": [0.0, 95.0]}}, "Track: slope=95.0: expected a number above -90 and below 90"),
    ],
)
def test_values_of_each_env_and_ends_of_randomize_lie_in_the_range(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Track(**given)
    assert str(caught.value) == message


def test_params_shows_the_ranges(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["params", f"{__name__}:Track"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  laps: 5                               # a default of its own; 1 to 2^31 - 1" in lines
    assert "  slope: 0.0                            # degrees; a number above -90 and below 90; per env" in lines
    assert "  hurdles: null                         # 0 to 9" in lines
    assert "  surface: sand                         # 'sand' or 'grass'" in lines


def test_a_default_outside_of_its_range_is_refused() -> None:
    class Steep(Track):
        @dataclass(frozen=True)
        class Params(Track.Params):
            slope: float = 100.0

    with pytest.raises(DeclarationError, match=r"^Steep: slope=100.0: expected a number above -90 and below 90$"):
        Steep()


def test_an_annotation_that_cannot_be_resolved_is_refused() -> None:
    class Odd(Track):
        @dataclass(frozen=True)
        class Params(Track.Params):
            laps: Nowhere = 1  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(DeclarationError, match="Params: an annotation cannot be resolved: NameError: name 'Nowhere'"):
        Odd()
