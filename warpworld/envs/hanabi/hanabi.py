"""Hanabi: a team builds fireworks of cards, and each player sees the hands of the others alone.

Source: Bard et al.: "The Hanabi Challenge: A New Frontier for AI Research" (2020, arXiv 1902.00506): rules, numbers of
choices, rewards and the canonical observations are those of its Hanabi Learning Environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary

from warpworld.drawing import Discs, Drawing, Mark, Rectangles, Text
from warpworld.environment import Array, Environment, Group, Range, register

LETTERS = "RYGWB"  # of the colours: red, yellow, green, white, blue
COLOURS = ("#c8453b", "#d9a520", "#3f9c5a", "#8f979e", "#3a6fb0")  # of cards in pictures
MOST_CARDS = 8  # in a hand: a hint's outcome is a byte
SHOWN = 128  # of what is known of a card: this colour or rank was revealed
LAST_MOVE = 6  # of its flags, those that are of no player, colour, rank or card: four kinds of moves, two effects


@register("hanabi")
class Hanabi(Environment):
    """A team plays cards rank by rank onto a firework of each colour; players see the others' hands, and give hints.

    Actions, in this order: discard each card of the hand, play each, reveal each colour to each other player, reveal
    each rank likewise. Players move by turns; all earn what the score gains, which the last life takes back.
    """

    source = "hanabi.cu"
    compile_time = (
        *("colors", "ranks", "hand_size", "max_information_tokens", "max_life_tokens"),
        *("lowest_rank_copies", "other_play", "greedy_input"),
    )

    @dataclass(frozen=True)
    class Params:
        """Parameters of hanabi; most names are the Hanabi Learning Environment's."""

        players: Annotated[int, Range(2, 5)] = 2  # of the team
        colors: Annotated[int, Range(1, 5)] = 5  # of cards
        ranks: Annotated[int, Range(1, 5)] = 5  # of cards
        hand_size: Annotated[int, Range(0, MOST_CARDS)] = 0  # cards; 0: 5 for two or three players, 4 for more
        max_information_tokens: Annotated[int, Range(0, 64)] = 8  # at the start, and at most
        max_life_tokens: Annotated[int, Range(1, 64)] = 3  # cards that are played in vain until the game is lost
        lowest_rank_copies: Annotated[int, Range(1, 3)] = 3  # cards of each colour's lowest rank; 2 in mini-Hanabi
        other_play: bool = False  # each player sees the colours in an order of its own, drawn in each episode
        greedy_input: bool = False  # all see the choice that a learner of values valued most in the last move, too

        def __post_init__(self) -> None:
            most = min(MOST_CARDS, self.deck // self.players)
            Range(0, most).check("hand_size", self.hand, f", as {self.players} hands come from {self.deck} cards")

        @property
        def hand(self) -> int:
            """Cards in a hand."""
            return self.hand_size or (5 if self.players < 4 else 4)

        @property
        def copies(self) -> tuple[int, ...]:
            """Cards of each rank in one colour."""
            return (self.lowest_rank_copies, *[2] * (self.ranks - 2), 1)[: self.ranks]

        @property
        def deck(self) -> int:
            """Cards in the deck at the start."""
            return self.colors * sum(self.copies)

    def groups(self) -> Sequence[Group]:
        """The players, in the order of their turns."""
        names = self._choices()
        seen, choices = MultiBinary(self._flags()), Discrete(len(names))
        greedy = "greedy_choice" if self.params.greedy_input else None
        return [Group("player", self.params.players, seen, choices, greedy_actions=greedy, action_names=tuple(names))]

    def arrays(self) -> Sequence[Array]:
        """The deck, hands and what is known of them, and what lies on the table."""
        p = self.params
        kinds = p.colors * p.ranks
        hand, card, cards = (p.hand,), (0, kinds - 1), (0, p.deck)
        return [
            Array("deck", "uint8", (p.deck,), per="env", bounds=card, doc="kinds of cards in the order of the deal"),
            Array("dealt", "int32", per="env", bounds=cards, doc="cards that have left the deck"),
            Array("hands", "uint8", hand, bounds=cards, doc="places in the deck, the oldest first; its size for none"),
            Array("known_colors", "uint8", hand, doc="a bit for each colour that hints leave open; 128: it was shown"),
            Array("known_ranks", "uint8", hand, doc="a bit for each rank that hints leave open; 128: it was shown"),
            Array("fireworks", "uint8", (p.colors,), per="env", bounds=(0, p.ranks), doc="ranks that are complete"),
            Array("discards", "uint8", (kinds,), per="env", bounds=(0, 3), doc="cards of each kind"),
            Array("information", "int32", per="env", bounds=(0, p.max_information_tokens), doc="tokens that are left"),
            Array("lives", "int32", per="env", bounds=(0, p.max_life_tokens), doc="tokens that are left"),
            Array("turns_left", "int32", per="env", bounds=(0, p.players), doc="turns once the deck is empty"),
            Array("to_move", "int32", per="env", bounds=(0, p.players - 1), doc="the player who moves next"),
            Array("score", "int32", per="env", bounds=(0, kinds), metric="last", doc="cards in fireworks; 0 once lost"),
            Array(
                "color_order", "uint8", (p.colors,), bounds=(0, p.colors - 1), doc="where each is seen, in other-play"
            ),
            Array("last_choice", "int32", per="env", doc="of the player before, -1 before the first move"),
            Array(
                "greedy_choice", "int32", initial=-1, on_reset="keep", doc="what a learner values most; -1: not said"
            ),
            Array("last_greedy", "int32", per="env", doc="that of the player before, -1 before the first move"),
            Array("last_card", "uint8", per="env", bounds=card, doc="the kind that it played or discarded"),
            Array("last_outcome", "uint8", per="env", doc="places that a hint was about; 1 scored, 2 gained a token"),
        ]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """Hands below each other, hints under their cards; fireworks, discards and tokens beside them."""
        return self._drawn(arrays, hidden=-1)

    def draw_for(self, arrays: Mapping[str, np.ndarray], agent: int) -> Drawing:
        """Draw the table without the cards of the agent's own hand, until the game is over."""
        return self._drawn(arrays, hidden=-1 if arrays["terminated"] or arrays["truncated"] else agent)

    def _drawn(self, arrays: Mapping[str, np.ndarray], hidden: int) -> Drawing:
        """The table, without the cards of the player ``hidden``."""
        p = self.params
        marks: list[Mark] = []
        for player in range(p.players):
            y = 1.6 * player
            is_next = int(arrays["to_move"]) == player
            marks.append(Discs(-0.6, y, 0.28, fill="player" if is_next else None, outline="player", line_width=0.06))
            marks.append(Text(-0.6, y, str(player), 0.36, fill="paper" if is_next else "ink"))
            for place in range(p.hand):
                position = int(arrays["hands"][player, place])
                if position < p.deck:
                    known = int(arrays["known_colors"][player, place]), int(arrays["known_ranks"][player, place])
                    kind = None if player == hidden else int(arrays["deck"][position])
                    marks += self._card(0.4 + 0.8 * place, y, kind)
                    marks.append(Text(0.4 + 0.8 * place, y + 0.68, self._shown(*known), 0.32))
        left = 0.8 * p.hand + 0.8
        marks += self._table(arrays, left)
        bottom = max(1.6 * p.players - 0.4, 3.9)
        return Drawing((-1.1, bottom, left + max(0.8 * p.colors, 3.2), -0.8), marks, seconds=0.8)

    def _table(self, arrays: Mapping[str, np.ndarray], left: float) -> list[Mark]:
        """Fireworks, what is discarded of each colour, tokens, and how many cards are in the deck."""
        p = self.params
        marks: list[Mark] = []
        for colour, reached in enumerate(arrays["fireworks"].tolist()):
            x = left + 0.4 + 0.8 * colour
            if reached:
                marks += self._card(x, 0.0, colour * p.ranks + reached - 1)
            else:
                marks.append(_box(x, 0.0, "grid", COLOURS[colour]))
            for rank, count in enumerate(arrays["discards"].reshape(p.colors, p.ranks)[colour].tolist()):
                marks.append(Text(x, 0.85 + 0.36 * rank, str(rank + 1) * count, 0.32, fill=COLOURS[colour]))
        information, lives = np.arange(int(arrays["information"])), np.arange(int(arrays["lives"]))
        marks.append(Discs(left + 0.2 + 0.3 * information, 2.75, 0.12, fill="ink"))
        marks.append(Discs(left + 0.2 + 0.3 * lives, 3.1, 0.12, fill="alarm"))
        counts = f"deck {p.deck - int(arrays['dealt'])}, score {int(arrays['score'])}"
        return [*marks, Text(left, 3.55, counts, 0.36, align="left")]

    def _card(self, x: float, y: float, kind: int | None) -> list[Mark]:
        """A card, or the back of one whose kind is not shown."""
        if kind is None:
            return [_box(x, y, "ground", "muted"), Text(x, y, "?", 0.5, fill="muted")]
        colour, rank = divmod(kind, self.params.ranks)
        return [_box(x, y, COLOURS[colour], COLOURS[colour]), Text(x, y, str(rank + 1), 0.5, fill="#ffffff")]

    def _shown(self, colors: int, ranks: int) -> str:
        """The colour and the rank of a card that hints revealed."""
        letter = LETTERS[(colors - SHOWN).bit_length() - 1] if colors & SHOWN else ""
        return letter + (str((ranks - SHOWN).bit_length()) if ranks & SHOWN else "")

    def _choices(self) -> list[str]:
        """The names of all choices, in order."""
        p = self.params
        own = [f"{name} {place}" for name in ("discard", "play") for place in range(p.hand)]
        others = range(1, p.players)
        colours = [f"+{offset} {letter}" for offset in others for letter in LETTERS[: p.colors]]
        return [*own, *colours, *[f"+{offset} {rank + 1}" for offset in others for rank in range(p.ranks)]]

    def _flags(self) -> int:
        """Number of flags that a player sees."""
        p = self.params
        kinds = p.colors * p.ranks
        hands = (p.players - 1) * p.hand * kinds + p.players
        board = p.deck - p.players * p.hand + kinds + p.max_information_tokens + p.max_life_tokens
        last = 2 * p.players + p.colors + p.ranks + 2 * p.hand + kinds + LAST_MOVE
        knowledge = p.players * p.hand * (kinds + p.colors + p.ranks)
        return hands + board + p.deck + last + knowledge + p.greedy_input * len(self._choices())


def _box(x: float, y: float, fill: str, outline: str) -> Mark:
    return Rectangles(x - 0.32, y - 0.45, 0.64, 0.9, fill=fill, outline=outline, line_width=0.05)
