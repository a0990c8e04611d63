"""An environment whose parameters differ from env to env: two agents that drift."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.toys import agents
from warpworld import Array, Environment, Group
from warpworld.errors import DeclarationError


class Drift(Environment):
    """An agent moves by its env's gravity, and on windy days by one more; chance ends an episode."""

    source = Path(__file__).with_suffix(".cu")
    per_env = ("gravity", "lives", "windy")

    @dataclass(frozen=True)
    class Params:
        """Parameters of Drift."""

        gravity: float = 9.8  # downwards, m/s^2
        lives: int = 3
        windy: bool = False
        scale: float = 0.5

        def __post_init__(self) -> None:
            if not 0 < self.gravity < 100:
                raise DeclarationError(f"gravity={self.gravity}: expected more than 0 and less than 100")

    def groups(self) -> list[Group]:
        """Two agents."""
        return [agents(2)]

    def arrays(self) -> list[Array]:
        """Where they are."""
        return [Array("x", "float32")]
