"""RMSprop: the numbers of torch's own."""

from __future__ import annotations

import torch

from warpworld.trainers.algorithms.parameters.rmsprop import RMSprop


def test_of_the_steps_of_torchs() -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(50, generator=generator)
    own, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    optimisers = RMSprop(own, lr=1e-2, eps=1e-4), torch.optim.RMSprop([theirs], lr=1e-2, eps=1e-4)
    for step in range(100):
        gradient = torch.randn(50, generator=generator) * 10 ** (step % 5 - 2)
        for vector, optimiser in zip((own, theirs), optimisers, strict=True):
            vector.grad = gradient.clone()
            optimiser.step()
    torch.testing.assert_close(own, theirs, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(own, start, atol=0.1)
