"""Runs on other libraries' envs: trained, evaluated, recorded and resumed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.adapters.external.counting import LENGTHS
from warpworld.cli.main import main
from warpworld.config import config_from_dict, load_config
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

CARTPOLE = """
name: external
env: {library: gymnasium, id: CartPole-v1, options: {vectorization_mode: vector_entry_point}}
trainer: {num_envs: 4, num_steps: 16, total_env_steps: 192, device: cpu}
policy: {agent: {model: {hidden_sizes: [8]}, num_minibatches: 2}}
saving: {checkpoint_every: 1}
"""
ANEW = (
    "external: checkpoints do not hold its envs, since CartPoleVectorEnv gives no state of an env; a resumed run "
    "begins new episodes\n"
)


@pytest.mark.heavy
@pytest.mark.long
def test_the_commands_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cartpole.yaml").write_text(CARTPOLE)
    assert main(["train", "cartpole.yaml", "--stop-at", "64"]) == 0
    assert ANEW in capsys.readouterr().out
    (run,) = Path("runs").iterdir()
    assert main(["train", "--resume", str(run)]) == 0
    assert ANEW in capsys.readouterr().out
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["env_steps"] for row in rows] == [64, 128, 192]
    assert main(["eval", str(run), "--episodes", "4"]) == 0
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").is_file()


@pytest.mark.heavy
@pytest.mark.long
def test_a_turn_based_game_trains() -> None:
    pytest.importorskip("pettingzoo")
    config = config_from_dict(
        {
            "name": "external",
            "env": {"library": "pettingzoo", "id": "pettingzoo.classic.connect_four_v3"},
            "trainer": {"num_envs": 2, "num_steps": 60, "total_env_steps": 120, "device": "cpu"},
            "policy": {"player": {"model": {"hidden_sizes": [4]}, "num_minibatches": 1}},
        }
    )
    trainer, iterations = Trainer(config), list[Any]()
    trainer.train(None, on_iteration=iterations.append)
    allowed, taken = (trainer.world[f"rollout_{name}_player"] for name in ("action_mask", "actions"))
    moves = allowed.any(-1)
    assert (moves.sum(-1) == 1).all()  # one player an env has the turn
    assert allowed.gather(-1, taken.long())[moves].all()
    assert iterations[-1]["charts/episodes"] > 0


SMALL_PONG = [
    *("trainer.num_envs=2", "trainer.num_steps=3", "trainer.total_env_steps=6", "trainer.device=cpu"),
    *("policy.agent.model.channels=[2, 2, 2]", "policy.agent.model.branch_size=8", "policy.agent.num_minibatches=1"),
]


@pytest.mark.long
def test_the_packaged_pong_trains() -> None:
    pytest.importorskip("ale_py")
    trainer, iterations = Trainer(load_config("pong", SMALL_PONG)), list[Any]()
    trainer.train(None, on_iteration=iterations.append)
    seen = trainer.world["rollout_observations_agent"]
    assert (seen.dtype, seen.shape) == (torch.uint8, (3, 2, 1, 4 * 84 * 84))
    assert seen.float().std() > 0 and iterations[-1]["env_steps"] == 6


def test_the_packaged_pong_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ale_py", None)
    monkeypatch.delitem(sys.modules, "ale_py.vector_env", raising=False)
    assert main(["train", "pong"]) == 2
    out, err = capsys.readouterr()
    assert (out, list(tmp_path.iterdir())) == ("", [])
    assert err == (
        "error: packaged config 'pong', line 7: env: external: library 'ale' needs ale_py, which is not installed: "
        "pip install ale-py\n"
    )


@pytest.mark.parametrize("mode", ["SAME_STEP", "NEXT_STEP", "DISABLED"])
def test_rows_of_a_rollout_never_lead_from_one_episode_into_the_next(mode: str) -> None:
    config = config_from_dict(
        {
            "name": "external",
            "env": {"library": "tests.adapters.external.counting:counting", "options": {"mode": mode}},
            "trainer": {"num_envs": 3, "num_steps": 30, "total_env_steps": 90, "device": "cpu"},
            "policy": {"agent": {"model": {"hidden_sizes": [4]}, "num_minibatches": 1}},
        }
    )
    trainer, iterations = Trainer(config), list[Any]()
    trainer.train(None, on_iteration=iterations.append)
    world = trainer.world
    seen = world["rollout_observations_agent"][:, :, 0]  # (steps, envs, (episode, step))
    ended = world["rollout_terminated"] | world["rollout_truncated"]
    takes_part = world["rollout_agent_mask"][:, :, 0] if mode == "NEXT_STEP" else torch.ones_like(ended)
    for env, length in enumerate(LENGTHS):
        rows = seen[takes_part[:, env], env].tolist()
        expected = [[1 + row // length, row % length] for row in range(len(rows))]
        assert rows == expected, env
        assert ended[takes_part[:, env], env].tolist() == [row % length == length - 1 for row in range(len(rows))]
    assert takes_part.all() == (mode != "NEXT_STEP")
    count = int(ended.sum())
    lengths = sum(int(ended[:, env].sum()) * length for env, length in enumerate(LENGTHS))
    if mode == "NEXT_STEP":
        lengths += count - len(LENGTHS)  # the step of the reset belongs to the new episode
    assert iterations[-1]["charts/episodes"] == count
    assert iterations[-1]["charts/episodic_length"] == pytest.approx(lengths / count)
