"""docs/adapters.md: every block is run, and prints what stands below it."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
from typing import Any

import numpy as np
import pytest

from tests.docs.pages import DOCS, page, shown
from warpworld.world.protocols import PROTOCOLS

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


def example(name: str) -> Any:
    """A module of examples/."""
    spec = importlib.util.spec_from_file_location(name, DOCS.parent / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.cpu_backend
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_the_ppo_in_one_file_learns(autoreset: str) -> None:
    returns = example("cleanrl_ppo").train(autoreset)
    assert np.mean(returns[:100]) < 40 and np.mean(returns[-100:]) > 180


@pytest.mark.slow
@pytest.mark.cpu_backend
def test_the_ppo_of_torchrl_learns() -> None:
    pytest.importorskip("torchrl")
    returns = example("torchrl_ppo").train()
    assert np.mean(returns[:100]) < 40 and np.mean(returns[-100:]) > 150
