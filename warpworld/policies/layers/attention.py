"""An encoder that attends to lists of entities: the policy architecture of Baker et al. 2020 (arXiv 1909.07528)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from warpworld.environment import EntityList
from warpworld.policies.layers.dense import HIDDEN_GAIN, hidden_layers, linear
from warpworld.policies.layers.precision import widened

IS_THERE = 0.5  # a mask above this is an entity that is there


class EntityEncoder(nn.Module):
    """Embeds the agent and each entity, lets them attend to each other, and takes the mean of those that are there.

    As in the paper's appendix B: each row is embedded together with the agent's own numbers, by weights of its kind;
    one block of self-attention over the agent and all entities, with a residual connection and a layer normalisation;
    a masked mean; layers over that mean and the agent's embedding. Rows of a list in another order, and whatever
    stands in rows that are not there, leave the outputs as they are.

    Attributes:
        lists: see ``EntityList``.
        own: numbers of the observation that are in no list, (n,) int64.
    """

    own: Tensor

    def __init__(
        self,
        size: int,
        lists: Sequence[EntityList],
        width: int,
        heads: int,
        hidden_sizes: Sequence[int],
        activation: str,
    ) -> None:
        """Build all layers on the CPU in float32, from torch's global generator.

        Args:
            size: numbers in an observation.
            lists: see above.
            width: of embeddings.
            heads: of the attention; a divisor of ``width``.
            hidden_sizes: width of each layer behind the mean; may be empty.
            activation: behind each of these: "tanh" or "relu".
        """
        super().__init__()
        self.lists, self.heads = tuple(lists), heads
        listed = {number for each in lists for number in range(each.first, each.end)}
        own = [number for number in range(size) if number not in listed]
        self.register_buffer("own", torch.tensor(own, dtype=torch.int64), persistent=False)
        self.agent = linear(len(own), width * (1 + len(lists)), HIDDEN_GAIN)
        self.entities = nn.ModuleList(linear(each.features, width, HIDDEN_GAIN) for each in lists)
        self.attended, self.joined = linear(width, 3 * width, 1.0), linear(width, width, 1.0)
        self.after_attention = nn.LayerNorm(width)
        self.layers = hidden_layers((2 * width, *hidden_sizes), activation)

    def forward(self, observations: Tensor) -> Tensor:
        """(..., size) float32 -> (..., the last of ``hidden_sizes``, or twice the width)."""
        rows = observations.reshape(-1, observations.shape[-1])
        embedded, there = self._embedded(rows)
        attended = self.after_attention(widened(embedded) + widened(self._attention(embedded, there)))
        share = there.to(attended.dtype).unsqueeze(-1)
        mean = (attended * share).sum(1) / share.sum(1)
        said = self.layers(torch.cat((widened(embedded[:, 0]), mean), -1))
        return said.view(*observations.shape[:-1], -1)

    def _embedded(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The agent and all entities (rows, 1 + entities, width), and which of them are there (rows, 1 + entities)."""
        agent, *of_kinds = self.agent(rows[:, self.own]).chunk(1 + len(self.lists), -1)
        found, there = [agent.unsqueeze(1)], [torch.ones_like(rows[:, :1], dtype=torch.bool)]
        for each, layer, base in zip(self.lists, self.entities, of_kinds, strict=True):
            features = rows[:, each.first : each.end].unflatten(1, (each.rows, each.features))
            found.append(layer(features) + base.unsqueeze(1))
            flags = features[..., 0] if each.mask is None else features[..., each.mask]
            there.append(torch.ones_like(flags, dtype=torch.bool) if each.mask is None else flags > IS_THERE)
        return torch.cat(found, 1).relu(), torch.cat(there, 1)

    def _attention(self, embedded: Tensor, there: Tensor) -> Tensor:
        """Attend from each row to the rows that are there: (rows, 1 + entities, width)."""
        parts = self.attended(embedded).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        queries, keys, values = parts.unbind(0)
        read = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=there[:, None, None])
        return self.joined(read.transpose(1, 2).flatten(2))
