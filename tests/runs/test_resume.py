"""Resuming: what is taken up, what may change, and what is refused."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest
import torch

from tests.runs.processes import differences
from tests.runs.resuming import changed, resumed
from warpworld.cli.main import main
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import ConfigError, RunError
from warpworld.runs import Run
from warpworld.runs.resume import resumed_config
from warpworld.trainers.trainer import Trainer


def iterations(path: Path) -> list[int]:
    return [json.loads(line)["iteration"] for line in path.read_text().splitlines()]


# --- what is taken up -------------------------------------------------------------------------------------------------


def test_the_global_generator_of_torch_goes_on(run: Run) -> None:
    trainer = Trainer(run.config)
    torch.manual_seed(5)
    state = trainer.state_dict()
    drawn = torch.rand(3)
    torch.manual_seed(6)
    Trainer(run.config).load_state_dict(state)
    assert torch.equal(torch.rand(3), drawn)


def test_time_goes_on(run: Run) -> None:
    before = [json.loads(line)["time"] for line in run.timing_path.read_text().splitlines()]
    trainer = resumed(run)
    assert trainer.seconds == before[-1]
    trainer.train(run)
    run.close()
    times = [json.loads(line)["time"] for line in run.timing_path.read_text().splitlines()]
    assert times[:3] == before
    assert times == sorted(times)
    assert len(times) == 6


def test_a_run_from_before_the_row_was_the_rollouts_own(run: Run) -> None:
    """Every world had an array `row` then, behind `active`."""
    state = run.load_checkpoint()
    names = [entry[0] for entry in state["layout"]]
    at, behind = names.index("rollout_row"), names.index("active") + 1
    layout, parts = [list(entry) for entry in state["layout"]], list(state["store"].view(len(names), 256))
    layout[at][0] = "row"
    assert at > behind
    for moved in (layout, parts):
        moved.insert(behind, moved.pop(at))
    resumed(run).train(run)
    expected = run.load_checkpoint()
    trainer = Trainer(run.config)
    trainer.load_state_dict({**state, "layout": layout, "store": torch.cat(parts)})
    trainer.train(None)
    assert torch.equal(trainer.state_dict()["store"].cpu(), expected["store"])


def test_torch_gets_the_threads_it_had(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    had = run.load_checkpoint()["torch_threads"]
    torch.set_num_threads(other := had + 2)
    assert resumed(run).iteration == 3
    assert torch.get_num_threads() == had
    assert "threads" not in caplog.text
    resumed(run, changed(run.config, "trainer", torch_threads=other))
    assert torch.get_num_threads() == other
    expected = f"the run had {had} threads of torch and continues with {other}, so not bit for bit as it would have"
    assert expected in caplog.text


def test_the_command_seeds_torch_for_models_that_draw_from_it(run: Run) -> None:
    torch.manual_seed(99)
    assert main(["train", str(run.path / "config.yaml"), "trainer.seed=7", f"saving.directory={run.path}"]) == 0
    assert torch.initial_seed() == 7


def test_the_config_sets_the_threads(config: RunConfig) -> None:
    Trainer(changed(config, "trainer", torch_threads=2))
    assert torch.get_num_threads() == 2


def test_more_threads_than_any_machine_has(config: RunConfig) -> None:
    assert changed(config, "trainer", torch_threads=1024).trainer.torch_threads == 1024
    assert changed(config, "trainer", torch_threads=None).trainer.torch_threads is None
    for threads in (1025, 2**63 - 1):
        with pytest.raises(ConfigError, match=rf"trainer.torch_threads is {threads}, expected at most 1024"):
            changed(config, "trainer", torch_threads=threads)


@pytest.mark.long
def test_a_model_that_draws_from_torch(tmp_path: Path) -> None:
    """It adds noise to what it sees: the uninterrupted run and the resumed one draw the same numbers."""
    words = ["trainer.num_envs=4", "trainer.num_steps=8", "trainer.total_env_steps=128", "trainer.device=cpu"]
    words += ["trainer.fused=false", "policy.agent.num_minibatches=1", "saving.checkpoint_every=1"]
    config = load_config("cartpole", words)

    def trainer_with_noise() -> Trainer:
        trainer = Trainer(config)
        policy = trainer.policies["agent"]
        policy.register_forward_pre_hook(  # type: ignore[union-attr]
            lambda module, given: (given[0] + torch.randn_like(given[0]), *given[1:])
        )
        return trainer

    torch.manual_seed(1)
    whole, run = trainer_with_noise(), Run.create(config, tmp_path)
    whole.train(run)
    run.close()
    half, other = trainer_with_noise(), Run.create(config, tmp_path)
    torch.manual_seed(1)
    half.train(other, stop=lambda: half.iteration == 2)
    other.close()
    torch.manual_seed(99)
    again = trainer_with_noise()
    again.resume(other)
    again.train(other)
    other.close()
    ends = [trainer.policies["agent"].state_dict() for trainer in (whole, again)]  # type: ignore[union-attr]
    assert all(torch.equal(value, ends[1][key]) for key, value in ends[0].items())
    assert run.metrics_path.read_bytes() == other.metrics_path.read_bytes()
    plain = Trainer(config)
    third = Run.create(config, tmp_path)
    plain.train(third)
    third.close()
    assert third.metrics_path.read_bytes() != run.metrics_path.read_bytes()  # so the noise did something


@pytest.mark.cuda_backend
def test_what_a_replay_on_the_device_remembers(tmp_path: Path) -> None:
    """With updates as CUDA graphs, a ring that is written over, and final observations."""
    entry = {"algorithm": "dqn", "replay_size": 64, "learning_starts": 32, "batch_size": 16, "target_every": 3}
    sizes = {"num_envs": 4, "num_steps": 4, "total_env_steps": 192, "graph_steps": 4}
    data = {"name": "cartpole", "env": {"episode_length": 7}, "trainer": sizes, "saving": {"checkpoint_every": 1}}
    config = config_from_dict({**data, "policy": {"agent": {**entry, "final_observations": True}}})
    whole = Trainer(config)
    whole.train(None)
    half, run = Trainer(config), Run.create(config, tmp_path)
    half.train(run, stop=lambda: half.iteration == 7)
    again = resumed(run)
    again.train(run)
    run.close()
    assert whole.world.captures
    ends = [{**trainer.state_dict(), "seconds": 0} for trainer in (whole, again)]
    assert differences(*ends) == []
    for array in whole.world.data.names("history"):
        assert torch.equal(whole.world[array], again.world[array]), array


# --- metrics and damaged checkpoints ----------------------------------------------------------------------------------


def test_metrics_are_cut_back_to_the_checkpoint(run: Run) -> None:
    whole = run.metrics_path.read_bytes()
    run.metrics_path.write_bytes(whole + b'{"iteration": 4, "env_steps": 128}\n{"iteration": 5, "env_')
    run.timing_path.write_bytes(run.timing_path.read_bytes()[:-4])  # torn by a power cut
    resumed(run)
    assert run.metrics_path.read_bytes() == whole
    assert iterations(run.timing_path) == [1, 2]


def test_a_line_without_its_end_is_cut_off(run: Run) -> None:
    run.metrics_path.write_bytes(run.metrics_path.read_bytes()[:-1])  # the next line would be appended to it
    resumed(run)
    assert iterations(run.metrics_path) == [1, 2]


@pytest.mark.parametrize("line", [b"\x00\x00", b'{"iteration": 1e999}', b'{"iteration": NaN}', b"5", b"[" * 100_000])
def test_a_line_that_is_not_metrics_is_dropped_with_a_warning(
    run: Run, caplog: pytest.LogCaptureFixture, line: bytes
) -> None:
    lines = run.metrics_path.read_bytes().splitlines(keepends=True)
    run.metrics_path.write_bytes(lines[0] + line + b"\n" + lines[1] + lines[2])
    resumed(run)
    assert iterations(run.metrics_path) == [1, 2, 3]
    assert "a line that is not one of metrics was dropped" in caplog.text


@pytest.mark.parametrize("damage", ["truncated", "empty", "text"])
def test_a_damaged_checkpoint_is_passed_over(run: Run, caplog: pytest.LogCaptureFixture, damage: str) -> None:
    whole = Trainer(run.config)
    path = run.checkpoint_path(3)
    raw = path.read_bytes()
    path.write_bytes({"truncated": raw[: len(raw) // 2], "empty": b"", "text": b"hello"}[damage])
    trainer = resumed(run)
    assert trainer.iteration == 2
    assert (
        "iteration_000003.pt' cannot be read: it is cut off, or was not written by torch; taking an older one"
        in caplog.text
    )
    assert iterations(run.metrics_path) == iterations(run.timing_path) == [1, 2]
    assert run.checkpoints() == [0, 1, 2]
    assert path.with_name("iteration_000003.pt.damaged").exists()  # kept for whoever wants to look
    trainer.train(run)
    run.close()
    whole.train(other := Run.create(run.config, run.path.parent))
    other.close()
    assert run.metrics_path.read_bytes() == other.metrics_path.read_bytes()


def test_a_checkpoint_with_a_wrong_weight_is_passed_over(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    weight = next(iter(run.load_checkpoint()["policies"]["agent"].values())).numpy().tobytes()
    path = run.checkpoint_path(3)
    raw = path.read_bytes()
    place = raw.index(weight)
    path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
    assert resumed(run).iteration == 2
    assert "iteration_000003.pt' cannot be read: its checksum is wrong, at" in caplog.text


def test_no_readable_checkpoint(run: Run) -> None:
    before = run.metrics_path.read_bytes()
    for iteration in run.checkpoints():
        run.checkpoint_path(iteration).write_bytes(b"")
    with pytest.raises(
        RunError, match=r"^no checkpoint of run '.*' can be read; the last: checkpoint '.*_000000.pt' cannot be"
    ):
        resumed(run)
    for iteration in run.checkpoints():
        run.checkpoint_path(iteration).unlink()
    with pytest.raises(RunError, match="has no checkpoint; its training ended before the first was written"):
        resumed(run)
    assert run.metrics_path.read_bytes() == before


# --- overrides and budget ---------------------------------------------------------------------------------------------


def test_overrides_that_the_trajectory_so_far_depends_on(run: Run) -> None:
    for text in ("policy.agent.gamma=0.5", "trainer.num_envs=8", "trainer.seed=3", "saving.directory=x", "env.x=1"):
        key = text.partition("=")[0]
        with pytest.raises(ConfigError, match=rf"^command line, {text}: a run that is resumed keeps its {key}; only"):
            resumed_config(run, [text])
    with pytest.raises(ConfigError, match="override 'fast': expected key=value"):
        resumed_config(run, ["fast"])
    with pytest.raises(ConfigError, match=r"saving.log_every is 0, expected at least 1"):
        resumed_config(run, ["saving.log_every=0"])


def test_a_longer_budget(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--resume", str(run.path), "trainer.total_env_steps=320", "saving.checkpoint_every=5"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith(f"continuing {run.path} from 96 of 320 env steps\n")
    assert "the budget changes from 192 to 320 env steps: schedules such as anneal_lr follow the new one" in err
    again = Run.open(run.path)
    assert again.config.trainer.total_env_steps == 320
    assert again.checkpoints() == [0, 1, 2, 3, 5, 10]
    assert iterations(run.metrics_path) == list(range(1, 11))
    rates = [json.loads(line)["charts/agent/learning_rate"] for line in run.metrics_path.read_text().splitlines()]
    assert rates[3] == pytest.approx(rates[0] * (1 - 3 / 10))
    sessions = json.loads((run.path / "machine.json").read_text())
    assert [session["from_env_steps"] for session in sessions] == [96]  # the library alone writes none
    assert sessions[0]["device"] == str(Trainer(again.config).world.device)
    assert sessions[0]["torch"] == metadata.version("torch")  # torch.__version__ may name its build as well


def test_another_device_precision_or_thread_count_is_warned_about(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    resumed_config(run, ["trainer.torch_threads=2", "trainer.device=auto", "trainer.precision=bf16"])
    for key in ("torch_threads", "device", "precision"):
        assert f"with another trainer.{key} the run continues, but not bit for bit as it would have" in caplog.text
    caplog.clear()
    resumed_config(run, ["trainer.num_workers=2", "trainer.envs_per_warp=2", "saving.keep_checkpoints=2"])
    assert caplog.text == ""


@pytest.mark.long
def test_a_finished_run_says_how_to_go_on(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--resume", str(run.path)]) == 0
    before = run.metrics_path.read_bytes()
    capsys.readouterr()
    assert main(["train", "--resume", str(run.path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"run '{run.path}' is finished: it has done its 192 env steps. To train on, give it more:",
        f"warpworld train --resume {run.path} trainer.total_env_steps=384",
    ]
    assert main(["train", "--resume", str(run.path), "trainer.total_env_steps=128"]) == 2
    assert "trainer.total_env_steps is 128, but run" in capsys.readouterr().err
    assert Run.open(run.path).config.trainer.total_env_steps == 192
    assert run.metrics_path.read_bytes() == before


def test_a_budget_that_is_too_small_leaves_the_folder_as_it_was(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.checkpoint_path(3).write_bytes(b"")  # a resumed run would set it aside, and cut the metrics back to the second
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file() and path.name != ".lock"}
    assert main(["train", "--resume", str(run.path), "trainer.total_env_steps=32"]) == 2
    assert "trainer.total_env_steps is 32, but run" in capsys.readouterr().err
    after = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file() and path.name != ".lock"}
    assert after == before


def test_the_config_is_read_when_the_folder_is_locked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then another process may rewrite it."""
    lock = Run.lock

    def lock_at_last(self: Run) -> None:
        self.rewrite_config(changed(self.config, "trainer", total_env_steps=128))
        lock(self)

    monkeypatch.setattr(Run, "lock", lock_at_last)
    assert main(["train", "--resume", str(run.path)]) == 0
    assert iterations(run.metrics_path) == [1, 2, 3, 4]


def test_stopping_where_the_run_already_is(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--resume", str(run.path), "--stop-at", "50"]) == 0
    assert "stopped after 96 env steps" in capsys.readouterr().out
    assert run.checkpoints() == [0, 1, 2, 3]


def test_resuming_what_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--resume", str(tmp_path / "nowhere")]) == 2
    assert "does not exist, expected a run folder" in capsys.readouterr().err
