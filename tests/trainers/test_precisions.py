"""Devices that multiply in bfloat16 or TF32, and runs that ask others to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import torch

from warpworld.cli.main import main
from warpworld.config import RunConfig, config_from_dict
from warpworld.environment import get_environment
from warpworld.errors import ConfigError, DeviceError
from warpworld.managers import products as found_products
from warpworld.managers.products import describe_products, products_of
from warpworld.trainers import precisions, trainer
from warpworld.trainers.precisions import check_precision

pytestmark = pytest.mark.cpu_backend


def asking(precision: str = "bf16", device: str = "cpu") -> RunConfig:
    """A run's configuration."""
    trainer = {"num_envs": 1, "num_steps": 4, "total_env_steps": 4, "device": device, "precision": precision}
    return config_from_dict({"name": "cartpole", "trainer": trainer, "policy": {"agent": {}}})


def has_flags(flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processor have these flags."""
    monkeypatch.setattr(found_products, "processor", lambda: f"flags\t\t: fpu sse2 {flags}\nmodel name\t: bf16 in name")


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ("avx512_bf16 avx512f", "avx512_bf16"),
        ("amx_bf16 avx512_bf16", "avx512_bf16 and amx_bf16"),
        ("asimd bf16", "bf16"),
    ],
)
def test_processors_that_multiply_in_bfloat16(flags: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    has_flags(flags, monkeypatch)
    assert products_of(torch.device("cpu"), "bf16") == (True, found)
    assert describe_products("bf16").startswith(f"on cpu, {found}")
    check_precision(asking())


@pytest.mark.long
def test_another_processor_is_refused_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def built(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a world was built")

    has_flags("avx512f xbf16 avx512_bf16x", monkeypatch)
    monkeypatch.setattr(precisions, "processor_name", lambda: "Old 100")
    monkeypatch.setattr(trainer, "build_world", built)
    assert describe_products("bf16") == "not on cpu, none of avx512_bf16, amx_bf16, bf16 is among its flags"
    assert main(["train", "cartpole", "trainer.device=cpu", "trainer.precision=bf16"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "error: trainer.precision is bf16, but the processor, Old 100, has no products of bfloat16: none of "
        "avx512_bf16, amx_bf16, bf16 is among its flags; set it to float32"
    )
    check_precision(asking("float32"))


@pytest.mark.parametrize(("precision", "products"), [("bf16", "bfloat16"), ("tf32", "TF32")])
@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (9, 0)])
def test_a_gpu_multiplies_in_them_from_ampere_on(
    capability: tuple[int, int], precision: str, products: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = asking(precision)
    opened = SimpleNamespace(device=torch.device("cuda", 0))
    monkeypatch.setattr(precisions, "open_backend", lambda name: opened)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Tesla T4")
    if capability >= (8, 0):
        check_precision(settings)
        return
    with pytest.raises(ConfigError) as refused:
        check_precision(settings)
    assert str(refused.value) == (
        f"trainer.precision is {precision}, but the GPU, Tesla T4, has no products of {products}: compute "
        "capability 7.5, expected at least 8.0; set it to float32"
    )


def test_a_processor_has_no_products_of_tf32(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_flags("avx512_bf16 amx_bf16", monkeypatch)
    monkeypatch.setattr(precisions, "processor_name", lambda: "New 100")
    assert main(["train", "cartpole", "trainer.device=cpu", "trainer.precision=tf32"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "error: trainer.precision is tf32, but the processor, New 100, has no products of TF32: only GPUs have them; "
        "set it to float32"
    )


def test_a_world_of_the_cpu_alone_does_not_ask_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    has_flags("avx512_bf16", monkeypatch)
    asked: list[str] = []

    def opened(device: str) -> SimpleNamespace:
        asked.append(device)
        return SimpleNamespace(device=torch.device("cpu"))

    monkeypatch.setattr(precisions, "open_backend", opened)
    monkeypatch.setattr(get_environment("cartpole"), "devices", ("cpu",))
    check_precision(asking(device="auto"))
    assert asked == ["cpu"]
    with pytest.raises(DeviceError, match=r"environment 'cartpole' is C\+\+ that only a CPU can run"):
        check_precision(asking(device="cuda"))


def test_another_precision_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "cartpole", "trainer.precision=fp16"]) == 2
    assert "trainer.precision is 'fp16', expected 'float32', 'tf32' or 'bf16'" in capsys.readouterr().err
