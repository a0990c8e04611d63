"""AGENTS.md, here and of `warpworld new`: each command runs, and prints what the page calls right."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS
from warpworld.cli.main import main
from warpworld.cli.new.template import CPP_TEMPLATE, TEMPLATE, write_environment

pytestmark = pytest.mark.cpu_backend

SHORTER = ("trainer.total_env_steps=25_600", "trainer.device=cpu")


def commands(page: str) -> list[str]:
    """The commands of a page's tables that work on an environment, in order."""
    found = re.findall(r"\| `((?:warpworld|python) [^`]+)` \|", page)
    assert len(found) >= 5
    return found


def printed(command: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """The document that a command prints, with a shorter training; None where it prints none."""
    words = shlex.split(command)[1:]
    more = SHORTER if words[0] == "train" else ("--steps", "10") if words[0] == "check" else ()
    assert main([*words, *more]) == 0
    out = capsys.readouterr().out
    return json.loads(out) if "json" in words else None


def follow(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a page's commands in the working folder, and compare what they print with what the page says."""
    for command in commands(page):
        if command.startswith("python"):
            words = [sys.executable, *shlex.split(command)[1:], "--collect-only", "-q"]
            assert subprocess.run(words, capture_output=True, check=False).returncode == 0
            continue
        found = printed(command, capsys)
        if " check " in command:
            assert (found["clean"], found["findings"]) == (True, [])
            assert all("never" in kernel for kernel in found["coverage"])
        elif " train " in command:
            assert found["state"] == "finished"
            assert found["returns"]
        elif " eval " in command:
            assert all(
                {"mean_return", "random_return", "confidence"} <= set(each) for each in found["policies"].values()
            )
        elif " compare " in command:
            assert list(found["differing"]) == ["trainer.seed"]


@pytest.fixture(autouse=True)
def paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python finds no module of these folders later."""
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.heavy
@pytest.mark.long
def test_the_repository_s_page_can_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    follow((DOCS.parent / "AGENTS.md").read_text(encoding="utf-8"), capsys)


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize(("name", "template"), [("gold_rush", TEMPLATE), ("coin_rush", CPP_TEMPLATE)])
def test_the_page_of_a_new_environment_can_be_followed(
    name: str, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_environment(name, tmp_path, template)
    monkeypatch.chdir(folder)
    page = (folder / "AGENTS.md").read_text(encoding="utf-8")
    assert "template" not in page.lower()
    # another seed, as the page says
    printed(f"warpworld train {name}.yaml trainer.seed=2 --run runs/b --format json", capsys)
    follow(page, capsys)


def test_links_lead_somewhere() -> None:
    page = (DOCS.parent / "AGENTS.md").read_text(encoding="utf-8")
    targets = {target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", page)}
    assert targets
    assert [target for target in targets if not (DOCS.parent / target).exists()] == []
