"""Crypto: a secret that one listener should learn and another should not (mpe2's simple_crypto)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Discrete

from warpworld.drawing import Discs, Drawing, Text
from warpworld.environment import Array, Environment, Group, Range, register
from warpworld.envs.particles.particles import sees

WORDS, SECRETS = 4, 2
PLAYERS = ("eve", "bob", "alice")


@register("particles_crypto")
class Crypto(Environment):
    """Alice says a word that should tell Bob, who has her key, a message of 0 or 1, and should not tell it to Eve.

    Source: the scenario of Lowe et al. (2017) in the form of mpe2's simple_crypto, with its discrete actions. Actions:
    four words. In each step Eve pays 2 unless her word is the message; Alice and Bob earn what she pays, and pay 2
    unless Bob's word is the message. Message and key are drawn at each reset.
    """

    source = "crypto.cu"

    @dataclass(frozen=True)
    class Params:
        """Parameters of particles_crypto."""

        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 25  # steps until the time limit

    def groups(self) -> Sequence[Group]:
        """Eve hears the word, Bob also has the key, Alice sees message and key."""
        seen = (WORDS, 2 * WORDS, 2 * WORDS)
        return [
            Group(player, 1, observation=sees(size), action=Discrete(WORDS))
            for player, size in zip(PLAYERS, seen, strict=True)
        ]

    def arrays(self) -> Sequence[Array]:
        """The message, the key, and what was said."""
        secret = (0, SECRETS - 1)
        return [
            Array("message", "int32", per="env", bounds=secret, doc="that Bob should name"),
            Array("key", "int32", per="env", bounds=secret, doc="that Alice and Bob see"),
            Array("words", "int32", bounds=(-1, WORDS - 1), doc="said in the last step; -1 at the start"),
        ]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The players with their last words; beside Alice the message, and the key between her and Bob."""
        message, key = int(arrays["message"]), int(arrays["key"])
        places = {"alice": (-1.0, 0.0), "bob": (1.0, 0.6), "eve": (1.0, -0.6)}
        words = dict(zip(PLAYERS, arrays["words"].tolist(), strict=True))
        marks = [Discs(x, y, 0.3, fill=player) for player, (x, y) in places.items()]
        said = [Text(*places[player], str(word), 0.3, fill="paper") for player, word in words.items() if word >= 0]
        secrets = [Text(-1.0, 0.55, f"message {message}", 0.2), Text(0.0, 0.55, f"key {key}", 0.2, fill="muted")]
        right = [
            Discs(*places[player], 0.38, fill=None, outline="ink", line_width=0.05)
            for player in ("bob", "eve")
            if words[player] == message
        ]
        return Drawing((-1.8, -1.1, 1.8, 1.1), [*marks, *said, *secrets, *right], seconds=0.4)
