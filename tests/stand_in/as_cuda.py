"""Host memory that says it is a GPU's, so that `pytest --stand-in --device cuda` finds what mixes devices up.

Tensors of the store say that they are on cuda:0, and so does all that is computed from them or made on that device.
What would fail on a GPU fails here too: NumPy's view of such a tensor, a sum with a tensor of the CPU's, a draw by a
generator of the CPU's. To torch's own C++ they are plain tensors on the host, so gradients are computed as on any CPU.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from tests.stand_in.gpu_random import RANDOM
from tests.stand_in.streams import STREAMS

CUDA = torch.device("cuda", 0)

# Take tensors of both devices, or no more than a tensor's shape or dtype.
ACROSS_DEVICES = {
    *("copy_", "__deepcopy__", "tensor", "as_tensor", "broadcast_tensors", "is_same_size", "result_type"),
    *("expand_as", "reshape_as", "type_as", "view_as"),
}
# Take no number of the CPU's beside tensors of a GPU, as sums and the like do.
OF_ONE_DEVICE = {"cat", "concat", "dot", "equal", "gather", "hstack", "index_add_", "index_copy_", "index_select"}
OF_ONE_DEVICE |= {"scatter_", "scatter_add_", "stack", "vstack"}
TO_LIST = torch.Tensor.tolist
# CUDA's kernels of indexing know no unsigned integers of more than a byte.
NOT_INDEXED = {torch.uint16, torch.uint32, torch.uint64}


class OnGpu(torch.Tensor):
    """A tensor on the host that says it is on cuda:0."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return call(func, args, kwargs or {})


class MadeOnGpu(TorchFunctionMode):
    """What is made on, or moved to, a CUDA device is an OnGpu."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return call(func, args, kwargs or {})


class Generator(torch.Generator):
    """A generator of torch's; it says that it is on cuda:0 if it is made there."""

    on_gpu: bool

    def __new__(cls, device: torch.device | str = "cpu") -> Generator:
        on_gpu = is_gpu(device)
        made = super().__new__(cls, "cpu" if on_gpu else device)
        made.on_gpu = on_gpu
        return made

    def __init__(self, device: torch.device | str = "cpu") -> None:
        super().__init__()

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return CUDA if self.on_gpu else super().device


def make_on_gpu() -> None:
    """For the whole process."""
    torch.__future__.set_overwrite_module_params_on_conversion(True)  # else a module keeps its parameters' objects
    torch.Generator = Generator  # type: ignore[misc]
    torch.cuda.manual_seed_all = RANDOM.seed  # which torch.manual_seed calls
    MadeOnGpu().__enter__()


def is_gpu(device: Any) -> bool:
    return torch.device(device).type == "cuda"


