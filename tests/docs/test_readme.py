"""README.md: short, with links that lead somewhere, and an environment that trains as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, files
from warpworld.cli.main import main

README = (DOCS.parent / "README.md").read_text(encoding="utf-8")


def test_a_reader_sees_it_at_once() -> None:
    assert len(README.splitlines()) <= 130


def test_every_link_leads_to_a_file() -> None:
    targets = {target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", README)}
    assert len(targets) > 20
    assert [target for target in targets if not (DOCS.parent / target).exists()] == []


def test_every_extra_is_named() -> None:
    metadata = (DOCS.parent / "setup.py").read_text(encoding="utf-8")
    extras = metadata.partition("extras_require={")[2].partition("\n    },")[0]
    declared = re.findall(r'^        "(\w+)": \[', extras, re.MULTILINE)
    (line,) = re.findall(r"^Further extras: .*$", README, re.MULTILINE)
    named = re.findall(r"`(\w+)`", line)
    assert {*named, "compiler", "cuda"} == {*declared} - {"dev", "test"}


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.cpu_backend
@pytest.mark.usefixtures("optimised")
def test_the_smallest_environment_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [name for name, _ in files(README)] == ["walk.py", "walk.cu", "walk.yaml"]
    for name, text in files(README):
        Path(name).write_text(text)
    assert main(["check", "walk.py"]) == 0
    assert main(["train", "walk.yaml", "trainer.total_env_steps=100_000"]) == 0
    (run,) = Path("runs").iterdir()
    returns = [json.loads(line)["charts/walker/episodic_return"] for line in (run / "metrics.jsonl").open()]
    assert returns[0] < 30 < 40 < returns[-1]
