"""docs/faq.md: its programs are run and print what the page shows, its config trains, its command resumes."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import blocks, page, shown
from warpworld.cli.main import main
from warpworld.config import load_config
from warpworld.runs import Run
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend
PAGE = page("faq")


@pytest.mark.long
def test_every_program_prints_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    printed, compared = "", 0
    for block in shown(PAGE):
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block.text, "faq.md", "exec"), names)
            printed = out.getvalue()
        elif block.language == "text":
            assert printed.endswith(block.text)
            compared += 1
    assert compared == 2


def test_groups_share_a_policy(tmp_path: Path) -> None:
    (block,) = blocks(PAGE, "yaml")
    path = tmp_path / "shared.yaml"
    path.write_text(block)
    small = ["trainer.num_envs=4", "trainer.num_steps=4", "trainer.total_env_steps=16", "trainer.device=cpu"]
    trainer = Trainer(load_config(path, small))
    assert "losses/both/policy_loss" in trainer.train(None)
    assert list(trainer.policies) == ["both"]


@pytest.mark.long
def test_a_finished_run_trains_for_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["trainer.num_envs=4", "trainer.num_steps=4", "trainer.total_env_steps=16", "trainer.device=cpu"]
    assert main(["train", "cartpole", *small]) == 0
    (path,) = Path("runs").iterdir()
    (block,) = blocks(PAGE, "sh")
    words = [str(path) if word == "RUN" else word for word in block.split()[1:]]
    assert main([*words[:-1], words[-1].replace("4_000_000", "32")]) == 0
    assert Run.open(path).checkpoints()[-1] == 2
