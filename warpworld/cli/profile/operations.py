"""Operations and bytes that torch's operations need."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode, mm_flop


class Operations(TorchDispatchMode):
    """Counts while it is entered: multiplications and additions of products and convolutions, and bytes of all.

    Bytes are those of the tensors that an operation reads and writes, each once; views count for nothing.

    Attributes:
        nbytes: so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.nbytes = 0
        self._products = FlopCounterMode(display=False, custom_mapping=_own_formulas())

    def __enter__(self) -> Operations:
        self._products.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._products.__exit__(*error)

    def read(self) -> tuple[float, float]:
        """Operations and bytes so far."""
        return float(self._products.get_total_flops()), float(self.nbytes)

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = operation(*args, **(kwargs or {}))
        if not any(returned.alias_info and not returned.alias_info.is_write for returned in operation._schema.returns):
            touched = [each for each in tree_leaves((args, kwargs, made)) if isinstance(each, torch.Tensor)]
            self.nbytes += sum({each.data_ptr(): each.nbytes for each in touched}.values())
        return made


def _own_formulas() -> dict[Any, Any]:
    """Formulas of a linear layer with its activation, which torch counts under no name, and of batched products.

    torch's own formula of the latter does not take the dtype of the result that some of them have as an argument.
    """

    def layer(inputs: torch.Size, weight: torch.Size, *given: Any, **named: Any) -> int:
        return mm_flop((inputs.numel() // inputs[-1], inputs[-1]), (weight[1], weight[0]))

    def with_relu(bias: torch.Size, a: torch.Size, b: torch.Size, *given: Any, **named: Any) -> int:
        return mm_flop(a, b)

    def batched(a: torch.Size, b: torch.Size, *given: Any, **named: Any) -> int:
        return a[0] * mm_flop(a[1:], b[1:])

    of_torch = {torch.ops.aten._addmm_activation: with_relu, torch.ops.aten.bmm: batched}
    fused = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    return of_torch if fused is None else {**of_torch, fused: layer}
