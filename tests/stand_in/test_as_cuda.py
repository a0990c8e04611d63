"""Host memory as a GPU's: what would fail on a GPU fails, and the rest is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from tests.stand_in.as_cuda import CUDA, MadeOnGpu, install_guard

pytestmark = pytest.mark.stand_in


@pytest.fixture(autouse=True)
def on_gpu() -> Iterator[None]:
    install_guard()
    overwrites = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    with MadeOnGpu():
        yield
    torch.__future__.set_overwrite_module_params_on_conversion(overwrites)


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(6, dtype=torch.float32, device="cuda:0").view(2, 3)


def test_tensors_say_where_they_are(x: torch.Tensor) -> None:
    made = {
        "sum": x.sum(),
        "index": x[0, 1:],
        "like": torch.zeros_like(x),
        "on its device": torch.ones(3, device=x.device),
        "moved": torch.ones(3).to("cuda"),
        "layer": torch.nn.Linear(3, 2).to(x.device)(x),
        "where": torch.where(x > 1, x, 0.0),
    }
    assert {name: tensor.device for name, tensor in made.items()} == dict.fromkeys(made, CUDA)
    assert (x.is_cuda, x.cpu().device.type, torch.ones(3).device.type) == (True, "cpu", "cpu")


def test_views_are_of_one_memory(x: torch.Tensor) -> None:
    x[1] = torch.tensor([7.0, 8.0, 9.0])
    x.view(-1)[:2].mul_(10)
    assert x.tolist() == [[0.0, 10.0, 2.0], [7.0, 8.0, 9.0]]
    assert x[1].data_ptr() - x.data_ptr() == 12
    copied = x.cpu()
    copied.zero_()
    assert x.sum().item() == 36.0


@pytest.mark.parametrize(
    "mixed",
    [
        lambda x: x + torch.ones(3),
        lambda x: torch.equal(x, torch.zeros(2, 3)),
        lambda x: torch.stack([x[0, 0], torch.tensor(1.0)]),
        lambda x: torch.where(torch.ones(2, 3, dtype=torch.bool), x, x),
        lambda x: torch.nn.Linear(3, 2)(x),
        lambda x: torch.ones(3).add_(x[0]),
    ],
)
def test_devices_do_not_mix(mixed: Callable[[torch.Tensor], object], x: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        mixed(x)


def test_what_may_mix(x: torch.Tensor) -> None:
    assert (x + torch.tensor(1.0))[0].tolist() == [1.0, 2.0, 3.0]  # a number
    assert x[torch.tensor([True, False])].tolist() == [[0.0, 1.0, 2.0]]  # an index
    x.copy_(torch.ones(2, 3))
    assert torch.zeros(2, 3).copy_(x).tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("read", [lambda x: x.numpy(), np.asarray, lambda x: np.testing.assert_array_equal(x, 0)])
def test_numpy_cannot_read_them(read: Callable[[torch.Tensor], object], x: torch.Tensor) -> None:
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        read(x)
