"""docs/adapters.md: every block is run, and prints what stands below it."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpworld
from tests.docs.pages import DOCS, files, page, shown
from warpworld.adapters.rules.protocols import PROTOCOLS

PAGE = page("adapters")


@pytest.mark.slow
@pytest.mark.cpu_backend
def test_every_block_prints_what_the_page_shows() -> None:
    for package in ("stable_baselines3", "torchrl", "pettingzoo", "dm_env"):
        pytest.importorskip(package)
    names: dict[str, Any] = {}
    printed, compared = "", 0
    for block in shown(PAGE):
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block.text, "adapters.md", "exec"), names)
            printed = out.getvalue()
        else:
            assert printed == block.text
            compared += 1
    assert compared == 10


def test_every_api_is_on_the_page() -> None:
    table = PAGE.partition("`pip install")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith('| `"')]
    resets = {name: row[2] for row in rows for name in re.findall(r'"(\w+)"', row[0])}
    words = {"next_step": "next step", "same_step": "same step", "disabled": "by the caller"}
    assert resets.keys() == PROTOCOLS.keys()
    for name, protocol in PROTOCOLS.items():
        assert resets[name].startswith(words[protocol.autoresets[0]]), name


@pytest.mark.slow
@pytest.mark.cpu_backend
def test_groups_unlike_each_other_are_pettingzoos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The world of docs/groups.md: pictures beside flags, masks, death and rebirth."""
    pytest.importorskip("pettingzoo")
    from pettingzoo.test import api_test, parallel_api_test

    monkeypatch.chdir(tmp_path)
    for name, text in files(page("groups")):
        Path(name).write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(warpworld.make("yard.py", api="parallel"), num_cycles=200)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Observation|Action|Agents|The class of observation spaces")
        api_test(warpworld.make("yard.py", api="aec"), num_cycles=100)


def example(name: str) -> Any:
    """A module of examples/."""
    spec = importlib.util.spec_from_file_location(name, DOCS.parent / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.cpu_backend
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_the_ppo_in_one_file_learns(autoreset: str) -> None:
    returns = example("cleanrl_ppo").train(autoreset)
    assert np.mean(returns[:100]) < 40 and np.mean(returns[-100:]) > 180


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.cpu_backend
def test_the_ppo_of_torchrl_learns() -> None:
    pytest.importorskip("torchrl")
    returns = example("torchrl_ppo").train()
    assert np.mean(returns[:100]) < 40 and np.mean(returns[-100:]) > 150
