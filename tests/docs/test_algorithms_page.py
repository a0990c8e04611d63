"""docs/algorithms.md: what it shows is what is run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.docs.pages import blocks, page
from warpworld.cli.main import main
from warpworld.trainers.algorithms import Algorithm
from warpworld.trainers.histories import SavedHistories
from warpworld.trainers.processes.distributed import ALONE

pytestmark = pytest.mark.cpu_backend


@pytest.mark.long
def test_the_algorithm_trains_and_resumes(working_folder: Path) -> None:
    (working_folder / "my_algorithms.py").write_text(blocks(page("algorithms"), "python")[0])
    config = working_folder / "cartpole_reinforce.yaml"
    config.write_text(blocks(page("algorithms"), "yaml")[0])
    short = ["trainer.device=cpu", "trainer.total_env_steps=81920", "saving.checkpoint_every=10"]
    assert main(["train", str(config), *short]) == 0
    (run,) = (working_folder / "runs").iterdir()
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    lengths = [line["charts/episodic_length"] for line in lines if line["charts/episodes"]]
    assert "losses/agent/loss" in lines[-1]
    assert lengths[-1] > 2 * lengths[0]  # a pole that stands longer
    assert main(["train", "--resume", str(run), "trainer.total_env_steps=90112"]) == 0
    assert len((run / "metrics.jsonl").read_text().splitlines()) == len(lines) + 2


def test_the_history_is_saved_and_read(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(blocks(page("algorithms"), "python")[2], names)
    ends = []
    for steps in (5, 0):
        rewards = torch.zeros(4, 2, 1)
        world = {"replay_rewards": rewards, "replay_written": torch.tensor(5), "replay_row": torch.tensor(1)}
        history = names["Steps"](world)
        saved = SavedHistories({"a": SimpleNamespace(histories=lambda each=history: [each])}, ALONE, 2, keep=True)  # type: ignore[dict-item]
        if steps:
            rewards.copy_(torch.arange(8.0).view(4, 2, 1))
            state = {"iteration": 1, **saved.save(tmp_path, 1)}
        else:
            saved.load(state, tmp_path)
        ends.append(rewards)
    assert torch.equal(*ends)


def test_the_table_names_every_part_of_an_algorithm() -> None:
    parts = {name for name in vars(Algorithm) if not name.startswith("_")} | {"Settings"}
    rows = [line.split("|")[1] for line in page("algorithms").splitlines() if line.startswith("| `")]
    named = {word.strip(" `").split("(")[0] for row in rows for word in row.split(",")}
    assert parts - {"Settings"} <= named | {"policy", "settings", "processes"}
    assert named <= parts
