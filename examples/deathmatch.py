"""Deathmatch in Python alone, by megastep's rules: guns fire by themselves at what the middle of the picture shows.

The rules of the packaged deathmatch with ``megastep_rules=true`` and ``megastep_mends=bounds,spawns``, which is written
in CUDA, on the arrays of the block Hits. Run ``warpworld check examples/deathmatch.py``.
"""

from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.spaces import Box

from warpworld import Array, Group
from warpworld.blocks import IMU, RGB, Block, BlockEnvironment, BlockParams, Depth, Hits, MomentumMovement, RandomSpawns

DAMAGE, DECAY = 0.05, 0.001  # of health, by a hit and by any step


def anywhere(arrays: Any) -> torch.Tensor:
    """A random place in its plan for each agent: (envs, agents, 2)."""
    plan, rooms = arrays["plan"].long(), arrays["plan_first_room"].long()
    first, end = (arrays["room_first_cell"][rooms[plan + i]][:, None] for i in (0, 1))
    cells = first + (arrays.random.uniform()[..., 0] * (end - first)).long()
    return arrays["plan_cells"][torch.minimum(cells, end - 1)] + 0.2 * (arrays.random.uniform(2) - 0.5)


def revive(arrays: Any, active: torch.Tensor) -> None:
    """Those who died in the last step begin a life somewhere else, with full health and at rest."""
    dead = (arrays["health"] <= 0.0) & active[:, None]
    arrays["agent_terminated"] = dead
    places, angles = anywhere(arrays), 360.0 * arrays.random.uniform()[..., 0] - 180.0
    arrays["positions"] = torch.where(dead[..., None], places, arrays["positions"])
    arrays["angles"] = torch.where(dead, angles, arrays["angles"])
    arrays["velocity"] = arrays["velocity"] * ~dead[..., None]
    arrays["angvelocity"] = arrays["angvelocity"] * ~dead
    arrays["health"] = torch.where(dead, 1.0, arrays["health"])


class Lives(Block):
    """Health, which agents observe, and new lives, which begin before agents move."""

    steps = (revive,)

    def arrays(self, params: Any) -> list[Array]:
        """Health."""
        return [Array("health", "float32", initial=1.0, on_reset="initial", bounds=(0.0, 1.0), doc="dead at 0")]

    def observations(self, params: Any) -> dict[str, Box]:
        """Health."""
        return {"health": Box(0.0, 1.0, (1,))}


class Deathmatch(BlockEnvironment):
    """All against all: a hit pays 1 and takes a twentieth of the victim's health."""

    requested = ("agent_terminated",)
    blocks = (Lives(), MomentumMovement(), RandomSpawns(), Hits(), RGB(), Depth(), IMU())

    @dataclass(frozen=True)
    class Params(BlockParams):
        """Those of the packaged deathmatch."""

        res: int = 512
        fov: float = 70.0
        subsample: int = 4
        fighters: int = 4
        episode_length: int = 500  # steps until the time limit

    def groups(self) -> list[Group]:
        """The fighters."""
        return [Group("fighter", self.params.fighters, self.observation(), self.action())]

    def rules(self) -> list[Any]:
        """Shots, then what agents observe of their health."""
        return [self.shoot, self.feel]

    def first_rules(self) -> list[Any]:
        """What agents observe of their health."""
        return [self.feel]

    def shoot(self, arrays: Any, active: torch.Tensor) -> None:
        """Each agent hits those whom its two middle pixels show; a pixel shows what its middle ray meets."""
        ray = (self.params.pixels // 2 - 1) * self.params.subsample + self.params.subsample // 2
        shown = arrays["hit_object"][..., ray : ray + self.params.subsample + 1 : self.params.subsample]
        everyone = torch.arange(self.params.fighters, device=shown.device)
        hits = (shown[..., None] == everyone).any(2).float()  # (envs, who shoots, who is hit)
        lost = DAMAGE * hits.sum(1) + DECAY
        arrays["health"] = torch.clamp(arrays["health"] - lost, min=0.0)
        arrays["rewards"] = hits.sum(2)
        arrays["truncated"] = arrays["timestep"] >= self.params.episode_length

    def feel(self, arrays: Any, active: torch.Tensor) -> None:
        """Show agents their health."""
        arrays["observations_health"] = arrays["health"][..., None]
