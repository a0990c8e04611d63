"""Declarations just within their limits, and what is neither a name nor quite a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gymnasium.spaces import Discrete

from warpworld.environment import Array, Kernel, get_environment
from warpworld.environment.environment import names_file
from warpworld.environment.gym_spaces import as_gymnasium
from warpworld.errors import DeclarationError


@pytest.mark.parametrize(
    ("text", "is_file"),
    [("box", False), ("", False), ("home.json", True), ("./box", True), ("plans/flat", True), ("box 5", False)],
)
def test_a_suffix_or_a_slash_makes_a_file(text: str, is_file: bool) -> None:
    assert names_file(text) is is_file


def test_bounds_may_be_one_number() -> None:
    assert Array("count", "int32", bounds=(3, 3)).bounds == (3, 3)
    with pytest.raises(DeclarationError, match=r"bounds \(3, 2\), expected \(lowest, highest\)"):
        Array("count", "int32", bounds=(3, 2))


def test_an_array_may_be_reset_to_zero() -> None:
    assert Array("count", "int32", initial=0, on_reset="initial").initial == 0
    with pytest.raises(DeclarationError, match="on_reset='initial' needs an initial value"):
        Array("count", "int32", on_reset="initial")


@pytest.mark.parametrize("threads", [1, 1024, (1, 1024), (1024, 1024)])
def test_a_block_may_be_full(threads: Any) -> None:
    assert Kernel("step", threads_per_env=threads).threads_per_env == threads


@pytest.mark.parametrize("threads", [0, 1025, (0, 32), (1, 1025), (64, 32)])
def test_a_block_holds_no_more(threads: Any) -> None:
    with pytest.raises(DeclarationError, match="expected 1 to 1024"):
        Kernel("step", threads_per_env=threads)


def of_old_gym(name: str, **fields: Any) -> Any:
    """A space as the package gym has it."""
    return type(name, (), {"__module__": "gym.spaces.discrete", **fields})()


def test_an_old_discrete_space_keeps_where_it_begins() -> None:
    """Those before gym 0.26 had no beginning of their own."""
    assert as_gymnasium(of_old_gym("Discrete", n=4, start=2)) == Discrete(4, start=2)
    assert as_gymnasium(of_old_gym("Discrete", n=4)) == Discrete(4)


def test_a_folder_or_a_kernel_leads_to_the_file_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "skaters").mkdir()
    (tmp_path / "skaters" / "skaters.py").write_text("")
    monkeypatch.chdir(tmp_path)
    for name in ("skaters", "skaters/skaters.cu"):
        with pytest.raises(DeclarationError, match=r"is named by its Python file: skaters/skaters\.py\."):
            get_environment(name)
