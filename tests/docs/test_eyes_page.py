"""docs/worlds-with-eyes.md, followed from its first line to its last in an empty folder."""

from __future__ import annotations

import glob
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.docs.pages import files, page, shown
from warpworld import World
from warpworld.cli.main import main
from warpworld.config import load_config
from warpworld.environment import get_environment

pytestmark = [pytest.mark.slow, pytest.mark.cpu_backend]

PAGE = page("worlds-with-eyes")
SECONDS = re.compile(r"\d+\.\d s\)")


def followed(folder: Path, capsys: pytest.CaptureFixture[str], overrides: list[str]) -> list[tuple[str, str]]:
    """Write, run and type what the page shows; what each block of text shows, and what was printed in its place."""
    printed, compared = "", []
    for block in shown(PAGE):
        if block.file:
            (folder / block.file).write_text(block.text)
        elif block.language == "python":
            exec(compile(block.text, "worlds-with-eyes.md", "exec"), {"__name__": "page"})
        elif block.language == "sh":
            for line in block.text.splitlines():
                words = [word for part in shlex.split(line) for word in (glob.glob(part) or [part])][1:]
                assert main([*words, *(overrides if words[0] == "train" else [])]) == 0
                printed = capsys.readouterr().out
        else:
            compared.append((block.text, printed))
    return compared


@pytest.mark.usefixtures("optimised")
def test_the_page_can_be_followed(working_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a short run in the place of the long one, which a slow test takes."""
    (clean, said), (table, result), (also_clean, said_again) = followed(
        working_folder, capsys, ["trainer.total_env_steps=4096"]
    )
    assert SECONDS.sub("", said) == SECONDS.sub("", clean)
    assert SECONDS.sub("", said_again) == SECONDS.sub("", also_clean)
    assert result.split()[:7] == table.split()[:7]
    (run,) = (working_folder / "runs").iterdir()
    assert (run / "replay.html").is_file()


@pytest.mark.usefixtures("optimised")
@pytest.mark.exhaustive
def test_companions_learn_to_find_each_other(working_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, (printed, result), _ = followed(working_folder, capsys, [])
    (mean, at_random), (_, shown_at_random) = (numbers(text) for text in (result, printed))
    assert mean > 2.5 * at_random
    assert abs(at_random - shown_at_random) < 1.0


def numbers(table: str) -> tuple[float, float]:
    """The mean return, and that of random actions."""
    mean, _, at_random = (float(number) for number in re.findall(r"\d+\.\d+", table))
    return mean, at_random


def test_everything_else_is_a_parameter(working_folder: Path) -> None:
    """What the page says may be written behind `warpworld train`."""
    for name, text in files(PAGE):
        (working_folder / name).write_text(text)
    words = ["env.plans=homes", "env.companions=5", "env.cameras=[0, 180]"]
    assert all(word in PAGE for word in words)
    config = load_config("companions.yaml", [*words, "env.num_plans=2", "env.max_rooms=7"])
    world = World(get_environment(config.name)(**config.env), num_envs=3, device="cpu")
    world.reset()
    world.step()
    assert world["observations_rgb"].shape == (3, 5, 3, 128)
    assert (world["rewards"] > 0.0).all() and (world["rewards"] < 1.0).all()


def test_watchers_are_paid_for_the_rays_that_meet_another_agent(working_folder: Path) -> None:
    """At 2 m, face to face and then back to back: the front is 7.5 cm wide, and the body 15 cm behind its corners."""
    for name, text in files(PAGE):
        (working_folder / name).write_text(text)
    world = World(get_environment("watchers.py:Watchers")(res=200, fov=20.0), num_envs=2, device="cpu")
    world.reset()
    world.data.numpy("positions")[:] = [[2.5, 3.5], [4.5, 3.5]]
    world.data.numpy("angles")[:] = [[0.0, 180.0], [180.0, 0.0]]
    world.step()
    width = 0.15 / 2 / (2.0 - 0.0375)  # of half the body, at the corners that are seen farthest to the side
    expected = 200 * width / np.tan(np.radians(10.0))
    assert world.data.numpy("rewards")[0] == pytest.approx([expected] * 2, abs=1.01)
    assert (world.data.numpy("rewards")[1] == 0.0).all()


def test_the_tutorial_is_short_and_has_no_cuda() -> None:
    (text,) = (text for name, text in files(PAGE) if name == "companions.py")
    assert len(text.splitlines()) < 70
    assert "source" not in text
