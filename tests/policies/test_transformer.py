"""The transformer's attention against torch's own layers over an episode's whole history, in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from warpworld.config import ModelConfig
from warpworld.policies import Transformer
from warpworld.policies.layers import make_cell
from warpworld.policies.layers.transformer import TransformerLayer

WIDTH, SIZE, HEADS, WINDOW, STEPS, AGENTS = 5, 8, 2, 4, 13, 6


def cell_of(layers: int = 2, window: int = WINDOW, size: int = SIZE, heads: int = HEADS) -> Transformer:
    torch.manual_seed(0)
    settings = {"recurrent_size": size, "recurrent_layers": layers, "recurrent_heads": heads}
    cell = make_cell(ModelConfig(recurrent="transformer", recurrent_window=window, **settings), WIDTH)
    assert isinstance(cell, Transformer)
    for parameter in cell.parameters():
        nn.init.normal_(parameter, std=0.5)  # biases of distances too
    return cell.double()


class History:
    """A layer by ``nn.MultiheadAttention``, of one step, from all that it read in the episode so far."""

    def __init__(self, layer: TransformerLayer) -> None:
        self.layer = layer
        self.attention = nn.MultiheadAttention(SIZE, HEADS, batch_first=True).double()
        self.read: list[Tensor] = []
        with torch.no_grad():
            parts = (layer.queries, layer.keys, layer.values)
            self.attention.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
            self.attention.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
            self.attention.out_proj.weight.copy_(layer.joined.weight)
            self.attention.out_proj.bias.copy_(layer.joined.bias)

    def step(self, hidden: Tensor, window: int) -> Tensor:
        """(SIZE,) -> (SIZE,)."""
        self.read.append(hidden)
        recent = torch.stack(self.read[-window:])
        seen = nn.functional.layer_norm(
            recent, (SIZE,), self.layer.before_attention.weight, self.layer.before_attention.bias
        )
        distances = torch.arange(len(recent) - 1, -1, -1)
        bias = self.layer.bias[:, distances].unsqueeze(1)
        found = self.attention(seen[-1:][None], seen[None], seen[None], attn_mask=bias, need_weights=False)[0][0, 0]
        hidden = hidden + found
        inner = self.layer.wide(self.layer.before_perceptron(hidden)).relu()
        return hidden + self.layer.narrow(inner)


def by_history(cell: Transformer, encoded: Tensor, starts: Tensor, window: int) -> Tensor:
    """(steps, AGENTS, SIZE), each agent alone and its past kept whole."""
    found = []
    for agent in range(encoded.shape[1]):
        layers, outputs = [History(layer) for layer in cell.layers], []  # type: ignore[arg-type]
        for seen, begins in zip(encoded[:, agent], starts[:, agent], strict=True):
            hidden = cell.first(seen)
            for layer in layers:
                layer.read = [] if begins else layer.read
                hidden = layer.step(hidden, window)
            outputs.append(cell.last(hidden))
        found.append(torch.stack(outputs))
    return torch.stack(found, 1)


def walked(steps: int = STEPS) -> tuple[Tensor, Tensor]:
    """Observations, and flags of beginnings: none, at once, in succession, and at random."""
    random = torch.Generator().manual_seed(1)
    starts = torch.rand(steps, AGENTS, generator=random) < 0.2
    starts[:, 0] = False
    starts[:, 1] = torch.arange(steps).eq(5) | torch.arange(steps).eq(6)
    return torch.randn(steps, AGENTS, WIDTH, generator=random, dtype=torch.float64), starts


def by_steps(cell: Transformer, encoded: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    hidden = []
    for seen, begins in zip(encoded, starts, strict=True):
        said, state = cell.step(seen, state.masked_fill(begins[:, None], 0.0))
        hidden.append(said)
    return torch.stack(hidden), state


@pytest.mark.parametrize("window", [2, WINDOW, 40])
@pytest.mark.parametrize("layers", [1, 2])
def test_steps_and_sequences_are_attention_over_the_history(layers: int, window: int) -> None:
    cell, (encoded, starts) = cell_of(layers, window), walked()
    expected = by_history(cell, encoded, starts, window)
    empty = torch.zeros(AGENTS, cell.state_size, dtype=torch.float64)
    torch.testing.assert_close(by_steps(cell, encoded, empty, starts)[0], expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(cell.unroll(encoded, empty, starts)[0], expected, rtol=0, atol=1e-12)
    for cut in (1, 3, 7):  # a rollout goes on where the last one ended
        first, state = cell.unroll(encoded[:cut], empty, starts[:cut])
        second, after = cell.unroll(encoded[cut:], state, starts[cut:])
        torch.testing.assert_close(torch.cat((first, second)), expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(after, by_steps(cell, encoded, empty, starts)[1], rtol=0, atol=1e-12)


def test_gradients_are_those_of_the_history() -> None:
    cell, (encoded, starts) = cell_of(), walked()
    weights = torch.randn(STEPS, AGENTS, SIZE, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    empty = torch.zeros(AGENTS, cell.state_size, dtype=torch.float64)

    def gradient(hidden: Tensor, parameters: list[nn.Parameter]) -> list[Tensor]:
        return list(torch.autograd.grad((hidden * weights).sum(), parameters))

    # torch's attention has copies of these weights, so that their gradients are not among the parameters'
    copied = ("queries", "keys", "values", "joined")
    shared = [value for name, value in cell.named_parameters() if not any(part in name for part in copied)]
    expected = gradient(by_history(cell, encoded, starts, WINDOW), shared)
    found = gradient(cell.unroll(encoded, empty, starts)[0], shared)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-11)
    every = list(cell.parameters())
    by_sequence, one_by_one = (
        gradient(unroll(encoded, empty, starts)[0], every)
        for unroll in (cell.unroll, lambda *read: by_steps(cell, *read))
    )
    torch.testing.assert_close(by_sequence, one_by_one, rtol=0, atol=1e-11)


def test_nothing_beyond_the_window_or_before_the_episode_has_an_influence() -> None:
    cell, (encoded, starts) = cell_of(layers=1), walked()
    empty = torch.zeros(AGENTS, cell.state_size, dtype=torch.float64)
    before = cell.unroll(encoded, empty, starts)[0]
    encoded[3] += 1.0
    moved = (cell.unroll(encoded, empty, starts)[0] - before).abs().amax(-1) > 1e-6
    assert moved[:, 0].nonzero().squeeze(1).tolist() == [3, 4, 5, 6]
    assert moved[:, 1].nonzero().squeeze(1).tolist() == [3, 4]  # its next episode begins with step 5


def test_the_state_is_as_large_as_what_it_holds() -> None:
    cell = cell_of(layers=2, window=4)
    assert cell.state_size == 1 + 2 * 3 * SIZE and cell.size == SIZE
    encoded = walked()[0]
    state = torch.zeros(AGENTS, cell.state_size, dtype=torch.float64)
    for t in range(6):
        state = cell.step(encoded[t], state)[1]
        assert state[:, 0].tolist() == [min(t + 1, 3)] * AGENTS
