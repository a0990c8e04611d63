"""SAC's distribution against torch's own, and as a policy's ``act`` has it."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import Independent, Normal, TanhTransform, TransformedDistribution

from warpworld.policies.distributions.squashed_gaussian import SquashedGaussian


def outputs(means: torch.Tensor, log_stds: torch.Tensor) -> torch.Tensor:
    return torch.cat((means, log_stds), -1)


def test_densities_are_those_of_torch() -> None:
    generator = torch.Generator().manual_seed(1)
    means, log_stds, normals = (torch.randn(500, 3, generator=generator, dtype=torch.float64) for _ in range(3))
    actions, log_probs = SquashedGaussian(3).draw(outputs(means, log_stds), normals)
    normal = Independent(Normal(means, log_stds.exp()), 1)
    drawn = means + log_stds.exp() * normals
    torch.testing.assert_close(actions, drawn.tanh())
    # by what was drawn: atanh of the action would lose the digits that count near the ends
    expected = normal.log_prob(drawn) - TanhTransform().log_abs_det_jacobian(drawn, actions).sum(-1)
    torch.testing.assert_close(log_probs, expected, rtol=1e-12, atol=1e-12)
    inside = actions.abs().amax(-1) < 0.999
    assert inside.sum() > 300
    of_actions = Independent(Normal(means[inside], log_stds[inside].exp()), 1)
    squashed = TransformedDistribution(of_actions, [TanhTransform()])
    torch.testing.assert_close(log_probs[inside], squashed.log_prob(actions[inside]), rtol=1e-9, atol=1e-9)


def test_densities_stay_finite_where_tanh_rounds_to_one() -> None:
    given = outputs(torch.tensor([[40.0]]), torch.tensor([[0.0]])).requires_grad_()
    action, log_prob = SquashedGaussian(1).draw(given, torch.zeros(1, 1))
    log_prob.sum().backward()
    assert action.item() == 1.0
    # log(1 - tanh(u)^2) -> 2 (log 2 - u)
    assert log_prob.item() == pytest.approx(-0.918939 - 2 * (0.693147 - 40.0), abs=1e-4)
    assert given.grad is not None
    assert given.grad.tolist() == [[pytest.approx(2.0), pytest.approx(-1.0)]]


def test_the_mean_of_densities_is_one() -> None:
    """By a sum over the Box: densities belong to actions from -1 to 1."""
    actions = torch.linspace(-1, 1, 20_002, dtype=torch.float64)[1:-1].unsqueeze(1)
    mean, log_std = torch.tensor([[0.4]], dtype=torch.float64), torch.tensor([[-0.3]], dtype=torch.float64)
    normals = (actions.atanh() - mean) / log_std.exp()
    _, log_probs = SquashedGaussian(1).draw(outputs(mean, log_std).expand(len(actions), -1), normals)
    assert (log_probs.exp().mean() * 2).item() == pytest.approx(1.0, abs=1e-3)


def test_choosing_greedily_takes_tanh_of_the_means() -> None:
    given = outputs(torch.tensor([0.5, -3.0]), torch.tensor([-0.5, -0.5]))
    distribution = SquashedGaussian(2)
    assert distribution.num_outputs == 4
    torch.testing.assert_close(distribution.choose(given, greedy=True), torch.tensor([0.5, -3.0]).tanh())
    drawn = distribution.choose(given.expand(10_000, -1), False, torch.Generator().manual_seed(2))
    assert drawn.abs().max() <= 1.0
    torch.testing.assert_close(drawn.atanh()[:, 0].std(), torch.tensor(-0.5).exp(), rtol=0.05, atol=0)
