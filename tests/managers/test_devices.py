"""Devices by name, and a device registered from outside, on which worlds keep their promises."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import warpworld
from tests.narrow_device import NarrowBackend
from tests.toys import HEADER, IDLE, agents, environment
from warpworld import Array, World
from warpworld.cli.main import main
from warpworld.config import load_config
from warpworld.errors import ConfigError, DeviceError
from warpworld.managers import devices
from warpworld.managers.devices import describe_devices, device_names, open_backend, register_device

pytestmark = pytest.mark.cpu_backend

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def devices_as_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is not known to the next one."""
    monkeypatch.setattr(devices, "_loaders", dict(devices._loaders))


def unusable(num_workers: int | None) -> Any:
    """A loader of a device that is not there."""
    raise DeviceError("no such card in this machine; plug one in")


# ---- registering ----------------------------------------------------------------------------------------------------
def test_a_registered_device_is_opened_by_its_name() -> None:
    asked: list[int | None] = []

    def load(num_workers: int | None) -> NarrowBackend:
        asked.append(num_workers)
        return NarrowBackend(num_workers)

    register_device("narrow", load)
    assert device_names() == ("auto", "cpu", "cuda", "narrow")
    assert asked == []  # nothing is opened before a world is made
    world = warpworld.make("tag_gridworld", num_envs=5, device="narrow", num_workers=2)
    assert isinstance(world._backend, NarrowBackend)
    assert asked == [2]


def test_a_later_device_of_a_name_replaces_the_earlier_one() -> None:
    register_device("mine", unusable)
    register_device("mine", NarrowBackend)
    assert isinstance(open_backend("mine"), NarrowBackend)


@pytest.mark.parametrize("name", ["", "two words", "a-b", "module:load", "auto", 3, None])
def test_names_that_no_device_can_have(name: Any) -> None:
    message = f"device name {name!r}: expected letters, digits and underscores, and not 'auto'"
    with pytest.raises(DeviceError, match=re.escape(message)):
        register_device(name, NarrowBackend)
    assert device_names() == ("auto", "cpu", "cuda")


def test_a_loader_that_cannot_be_called() -> None:
    with pytest.raises(DeviceError, match=r"device 'mine': the loader is 'narrow', expected a function that returns a"):
        register_device("mine", "narrow")  # type: ignore[arg-type]


# ---- choosing -------------------------------------------------------------------------------------------------------
def test_a_device_that_is_not_there_says_why() -> None:
    register_device("mine", unusable)
    with pytest.raises(DeviceError, match=r"^device 'mine' cannot be used: no such card in this machine; plug one in$"):
        open_backend("mine")


@pytest.mark.parametrize(
    ("device", "hint"), [("narow", " Did you mean 'narrow'?"), ("tpu9000", ""), (None, ""), (["x9"], "")]
)
def test_unknown_devices(device: Any, hint: str) -> None:
    register_device("narrow", NarrowBackend)
    message = f"device {device!r}: expected one of auto, cpu, cuda, narrow.{hint}"
    with pytest.raises(DeviceError, match=f"^{re.escape(message)}$"):
        open_backend(device)


def test_auto_takes_cuda_then_cpu_and_no_device_of_one_s_own(caplog: pytest.LogCaptureFixture) -> None:
    register_device("mine", NarrowBackend)
    register_device("cuda", unusable)
    with caplog.at_level(logging.INFO, logger="warpworld"):
        assert open_backend().name == "cpu"
    assert caplog.messages == ["device auto: cpu, since no such card in this machine"]
    register_device("cuda", NarrowBackend)
    assert open_backend().name == "narrow"
    register_device("cuda", unusable)
    register_device("cpu", unusable)
    with pytest.raises(DeviceError, match="device 'cpu' cannot be used: no such card"):
        open_backend("auto")


