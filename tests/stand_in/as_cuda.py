"""Host memory that torch takes for a GPU's, so that `pytest --stand-in --device cuda` finds what mixes devices up.

Tensors of the store say that they are on cuda:0, and so does all that is computed from them: what would fail on a GPU,
such as NumPy's view of one or a sum with a tensor of the CPU's, fails here too. There is no backward pass.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from warpworld.managers.build_cache import cached, content_key
from warpworld.managers.cpu.host_compiler import find_compiler

CUDA = torch.device("cuda", 0)

# Take tensors of both devices: a copy goes from one to the other, and an index may lie on the CPU.
ACROSS_DEVICES = {"copy_", "_to_copy", "index", "index_put_", "_index_put_impl_"}
# Take no number of the CPU's beside tensors of a GPU, as sums and the like do.
OF_ONE_DEVICE = {"cat", "stack"}


def install_guard() -> None:
    """Build and load cuda_guard.cpp."""
    source, torch_folder = Path(__file__).with_name("cuda_guard.cpp"), Path(torch.__file__).parent
    compiler = find_compiler()
    words = [*compiler.command, "-std=c++20", "-shared", "-fPIC", "-w", f"-I{torch_folder}/include", str(source)]

    def build(scratch: Path, target: Path) -> None:
        subprocess.run([*words, "-o", str(target), f"-L{torch_folder}/lib", "-lc10"], check=True)

    key = content_key([*words, source.read_bytes(), torch.__version__, compiler.version])
    ctypes.CDLL(str(cached(key, ".so", build))).install_guard()


def lstm_cell(
    of_input: torch.Tensor, of_hidden: torch.Tensor, memory: torch.Tensor, *biases: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What torch runs as one kernel on a GPU only: hidden state, memory, and the gates as it keeps them for later."""
    gates = of_input + of_hidden + sum(biases)
    into, forget, cell, out = gates.chunk(4, -1)
    memory = forget.sigmoid() * memory + into.sigmoid() * cell.tanh()
    return out.sigmoid() * memory.tanh(), memory, gates


HOST_FORMS: dict[str, Callable[..., Any]] = {"_thnn_fused_lstm_cell": lstm_cell}


class OnGpu(torch.Tensor):
    """A tensor on the host that says it is on cuda:0."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls: type[OnGpu], held: torch.Tensor) -> OnGpu:
        made = torch.Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype, device=CUDA
        )
        made.held = held
        return made

    def data_ptr(self) -> int:
        return self.held.data_ptr()

    def tolist(self) -> Any:
        return self.held.tolist()

    def numpy(self, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first")

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.numpy()

    def __repr__(self, **_: Any) -> str:
        return f"{self.held!r} on {CUDA}"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name, device = func.overloadpacket.__name__, kwargs.get("device")
        on_gpu = device is None or torch.device(device).type == "cuda"
        if device is not None:
            kwargs["device"] = torch.device("cpu")
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        strangers = [each for each in tensors if not isinstance(each, OnGpu)]
        if name not in ACROSS_DEVICES and any(each.dim() or name in OF_ONE_DEVICE for each in strangers):
            raise RuntimeError(f"{func}: Expected all tensors to be on the same device, but found cuda:0 and cpu!")
        done = HOST_FORMS.get(name, func)(*tree_map(host, args), **tree_map(host, kwargs))
        if func._schema.is_mutable and name.endswith("_"):
            return args[0]
        if not on_gpu:
            return done.clone() if done is host(args[0]) else done
        return tree_map(lambda each: OnGpu(each) if isinstance(each, torch.Tensor) else each, done)


def host(value: Any) -> Any:
    return value.held if isinstance(value, OnGpu) else value


class MadeOnGpu(TorchFunctionMode):
    """What is made on, or moved to, a CUDA device is an OnGpu."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        device = kwargs.get("device")
        if func is torch.Tensor.to and len(args) > 1 and isinstance(args[1], (str, torch.device)):
            device, args, kwargs["device"] = args[1], (args[0],), args[1]
        if func in (torch.where, torch.Tensor.where):  # which would make a tensor of a number, on the device
            args = [torch.tensor(each) if isinstance(each, (bool, int, float)) else each for each in args]
        if func is torch.Tensor.cuda:
            return args[0] if isinstance(args[0], OnGpu) else OnGpu(args[0].clone())
        if device is None or torch.device(device).type != "cuda":
            return func(*args, **kwargs)
        if isinstance(args[0] if args else None, OnGpu):
            if func is torch.Tensor.to:  # it is there already
                del kwargs["device"]
            return func(*args, **kwargs) if func is not torch.Tensor.to or len(args) > 1 or kwargs else args[0]
        made = func(*args, **{**kwargs, "device": "cpu"})
        return made if isinstance(made, OnGpu) else OnGpu(made.clone() if made is (args or [None])[0] else made)


def make_on_gpu() -> None:
    """For the whole process."""
    install_guard()
    torch.__future__.set_overwrite_module_params_on_conversion(True)  # else a module keeps its parameters' objects
    MadeOnGpu().__enter__()
