"""docs/external.md and docs/from-envpool.md: what they show is run."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import pytest

import warpworld
from tests.adapters.external.views import Views
from tests.docs.pages import blocks, files, page
from warpworld.adapters.external.libraries import LIBRARIES
from warpworld.adapters.pool import Pool
from warpworld.adapters.rules.protocols import PROTOCOLS
from warpworld.cli.main import main
from warpworld.config import load_config

pytestmark = pytest.mark.cpu_backend


@pytest.mark.long
def test_the_page_of_external_environments(working_folder: Path) -> None:
    text = page("external")
    for name, contents in files(text):
        (working_folder / name).write_text(contents)
    acrobot, pong = blocks(text, "console")
    assert main(acrobot.removeprefix("$ warpworld ").split()) == 0
    assert load_config(pong.removeprefix("$ warpworld train ").strip()).env["library"] == "ale"
    programs = [block for block in blocks(text, "python") if "world.close()" in block]
    for program in programs:
        exec(compile(program, "external.md", "exec"), {})
    assert len(programs) == 2
    gymnasium.register("Wordy-v0", entry_point=lambda: Views("words", heads=False, masks=False, number=0))
    try:
        options = {"library": "my_wrapped:without_mission", "options": {"name": "Wordy-v0"}}
        assert list(warpworld.make("external", 2, device="cpu", **options).groups["agent"].observation) == [
            "direction",
            "image",
        ]
    finally:
        gymnasium.registry.pop("Wordy-v0")
    for library in LIBRARIES:
        assert f"| `{library}` |" in text
    pytest.importorskip("mpe2")
    alone = warpworld.make("external", 2, device="cpu", library="pettingzoo", id="my_game")
    assert alone.groups["agent"].observation.shape == (4,)
    alone.reset()
    alone.step()


def test_the_page_for_users_of_envpool() -> None:
    text = page("from-envpool")
    for program in blocks(text, "python"):
        exec(compile(program, "from-envpool.md", "exec"), {})
    for word in ("async_reset", "send", "recv", "step", "reset"):
        assert f"`{word}" in text and hasattr(Pool, word)
    assert PROTOCOLS["pool"].autoresets == ("next_step", "same_step")


@pytest.mark.heavy
def test_the_page_for_users_of_rela(working_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ale_py")
    ((name, contents),) = files(page("from-rela"))
    (working_folder / name).write_text(contents)
    small = ["trainer.num_envs=8", "trainer.total_env_steps=64", "policy.agent.learning_starts=16"]
    assert main(["train", name, *small, "policy.agent.replay_size=5000", "policy.agent.batch_size=8"]) == 0
    size = "transitions of 7080 bytes"
    assert size in capsys.readouterr().err and size in page("from-rela")
