"""What WarpDrive is asked to do is equal work; it is not needed for this."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from benchmarks.gpu.part import Context, PartialError, SkippedError


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context("cpu", quick=True, limit=60.0, path=tmp_path / "figures.json")


def test_warpdrive_is_skipped_where_it_is_missing(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.gpu import warpdrive

    monkeypatch.setattr(warpdrive, "is_installed", lambda: False)
    with pytest.raises(SkippedError, match="rl-warp-drive is not installed"):
        warpdrive.tag_gridworld(context)


@pytest.mark.parametrize("fails", [False, True])
def test_a_trainer_that_fails_is_told(fails: bool, context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import warpdrive as peer
    from benchmarks.clock import Timing
    from benchmarks.gpu import warpdrive

    def time_training(trainer: object) -> dict[str, Timing]:
        if fails:
            raise AttributeError("module 'gym' has no attribute 'Env'")
        return {column: Timing(0.5, 0.5, 0.0) for column in ("inference", "training")}

    stand_ins = {
        "prepare": lambda: [],
        "raise_heap_limit": lambda: "",
        "remember_first_observation": lambda wrapper: "",
        "_wrapped_env": lambda run: SimpleNamespace(env=None, n_agents=5),
        "_agents_of": lambda run, env: {},
        "_trainer": lambda run, wrapper, agents: None,
        "_push_placeholders": lambda run, wrapper, agents: None,
        "_time_training": time_training,
        "_time_steps": lambda wrapper, run: Timing(0.001, 0.001, 0.0),
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(peer, name, stand_in)
    for name in ("warp_drive", "warp_drive.utils", "warp_drive.utils.autoinit_pycuda"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["warp_drive.utils"].autoinit_pycuda = None  # type: ignore[attr-defined]
    monkeypatch.setattr(warpdrive, "is_installed", lambda: True)
    if not fails:
        warpdrive.tag_gridworld(context)
        assert [row["column"] for row in context.figures["rows"]] == ["inference", "simulation", "training"]
        assert "trainer fails" not in context.figures["headline"]
        return
    with pytest.raises(
        PartialError, match=r"^its trainer fails: AttributeError: module 'gym' has no attribute 'Env'; "
    ):
        warpdrive.tag_gridworld(context)
    assert [row["column"] for row in context.figures["rows"]] == ["simulation"]
    assert context.figures["headline"].endswith("; simulation 2 M env steps/s")
    assert context.figures["way"] == "its kernels alone"


def test_warpdrive_is_given_equal_work() -> None:
    from benchmarks.gpu.cases import TAG_CONTINUOUS, config_of
    from benchmarks.gpu.warpdrive import run_of

    run, ours = run_of(TAG_CONTINUOUS, iterations=8), config_of(TAG_CONTINUOUS, "cpu", iterations=8)
    theirs = run.config
    assert theirs["trainer"]["train_batch_size"] == ours.trainer.num_envs * ours.trainer.num_steps
    steps = theirs["env"]["episode_length"] * theirs["trainer"]["num_episodes"]
    assert steps // theirs["trainer"]["train_batch_size"] >= 8 + 3
    assert set(theirs["policy"]) == set(ours.policy)
    for name, policy in theirs["policy"].items():
        mine = ours.policy[name]
        assert policy["model"]["fc_dims"] == list(mine.model.settings["hidden_sizes"])
        assert mine.model.settings["activation"] == "relu" and mine.num_minibatches == 1
        assert (policy["lr"], policy["gamma"], policy["vf_loss_coeff"]) == (
            mine.learning_rate,
            mine.gamma,
            mine.vf_coef,
        )
    shared = set(theirs["env"]) - {"seed"}
    assert {name: theirs["env"][name] for name in shared} == {name: ours.env[name] for name in shared}


def test_warpdrive_finds_curand_in_nvidias_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import warpdrive_shims

    header = tmp_path / "nvidia" / "cu13" / "include" / "curand_kernel.h"
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.delenv("NVCC_APPEND_FLAGS", raising=False)
    with pytest.raises(FileNotFoundError, match="pip install nvidia-curand"):
        warpdrive_shims._curand()
    header.parent.mkdir(parents=True)
    header.touch()
    assert "NVIDIA's wheel" in warpdrive_shims._curand()
    assert os.environ["NVCC_APPEND_FLAGS"] == f"-I{header.parent}"


def test_first_observation_is_made_once() -> None:
    from benchmarks.warpdrive_shims import remember_first_observation

    class Wrapper:
        made = 0

        def obs_at_reset(self) -> np.ndarray:
            self.made += 1
            return np.zeros(3)

    wrapper = Wrapper()
    remember_first_observation(wrapper)
    assert all(wrapper.obs_at_reset().shape == (3,) for _ in range(5))
    assert wrapper.made == 1
