"""Runs on external envs that have states: they resume as if they had not ended, and say so where they cannot."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torch

from warpworld.cli.main import main

pytestmark = [pytest.mark.cpu_backend, pytest.mark.heavy, pytest.mark.long]

CONFIG = """
name: external
env: {env}
trainer: {{num_envs: 4, num_steps: 16, total_env_steps: 256, device: cpu, seed: 3}}
policy: {{agent: {policy}}}
saving: {{checkpoint_every: 1, {saving}}}
"""
PPO = "{model: {hidden_sizes: [8]}, num_minibatches: 2}"
DQN = "{algorithm: dqn, replay_size: 256, learning_starts: 32, batch_size: 8, model: {hidden_sizes: [8]}}"
PONG = """{library: gymnasium, id: 'ale_py:ALE/Pong-v5',
  options: {repeat_action_probability: 0.0, obs_type: ram}}"""
CARTPOLE = "{library: gymnasium, id: CartPole-v1}"


def trained(folder: Path, *stops: int) -> Path:
    """The run of ``a.yaml``, ended and resumed after so many env steps."""
    before = set(Path("runs").glob("*"))
    assert main(["train", "a.yaml", *(["--stop-at", str(stops[0])] if stops else [])]) == 0
    (run,) = set(Path("runs").glob("*")) - before
    for stop in [*stops[1:], None] if stops else []:
        gc.collect()  # workers of the session before, which have its lock
        assert main(["train", "--resume", str(run), *(["--stop-at", str(stop)] if stop else [])]) == 0
    return run.rename(folder)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, entry in entries:
        yield from leaves(entry, f"{path}.{key}")
    if not isinstance(value, (dict, list, tuple)):
        yield path, value


def final(run: Path) -> dict[str, Any]:
    """All that the last checkpoint holds, but for the time that it took."""
    state = torch.load(max((run / "checkpoints").glob("iteration_*.pt")), weights_only=True)
    return {path: value for path, value in leaves(state) if path != ".seconds"}


def metrics(run: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if not key.startswith(("perf/", "time"))} for row in rows]


def assert_same(run: Path, other: Path) -> None:
    ours, others = final(run), final(other)
    assert ours.keys() == others.keys()
    for path, value in ours.items():
        is_same = torch.equal(value, others[path]) if isinstance(value, torch.Tensor) else value == others[path]
        assert is_same, path
    assert metrics(run) == metrics(other)


@pytest.mark.parametrize(
    ("env", "policy", "saving"),
    [
        pytest.param(CARTPOLE, PPO, "eval_every: 2, eval_episodes: 4", id="evaluated"),
        pytest.param(CARTPOLE, DQN, "replay: newest", id="replay"),
        pytest.param(PONG, PPO, "log_every: 1", id="pong"),
        pytest.param(CARTPOLE.replace("v1", "v1, parts: 2"), PPO, "log_every: 1", id="parts"),
        pytest.param(
            CARTPOLE.replace("v1", "v1, options: {vectorization_mode: async}"), PPO, "log_every: 1", id="async"
        ),
        pytest.param("{library: 'tests.adapters.external.stateful:stateful'}", PPO, "log_every: 1", id="many"),
    ],
)  # fmt: skip
def test_a_run_that_was_ended_is_the_same(
    env: str, policy: str, saving: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    if env == PONG:
        pytest.importorskip("ale_py")
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(CONFIG.format(env=env, policy=policy, saving=saving))
    whole, resumed = trained(Path("whole")), trained(Path("resumed"), 64, 128)
    assert_same(whole, resumed)
    assert "checkpoints do not hold" not in capsys.readouterr().out


def test_another_version_of_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(CONFIG.format(env=CARTPOLE, policy=PPO, saving="log_every: 1"))
    assert main(["train", "a.yaml", "--stop-at", "128"]) == 0
    (run,) = Path("runs").iterdir()
    capsys.readouterr()
    versions = {"gymnasium": "9.9"}
    monkeypatch.setattr("warpworld.adapters.external.states.taking._version", lambda package: versions.get(package, ""))
    assert main(["train", "--resume", str(run)]) == 2
    assert capsys.readouterr().err == (
        f"error: run '{run}' cannot be resumed: external: gymnasium 'CartPole-v1': a state cannot be put back: env 0: "
        f"it was taken with gymnasium {gymnasium.__version__}, and these envs are of gymnasium 9.9\n"
    )


def test_room_for_states_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(CONFIG.format(env=CARTPOLE, policy=PPO, saving="log_every: 1"))
    whole = trained(Path("whole"))
    for number, room in enumerate((20_000, 4_000)):
        assert main(["train", "a.yaml", "--stop-at", "128"]) == 0
        (run,) = Path("runs").iterdir()
        assert main(["train", "--resume", str(run), f"env.state_bytes={room}"]) == 0
        run = run.rename(f"run-{number}")
        assert metrics(run) == metrics(whole)
    assert main(["train", "--resume", str(run), "env.state_bytes=100", "trainer.total_env_steps=512"]) == 2


def test_a_checkpoint_without_states_begins_new_episodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Such a checkpoint is of an earlier version."""
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(CONFIG.format(env=CARTPOLE, policy=PPO, saving="log_every: 1"))
    with monkeypatch.context() as earlier:
        earlier.setattr(
            "warpworld.adapters.external.trying._of_states", lambda *_: ("states are of a later version", 0)
        )
        earlier.setattr("warpworld.adapters.external.external._TRIED", {})
        assert main(["train", "a.yaml", "--stop-at", "128"]) == 0
    monkeypatch.setattr("warpworld.adapters.external.external._TRIED", {})
    (run,) = Path("runs").iterdir()
    assert main(["train", "--resume", str(run)]) == 0
    assert "the checkpoint holds no states of envs: they begin new episodes" in caplog.text
    assert [row["env_steps"] for row in metrics(run)] == [64, 128, 192, 256]
