"""Host memory as a GPU's: what would fail on a GPU fails, and the rest is computed."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from tests.stand_in.as_cuda import CUDA, RANDOM, Generator, MadeOnGpu

pytestmark = pytest.mark.stand_in


@pytest.fixture(autouse=True)
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(torch, "Generator", Generator)
    monkeypatch.setattr(torch.cuda, "manual_seed_all", RANDOM.seed)
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
        lambda x: torch.zeros(()).add_(x.sum()),
        lambda x: torch.equal(x.sum(), torch.tensor(15.0)),
        lambda x: x.index_select(0, torch.tensor([1])),
        lambda x: x.__setitem__(x > 1, torch.ones(4)),
    ],
)
def test_devices_do_not_mix(mixed: Callable[[torch.Tensor], object], x: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        mixed(x)


def test_an_index_on_a_gpu_is_none_of_the_cpus(x: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match=r"on the same device as the indexed tensor \(cpu\)"):
        torch.ones(3)[x[0] > 1]


@pytest.mark.parametrize(
    "index", [torch.tensor([True, False]), [0, 1], torch.tensor([1])], ids=["mask", "list", "rows"]
)
def test_large_numbers_without_a_sign_are_not_indexed_by_tensors(index: torch.Tensor | list[int]) -> None:
    numbers = torch.arange(2, device="cuda:0").to(torch.uint64)
    assert numbers[1:].tolist() == [1] and numbers[0].item() == 0
    with pytest.raises(NotImplementedError, match=r"\"index_cuda\" not implemented for 'torch.uint64'"):
        numbers[index]


def test_gradients_are_on_the_gpu(x: torch.Tensor) -> None:
    layer = torch.nn.Linear(3, 2).to(x.device)
    optimizer = torch.optim.Adam(layer.parameters())
    before = copy.deepcopy(layer)
    layer(x).pow(2).mean().backward()
    assert layer.weight.grad is not None and layer.weight.grad.device == CUDA
    optimizer.step()
    assert not torch.equal(layer.weight, before.weight)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        layer.weight.grad = torch.zeros(2, 3)


def test_a_module_is_saved_as_of_the_cpu(x: torch.Tensor) -> None:
    layer = torch.nn.Linear(3, 2).to(x.device)
    torch.save(layer.state_dict(), saved := io.BytesIO())
    saved.seek(0)
    assert torch.equal(torch.load(saved)["weight"], layer.weight.detach().cpu())


@pytest.mark.parametrize(
    "draw", [torch.Tensor.normal_, torch.bernoulli, torch.rand_like], ids=lambda draw: draw.__name__
)
def test_a_gpu_draws_from_a_generator_of_its_own(draw: Callable[..., torch.Tensor]) -> None:
    def drawn(device: str) -> list[float]:
        return draw(torch.full((8,), 0.5, device=device)).tolist()

    torch.manual_seed(1)
    first = drawn("cuda"), drawn("cpu")
    torch.manual_seed(1)
    assert (drawn("cpu"), drawn("cuda")) == first[::-1]  # neither moves the other one on


def test_a_generator_draws_on_its_device_only(x: torch.Tensor) -> None:
    of_cpu, of_gpu = torch.Generator(), torch.Generator("cuda")
    assert (of_cpu.device.type, of_gpu.device) == ("cpu", CUDA)
    assert torch.rand(2, generator=of_gpu.manual_seed(1), device="cuda").device == CUDA
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        x.normal_(generator=of_cpu)
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda:0'"):
        torch.rand(2, generator=of_gpu)


def test_what_may_mix(x: torch.Tensor) -> None:
    assert (x + torch.tensor(1.0))[0].tolist() == [1.0, 2.0, 3.0]  # a number
    assert x[torch.tensor([True, False])].tolist() == [[0.0, 1.0, 2.0]]  # an index
    x.copy_(torch.ones(2, 3))
    assert torch.zeros(2, 3).copy_(x).tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("read", [lambda x: x.numpy(), np.asarray, lambda x: np.testing.assert_array_equal(x, 0)])
def test_numpy_cannot_read_them(read: Callable[[torch.Tensor], object], x: torch.Tensor) -> None:
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        read(x)