def call(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a function of torch's as if it ran on a GPU.

    Raises:
        RuntimeError: it is given what is on several devices.
        TypeError: it would hand a GPU's memory to NumPy.
    """
    if isinstance(func, torch._ops.OpOverload):  # below what a program calls, such as a graph that is replayed
        return plainly(func, args, kwargs)
    if func is torch.Tensor.tolist:  # which may be one that counts its calls, and has just counted this one
        return plainly(TO_LIST, args, kwargs)
    if func in SPECIAL:
        return SPECIAL[func](*args, **kwargs)
    given = tensors((*args, *kwargs.values()))
    check_devices(func, given)
    asked = kwargs.get("device")
    if asked is not None and is_gpu(asked):
        kwargs = {**kwargs, "device": "cpu"}
    deciding = args[:1] if func is torch.tensor else given
    on_gpu = any(map(is_on_gpu, deciding)) if asked is None else is_gpu(asked)
    check_generator(func, args, kwargs, on_gpu)
    with RANDOM.drawing_for(func) if on_gpu else nullcontext():
        made = plainly(func, args, kwargs)
    return placed(made, on_gpu, given)


def plainly(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What torch's CPU makes of it, or will make of it where the stream lags."""
    with torch._C.DisableTorchFunctionSubclass():
        if not STREAMS.lags or not any(map(is_on_gpu, tensors((*args, *kwargs.values())))):
            return func(*args, **kwargs)
        if func is TO_LIST:
            STREAMS.read()
            return func(*args, **kwargs)
        if func is torch.Tensor.copy_:
            target, source, *others = args
            if not isinstance(target, OnGpu):
                STREAMS.read()
                return func(*args, **kwargs)
            args = target, source if isinstance(source, OnGpu) else source.clone(), *others
        return STREAMS.call(func, args, kwargs)


@functools.cache
def is_kind(kind: type, wanted: type | tuple[type, ...]) -> bool:
    """``issubclass``, which takes long for classes of torch's."""
    return issubclass(kind, wanted)


def is_on_gpu(value: Any) -> bool:
    """Whether it is a tensor on the GPU."""
    return is_kind(type(value), OnGpu)


def tensors(values: Iterable[Any]) -> list[torch.Tensor]:
    """All tensors in arguments and lists of them."""
    found: list[torch.Tensor] = []
    for value in values:
        kind = type(value)
        if is_kind(kind, torch.Tensor):
            found.append(value)
        elif is_kind(kind, (list, tuple)):
            found += tensors(value)
    return found


def placed(made: Any, on_gpu: bool, given: list[torch.Tensor]) -> Any:
    """What a function returned, on its device; what it returned of its arguments stays unless it was to be moved."""
    if isinstance(made, (list, tuple)):
        return type(made)(placed(each, on_gpu, given) for each in made)
    if not is_kind(type(made), torch.Tensor) or is_on_gpu(made) == on_gpu:
        return made
    if not on_gpu:
        STREAMS.read()
    if any(made is each for each in given):
        made = plainly(torch.clone, (made,), {})
    return labelled(made, OnGpu if on_gpu else torch.Tensor)


def labelled(made: torch.Tensor, kind: type[torch.Tensor]) -> torch.Tensor:
    """The same memory as a tensor of another class, in the same place of the graph of gradients."""
    with torch._C.DisableTorchFunctionSubclass():
        if made.is_leaf and made._base is None:  # no view for autograd, which would not let a view be written
            return torch.Tensor._make_subclass(kind, made.detach(), made.requires_grad)
        return made.as_subclass(kind)


def mixed(func: Any) -> RuntimeError:
    return RuntimeError(f"{func}: Expected all tensors to be on the same device, but found cuda:0 and cpu!")


def check_devices(func: Any, given: list[torch.Tensor]) -> None:
    """Whether a function takes its tensors from where they are."""
    num_on_gpu = sum(map(is_on_gpu, given))
    name = getattr(func, "__name__", "")
    if num_on_gpu in (0, len(given)) or name in ACROSS_DEVICES:
        return
    is_written = name.endswith("_") and not name.endswith("__") and not isinstance(given[0], OnGpu)
    if is_written or any(
        plainly(torch.Tensor.dim, (each,), {}) or name in OF_ONE_DEVICE for each in given if not isinstance(each, OnGpu)
    ):
        raise mixed(func)


def check_generator(func: Any, args: Any, kwargs: dict[str, Any], on_gpu: bool) -> None:
    """Whether numbers are drawn by a generator of the device that they are for."""
    for each in (*args, *kwargs.values()):
        if is_kind(type(each), Generator) and is_gpu(each.device) != on_gpu:
            expected = CUDA.type if on_gpu else "cpu"
            raise RuntimeError(f"{func}: Expected a '{expected}' device type for generator but found '{each.device}'")


# --- functions that are about devices ---------------------------------------------------------------------------------


def moved(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """``Tensor.to``."""
    device = kwargs.pop("device", None)
    if args and isinstance(args[0], (str, torch.device, int)):
        device, args = args[0], args[1:]
    elif args and isinstance(args[0], torch.Tensor):
        device, args = args[0].device, (args[0].dtype, *args[1:])
    on_gpu = isinstance(tensor, OnGpu) if device is None else is_gpu(device)
    where = "cpu" if on_gpu or device is None else device
    done = plainly(torch.Tensor.to, (tensor, where, *args), kwargs)
    return placed(done, on_gpu, [tensor])


def indexed(tensor: torch.Tensor, index: Any) -> torch.Tensor:
    """``tensor[index]``; an index may be on the CPU, but none on a GPU is taken for a tensor on the CPU."""
    check_index(tensor, index)
    return placed(plainly(torch.Tensor.__getitem__, (tensor, index), {}), isinstance(tensor, OnGpu), [tensor])


def written(tensor: torch.Tensor, index: Any, value: Any) -> None:
    """``tensor[index] = value``; by slices it is a copy, which may come from the other device."""
    by_tensors = check_index(tensor, index)
    is_strange = isinstance(value, torch.Tensor) and isinstance(value, OnGpu) != isinstance(tensor, OnGpu)
    if by_tensors and is_strange and plainly(torch.Tensor.dim, (value,), {}):
        raise mixed(torch.Tensor.__setitem__)
    plainly(torch.Tensor.__setitem__, (tensor, index, value), {})


def check_index(tensor: torch.Tensor, index: Any) -> bool:
    """Whether it is an index by tensors or by lists, as a kernel of its own; it is one that the tensor takes."""
    entries = index if isinstance(index, tuple) else (index,)
    by = [each for each in tensors(entries) if plainly(torch.Tensor.dim, (each,), {})]
    if not isinstance(tensor, OnGpu):
        if any(isinstance(each, OnGpu) for each in by):
            raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
        return bool(by)
    is_advanced = bool(by) or any(isinstance(each, list) for each in entries)
    if is_advanced and tensor.dtype in NOT_INDEXED:
        raise NotImplementedError(f"\"index_cuda\" not implemented for '{tensor.dtype}'")
    return is_advanced


def as_array(read: Any) -> Callable[..., Any]:
    """``Tensor.numpy``, or what NumPy calls."""

    def read_host(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if isinstance(tensor, OnGpu):
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first")
        return plainly(read, (tensor, *args), kwargs)

    return read_host


def copied(tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    """``copy.deepcopy``; a parameter stays one."""
    if not isinstance(tensor, OnGpu):
        return plainly(torch.Tensor.__deepcopy__, (tensor, memo), {})
    STREAMS.read()
    if id(tensor) not in memo:
        made = labelled(plainly(torch.Tensor.detach, (tensor,), {}).clone(), OnGpu)
        made.requires_grad_(tensor.requires_grad)
        made.__dict__.update(copy.deepcopy(tensor.__dict__, memo))
        memo[id(tensor)] = made
    return memo[id(tensor)]


def is_replaceable(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a module, moved, keeps a parameter's object and replaces its memory."""
    return isinstance(one, OnGpu) == isinstance(other, OnGpu)


def reduced(tensor: torch.Tensor, protocol: int) -> Any:
    """What is pickled, as a tensor of the CPU's."""
    STREAMS.read()
    plain = labelled(tensor, torch.Tensor) if isinstance(tensor, OnGpu) else tensor
    return plainly(torch.Tensor.__reduce_ex__, (plain, protocol), {})


SPECIAL: dict[Any, Callable[..., Any]] = {
    torch.Tensor.to: moved,
    torch.Tensor.cpu: lambda tensor, **kwargs: moved(tensor, "cpu", **kwargs),
    torch.Tensor.cuda: lambda tensor, device=CUDA, **kwargs: moved(tensor, CUDA, **kwargs),
    torch.Tensor.__getitem__: indexed,
    torch.Tensor.__setitem__: written,
    torch.Tensor.numpy: as_array(torch.Tensor.numpy),
    torch.Tensor.__array__: as_array(torch.Tensor.__array__),
    torch.Tensor.__deepcopy__: copied,
    torch.Tensor.__reduce_ex__: reduced,
    torch._has_compatible_shallow_copy_type: is_replaceable,
}


def of_device(get: Any, on_gpu: Any) -> Callable[[torch.Tensor], Any]:
    """A property of tensors that a GPU's have another value of."""
    return lambda tensor, *_: on_gpu if isinstance(tensor, OnGpu) else plainly(get, (tensor,), {})


for get, of_gpu in (
    (torch.Tensor.device.__get__, CUDA),
    (torch.Tensor.is_cuda.__get__, True),
    (torch.Tensor.is_cpu.__get__, False),
    (torch.Tensor.get_device, 0),
):
    SPECIAL[get] = of_device(get, of_gpu)
