"""Gradients that lie in one vector: of a loss, or from gradients behind the parameters."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from warpworld.trainers.algorithms.parameters import FlatParameters


class Branches(nn.Module):
    """A trunk that both branches read, one that may be left out, a frozen one, and a table."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 3, sparse=sparse)
        self.trunk, self.first, self.second = (nn.Linear(3, 3) for _ in range(3))
        self.frozen = nn.Linear(3, 3).requires_grad_(False)

    def forward(self, number: Tensor) -> tuple[Tensor, Tensor]:
        seen = self.trunk(self.frozen(self.table(number)))
        return self.first(seen), self.second(seen)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_gradient_takes_the_place_of_the_one_before(sparse: bool) -> None:
    torch.manual_seed(0)
    module, numbers = Branches(sparse), torch.tensor([1, 5, 1])
    parameters = FlatParameters(module, 1e-3)
    parameters.gradient.fill_(torch.nan)

    def grads(tensors: list[Tensor], gradients: list[Tensor] | None) -> dict[str, Tensor]:
        parameters.differentiate(tensors, gradients)
        found = {name: each.grad.clone() for name, each in module.named_parameters() if each.grad is not None}
        whole = torch.cat([found[name].flatten() for name in found])
        assert parameters.gradient.nansum() == pytest.approx(float(whole.sum()), rel=1e-4)  # views of the vector still
        return found

    # of a loss of both branches, and from gradients at both
    outputs = module(numbers)
    of_loss = grads([outputs[0].square().sum() + outputs[1].sum()], None)
    outputs = module(numbers)
    from_outputs = grads(list(outputs), [2.0 * outputs[0].detach(), torch.ones_like(outputs[1])])
    assert set(of_loss) == {name for name, each in module.named_parameters() if each.requires_grad}
    assert all(each.any() for each in of_loss.values())
    for name, each in of_loss.items():
        torch.testing.assert_close(from_outputs[name], each)
    # of a loss of one: where it depends on nothing, 0
    alone = grads([module(numbers)[0].square().sum()], None)
    assert not alone["second.weight"].any() and not alone["second.bias"].any()
    torch.testing.assert_close(alone["first.weight"], of_loss["first.weight"])


def test_a_loss_without_parameters_has_no_gradient() -> None:
    parameters = FlatParameters(nn.Linear(2, 2), 1e-3)
    for part in parameters.parts:
        assert part.grad is not None
        part.grad.fill_(7.0)
    parameters.differentiate([torch.ones(())])
    assert not parameters.gradient.any()
