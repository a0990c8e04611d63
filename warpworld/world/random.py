"""Random numbers for Python phases: the generator of warpworld/cuda/random.cuh on torch tensors.

Philox4x32-10 (Salmon et al. 2011). Torch has no unsigned 32-bit arithmetic, so words live in int64 and products are put
together from 16-bit halves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_MASK = 0xFFFFFFFF
_ROUND_0, _ROUND_1 = 0xD2511F53, 0xCD9E8D57
_KEY_0, _KEY_1 = 0x9E3779B9, 0xBB67AE85
_SHARED_AGENT = range(0xFFFF, 0x10000)  # the agent's place in the counter for numbers that all agents of an env share


def _multiply(constant: int, word: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """High and low 32 bits of a 32 x 32 bit product."""
    low = word * (constant & 0xFFFF)
    high = word * (constant >> 16)
    middle = (low >> 16) + high
    return middle >> 16, ((middle & 0xFFFF) << 16) | (low & 0xFFFF)


def philox(counter: tuple[torch.Tensor, ...], seed: int | torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Four random words for each counter.

    Args:
        counter: four int64 tensors of one shape, each word in 0 .. 2^32 - 1.
        seed: 64 bits; or int64 with those bits, one for each counter.
    """
    x, y, z, w = counter
    key_0, key_1 = seed & _MASK, seed >> 32 & _MASK
    for _ in range(10):
        high_0, low_0 = _multiply(_ROUND_0, x)
        high_1, low_1 = _multiply(_ROUND_1, z)
        x, y, z, w = high_1 ^ y ^ key_0, low_1, high_0 ^ w ^ key_1, low_0
        key_0, key_1 = key_0 + _KEY_0 & _MASK, key_1 + _KEY_1 & _MASK
    return x, y, z, w


class Random:
    """Random numbers of one phase of one world; the same as a kernel in this position would draw.

    Agents have numbers of their own (``bits``, ``uniform``, ``below``, ``normal``, as ``Random::agent()``) and numbers
    that all agents of an env share (``env_bits`` and so on, as ``Random::env()``). Each call continues where the last
    one ended; the world restarts them before every run of the phase.

    Args:
        clock: (num_envs,) uint64, the world's.
        key: (num_envs,) uint64, the world's ``random_key``.
        stream: (num_envs,) uint32, the world's ``random_stream``.
        num_agents: agents of an env.
        index: the phase's place among the world's phases and resets.
    """

    def __init__(
        self, clock: torch.Tensor, key: torch.Tensor, stream: torch.Tensor, num_agents: int, index: int
    ) -> None:
        self._clock, self._key, self._stream, self._index = clock, key, stream, index
        self._agents = range(num_agents)
        self._drawn = {self._agents: 0, _SHARED_AGENT: 0}

    def restart(self) -> None:
        """Begin again with the first numbers of the phase."""
        self._drawn = dict.fromkeys(self._drawn, 0)

    def _words(self, agents: range, count: int) -> torch.Tensor:
        """The next ``count`` words of each agent: (num_envs, len(agents), count)."""
        import torch

        # words that are drawn next, in blocks of four
        start = self._drawn[agents]
        self._drawn[agents] = end = start + count
        # counters of the blocks, and the key
        device = self._clock.device
        clock = self._clock.view(torch.int64)
        blocks = torch.arange(start // 4, -(-end // 4), device=device) + (self._index << 28)
        stream = self._stream.view(torch.int32).long() & _MASK
        key = self._key.view(torch.int64)
        agent = torch.arange(agents.start, agents.stop, device=device)
        shape = (clock.shape[0], agent.shape[0], blocks.shape[0])
        words = philox(
            (
                blocks.expand(shape),
                stream[:, None, None].expand(shape),
                (clock & _MASK)[:, None, None].expand(shape),
                (agent[None, :, None] | (clock >> 32 & 0xFFFF)[:, None, None] << 16).expand(shape),
            ),
            key[:, None, None],
        )
        # leave out words that were drawn before
        skipped = start % 4
        return torch.stack(words, -1).flatten(-2)[..., skipped : skipped + count]

    def bits(self, count: int = 1) -> torch.Tensor:
        """Draw words for each agent: (num_envs, num_agents, count) int64 in 0 .. 2^32 - 1."""
        return self._words(self._agents, count)

    def uniform(self, count: int = 1) -> torch.Tensor:
        """Draw numbers in [0, 1) for each agent: (num_envs, num_agents, count) float32."""
        return _uniform(self.bits(count))

    def below(self, n: int, count: int = 1) -> torch.Tensor:
        """Draw whole numbers in 0 .. n - 1 for each agent, n up to 2^32 - 1: (num_envs, num_agents, count) int64."""
        return _multiply(n, self.bits(count))[0]

    def normal(self, count: int = 1) -> torch.Tensor:
        """Draw standard normal numbers for each agent, each of two words: (num_envs, num_agents, count) float32.

        Equal to a kernel's up to the math library's rounding.
        """
        return _normal(self.uniform(2 * count))

    def env_bits(self, count: int = 1) -> torch.Tensor:
        """Words that the agents of an env share: (num_envs, count) int64 in 0 .. 2^32 - 1."""
        return self._words(_SHARED_AGENT, count)[:, 0]

    def env_uniform(self, count: int = 1) -> torch.Tensor:
        """Numbers in [0, 1) that the agents of an env share: (num_envs, count) float32."""
        return _uniform(self.env_bits(count))

    def env_below(self, n: int, count: int = 1) -> torch.Tensor:
        """Whole numbers in 0 .. n - 1 that the agents of an env share: (num_envs, count) int64."""
        return _multiply(n, self.env_bits(count))[0]

    def env_normal(self, count: int = 1) -> torch.Tensor:
        """Standard normal numbers that the agents of an env share, two draws each: (num_envs, count) float32."""
        return _normal(self.env_uniform(2 * count))


def _uniform(bits: torch.Tensor) -> torch.Tensor:
    return (bits >> 8).float() * 2.0**-24


def _normal(uniform: torch.Tensor) -> torch.Tensor:
    """Box and Muller (1958), on pairs of numbers in [0, 1)."""
    first, second = uniform.unflatten(-1, (-1, 2)).unbind(-1)
    return (-2.0 * (1.0 - first).log()).sqrt() * (second * 6.2831853071795865).cos()
