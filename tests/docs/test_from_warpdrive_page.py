"""docs/from-warpdrive.md: its example is checked, trained and stepped, and its messages are what is said."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from tests.docs.pages import blocks, page
from warpworld import World, check
from warpworld.cli.main import main
from warpworld.errors import BindError
from warpworld.managers.spellings import matches

PAGE = page("from-warpdrive")
SECONDS = re.compile(r"\d+\.\d s\)")


@pytest.fixture
def example(working_folder: Path) -> Path:
    """A folder with the page's files, which is the working folder."""
    step, reset = blocks(PAGE, "cuda")
    declaration, random, _ = blocks(PAGE, "python")
    (config,) = blocks(PAGE, "yaml")
    for name, text in {
        "line_tag.cu": step + reset,
        "line_tag.py": declaration,
        "random_line_tag.py": random,
        "line_tag.yaml": config,
    }.items():
        (working_folder / name).write_text(text)
    return working_folder


@pytest.mark.cpu_backend
def test_the_check_prints_what_the_page_shows(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "line_tag.py"]) == 0
    printed = capsys.readouterr()
    assert SECONDS.sub("", printed.out) == SECONDS.sub("", blocks(PAGE, "text")[0])
    assert [f"`{line}`" in PAGE for line in printed.err.splitlines() if "similar names" in line] == [True]
    report = check("random_line_tag.py:RandomLineTag", steps=60)
    assert not report.findings, str(report)


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.usefixtures("optimised")
def test_the_run_trains(example: Path) -> None:
    assert main(["train", "line_tag.yaml", "trainer.device=cpu"]) == 0
    (run,) = (example / "runs").iterdir()
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    settings = yaml.safe_load(blocks(PAGE, "yaml")[0])["trainer"]
    updates = settings["total_env_steps"] // (settings["num_envs"] * settings["num_steps"])
    assert updates >= 5 and len(rows) == updates
    losses = [value for row in rows for name, value in row.items() if "loss" in name]
    assert len(losses) >= 2 * updates and np.isfinite(losses).all()
    ratios = [value for row in rows for name, value in row.items() if "approx_kl" in name]
    assert any(ratio > 0 for ratio in ratios)  # PPO moves


def test_the_game(example: Path) -> None:
    from line_tag import LineTag  # type: ignore[import-not-found]

    world = World(LineTag(hunters=2, last_place=6, episode_length=4), 2, device="cpu")
    world.reset()
    first = [[0.0, 0.5, 0.0], [0.0, 0.5, 0.0], [0.5, 0.5, 0.0]]
    assert world["observations"].tolist() == [first] * 2
    world["actions"][:] = torch.tensor([[1, 1, 2], [1, 0, 0]], dtype=torch.int32)[..., None]
    world.step()
    assert world["place"].tolist() == [[1, 1, 2], [1, 0, 3]]
    assert world["observations"][0, 2].tolist() == pytest.approx([2 / 6, 2 / 6, 0.25])
    world.step()  # hunters and runner of env 0 pass each other; in env 1 they are one apart
    assert not world["terminated"].any() and world["place"].tolist() == [[2, 2, 1], [2, 0, 3]]
    world.step()
    assert world["terminated"].tolist() == [False, True] and world["rewards"][1].tolist() == [1, 1, -1]
    assert world["place"][1].tolist() == [0, 0, 3] and world["observations"][1].tolist() == first
    world["actions"][:] = 1
    world.step()
    assert world["truncated"].tolist() == [True, False] and not world["terminated"].any()
    assert world["env_timestep"].tolist() == [0, 1]


def test_random_starts(example: Path) -> None:
    from random_line_tag import RandomLineTag  # type: ignore[import-not-found]

    world = World(RandomLineTag(), 50, device="cpu")
    world.reset()
    place = world["place"]
    assert len(place.unique()) > 15
    torch.testing.assert_close(world["observations"][:, :, 0], place / 20, rtol=1e-6, atol=0)
    torch.testing.assert_close(world["observations"][:, 1, 1], place[:, -1] / 20, rtol=1e-6, atol=0)


def test_the_message_for_unknown_names(example: Path) -> None:
    file = example / "line_tag.py"
    renamed = re.sub(r"(    )last_place: int", r"\1last_places: int", file.read_text())
    given = 'Kernel("CudaLineTagStep", arguments={"runner_pays": True})'
    assert given in renamed
    for old, new in ((given, '"CudaLineTagStep"'), ("params.last_place", "params.last_places")):
        renamed = renamed.replace(old, new)
    (example / "far_tag.py").write_text(renamed)
    from far_tag import LineTag  # type: ignore[import-not-found]

    with pytest.raises(BindError) as caught:
        World(LineTag(), 2, device="cpu")
    assert str(caught.value).replace(f"{example}/", "") == blocks(PAGE, "text")[1].strip()


def test_the_table_of_spellings(example: Path) -> None:
    table = PAGE.partition("| parameter | bound to |")[2].partition("\n\n")[0]
    rows = [(re.findall(r"`(?:int\* )?(\w+)`", left), re.findall(r"`(\w+)`", right)) for left, right in _cells(table)]
    for parameters, names in rows:
        meant = names if len(names) == len(parameters) else names * len(parameters)
        for parameter, name in zip(parameters, meant, strict=True):
            assert matches(parameter, [name, "loc", "max", "time_limit"]) == [name]
    assert len(rows) == 7


def _cells(table: str) -> list[tuple[str, str]]:
    return re.findall(r"^\| (`.*?) \| (.*?) \|$", table, re.MULTILINE)


def test_ids_are_put_in_order() -> None:
    found: dict[str, np.ndarray] = {}
    exec(blocks(PAGE, "python")[2], found)
    assert found["order"].tolist() == [1, 4, 0, 2, 3, 5]
    assert found["agent_types"].tolist() == [1, 1, 0, 0, 0, 0]
    assert found["start_x"].tolist() == [1.5, 2.5, 7.0, 3.0, 8.0, 6.0]


def test_the_keys_of_the_table_exist() -> None:
    from warpworld.config import load_config

    document = load_config("tag_gridworld", []).model_dump()
    known = {key for section in ("trainer", "saving") for key in document[section]} | {"name", "env", "groups"}
    known |= {key for policy in document["policy"].values() for key in (*policy, *policy["model"])}
    table = PAGE.partition("## The YAML file")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `.*? \| (.*) \|$", table, re.MULTILINE)
    named = {
        key
        for row in rows
        for key in re.findall(r"`(?:trainer\.|policy\.P\.|saving\.|model\.)?([a-z_]+)(?::[^`]*)?`", row)
    }
    others = {"a2c", "ppo", "ddpg", "normalize_return", "module"}
    assert len(named) > 20 and named - others <= known, named - others - known
