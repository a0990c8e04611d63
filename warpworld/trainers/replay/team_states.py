"""The states of teams that an environment declares, as transitions have them."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from warpworld.environment import Array, Kernel
from warpworld.managers import FunctionManager, Kept, Number, Step
from warpworld.trainers.replay.priorities import KERNELS, lanes_for
from warpworld.trainers.replay.ring import Ring
from warpworld.trainers.replay.ring_states import RingStates
from warpworld.world import World


class TeamStates(RingStates):
    """Gathers states for batches of transitions, and keeps those of truncated episodes.

    Args:
        world: an unsealed world.
        ring: of the steps.
        name: of the array.
        batch_size: items in a draw.
        slots: final states of an env that are kept; None where none are.
        aliases: of the replay's other arrays.
    """

    def __init__(
        self, world: World, ring: Ring, name: str, batch_size: int, slots: int | None, aliases: Mapping[str, str]
    ) -> None:
        self._slots, self._batch_size = slots, batch_size
        super().__init__(world, ring, name)
        stand_ins = {"finals_state": self.aliases["ring_state"]}  # a placeholder where none are kept, never read
        self._kernels = self._build({**stand_ins, **aliases, **self.aliases})
        if slots is not None:  # what it was is to be known from before the reset
            world.record_copy(self._copy("last_state", aliases["only_row"]))

    def _arrays(self) -> list[tuple[Array, Kept]]:
        """Implement ``RingStates``."""
        batch = (self._batch_size, self.size)
        arrays: list[tuple[Array, Kept]] = [
            *super()._arrays(),
            (Array("batch_states", "float32", batch, "world"), "derived"),
            (Array("batch_next_states", "float32", batch, "world"), "derived"),
        ]
        if self._slots is not None:
            last = (1, self._world.num_envs, *self._shape)
            arrays.append((Array("last_state", "float32", last, "world", initial=0.0), "derived"))
            arrays.append((Array("finals_state", "float32", (self._slots, *self._shape), "env"), "history"))
        return arrays

    def _build(self, aliases: Mapping[str, str]) -> FunctionManager:
        world = self._world
        constants: dict[str, Number] = {
            "NUM_AGENTS": 1,
            "BATCH": self._batch_size,
            "STATE_SIZE": self.size,
            "SLOTS": self._slots or 1,
            "FINALS": int(self._slots is not None),
        }
        kernels = world.kernels(KERNELS / "team_states.cu", constants, aliases=aliases)
        lanes = lanes_for(self._batch_size * self.size, world.num_envs)
        kernels.build([Kernel(name, lanes, own_env_only=False) for name in kernels.signatures])
        return kernels

    # ---- in the sealed store -----------------------------------------------------------------------------------------
    def keep_final(self) -> list[Step]:
        """The launches that keep the states of truncated episodes, before their observations are kept."""
        return [] if self._slots is None else [self._step("keep_final_states")]

    def gather(self) -> list[Step]:
        """The launches that gather the states of a batch."""
        return [self._step("gather_states")]

    def of_batch(self, what: str) -> Tensor:
        """``batch_states`` or ``batch_next_states``."""
        return self._world[self.aliases[what]]

    def _step(self, name: str) -> Step:
        return self._kernels.step(name, index=0, own_env_only=False)