def test_every_device_is_described_and_that_of_auto_first() -> None:
    register_device("cuda", unusable)
    register_device("narrow", NarrowBackend)
    auto, narrow, cuda = describe_devices()
    assert re.fullmatch(r"device auto: cpu \(\d+ cores\)", auto)
    assert narrow == "device narrow: narrow (warps of 16 lanes)"
    assert cuda == "device cuda: not usable, no such card in this machine; plug one in"
    register_device("cuda", NarrowBackend)
    assert describe_devices()[0] == "device auto: narrow (warps of 16 lanes)"
    register_device("cuda", unusable)
    register_device("cpu", unusable)
    assert [line.partition(":")[0] for line in describe_devices()] == ["device narrow", "device cpu", "device cuda"]


# ---- where users write names ----------------------------------------------------------------------------------------
CONFIG = """\
name: cartpole
trainer: {num_envs: 8, num_steps: 4, total_env_steps: 320, device: narrow}
policy: {agent: {algorithm: random}}
"""


def test_configs_take_registered_devices(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(CONFIG)
    with pytest.raises(ConfigError, match=r"trainer.device is 'narrow', expected 'auto', 'cpu' or 'cuda'"):
        load_config(path)
    register_device("narrow", NarrowBackend)
    assert load_config(path).trainer.device == "narrow"


def test_the_command_line_takes_registered_devices(capsys: pytest.CaptureFixture[str]) -> None:
    register_device("narrow", NarrowBackend)
    assert main(["run", "cartpole", "--steps", "3", "--device", "narrow"]) == 0
    assert "cartpole: 5 envs of 1 agent on cpu" in capsys.readouterr().out


# ---- the contract ---------------------------------------------------------------------------------------------------
def test_envs_share_the_warps_that_the_backend_has(tmp_path: Path) -> None:
    path = tmp_path / "idle.cu"
    path.write_text(IDLE)
    world = World(environment(path, groups=[agents(5)]), 7, backend=NarrowBackend())  # 6 envs to a warp of 32
    assert world._kernels.functions is not None
    step = world._kernels.functions.step("step", index=0)
    assert (step.envs_per_block, step.threads) == (3, 16)


def test_a_kernel_s_warps_are_the_backend_s(tmp_path: Path) -> None:
    path = tmp_path / "warps.cu"
    path.write_text(
        f'{HEADER}extern "C" __global__ void step(int* width, int* votes) {{\n'
        "  width[agent_index()] = warpSize;\n"
        "  votes[agent_index()] = __popc(__ballot_sync(0xFFFFFFFFu, 1));\n}\n"
        'extern "C" __global__ void reset() {}\n'
    )
    arrays = [Array("width", "int32"), Array("votes", "int32")]
    for device, lanes in (("cpu", 32), (NarrowBackend(1), 16)):
        chosen = {"device": device} if isinstance(device, str) else {"backend": device}
        world = World(environment(path, arrays, [agents(40)]), 2, **chosen)
        world.reset()
        world.step()
        assert torch.all(world["width"] == lanes)
        assert world["votes"][1].tolist() == [lanes] * (40 // lanes * lanes) + [8] * (40 % lanes)


@pytest.mark.slow
def test_worlds_keep_their_promises_on_a_device_of_one_s_own() -> None:
    """The tests of worlds and the environments' contract, with every world on the narrow device."""
    marks = "not slow and not heavy and not long"
    words = ["-q", "-p", "no:cacheprovider", "-m", marks, "--device", "narrow", "--first-cases"]
    words += ["tests/world", "tests/envs/test_contract.py"]
    chosen = "not (deathmatch or explorer or point_goal or tag_continuous or waypoint)"
    environment = {
        **os.environ,
        "WARPWORLD_KERNELFLAGS": "-O0",
    }  # which compiles in half the time what no other test has
    command = [sys.executable, "-m", "pytest", *words, "-k", chosen]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert result.returncode == 0, result.stdout[-4000:]
    passed = re.search(r"(\d+) passed", result.stdout)
    assert passed and int(passed.group(1)) > 150
