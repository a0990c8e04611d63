"""The states of teams that an environment declares, beside a ring of steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from torch import Tensor

from warpworld.environment import Array, Kernel
from warpworld.managers import Copy, FunctionManager, Kept, Number, Step
from warpworld.trainers.collecting import refuse_not_finite
from warpworld.trainers.replay.priorities import KERNELS, add_arrays, lanes_for
from warpworld.trainers.replay.ring import Ring
from warpworld.world import World


class TeamStates:
    """Keeps an array of the environment in each row, and gathers it for batches.

    Of an array per env the state is the env's part, of one per agent the parts of all agents of the group.

    Attributes:
        size: numbers in a state.
        aliases: the arrays' names by those of the kernels' parameters.
        acted: copies the state into the row; in the sealed store.

    Args:
        world: an unsealed world.
        ring: of the steps.
        name: of the array.
        batch_size: items in a draw.
        slots: final states of an env that are kept; None where none are.
        aliases: of the replay's other arrays.
    """

    acted: Callable[[], None]

    def __init__(
        self, world: World, ring: Ring, name: str, batch_size: int, slots: int | None, aliases: Mapping[str, str]
    ) -> None:
        self._world, self._ring, self._name, self._slots = world, ring, name, slots
        array = world.data.array(name)
        self._is_per_agent = array.per == "agent"
        self._shape = (ring.policy_agents.size, *array.shape) if self._is_per_agent else array.shape
        self.size = math.prod(self._shape)
        self._batch_size = batch_size
        self.aliases = self._add_arrays()
        stand_ins = {"finals_state": self.aliases["ring_state"]}  # a placeholder where none are kept, never read
        self._kernels = self._build({**stand_ins, **aliases, **self.aliases})
        if slots is not None:  # what it was is to be known from before the reset
            world.record_copy(self._copy("last_state", aliases["only_row"]))
        world.when_sealed(self._bind)

    def _add_arrays(self) -> dict[str, str]:
        lead, batch = (self._ring.rows, self._world.num_envs), (self._batch_size, self.size)
        arrays: list[tuple[Array, Kept]] = [
            (Array("ring_state", "float32", (*lead, *self._shape), "world"), "history"),
            (Array("batch_states", "float32", batch, "world"), "derived"),
            (Array("batch_next_states", "float32", batch, "world"), "derived"),
        ]
        if self._slots is not None:
            last = (1, self._world.num_envs, *self._shape)
            arrays.append((Array("last_state", "float32", last, "world", initial=0.0), "derived"))
            arrays.append((Array("finals_state", "float32", (self._slots, *self._shape), "env"), "history"))
        return add_arrays(self._world, self._ring.policy_agents.name, arrays)

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

    def _copy(self, target: str, row: str) -> Copy:
        """A copy of the array's latest state into a row."""
        if self._is_per_agent:
            return self._ring.policy_agents.copies(self._name, self.aliases[target], row)[0]
        return Copy(self._name, self.aliases[target], row=row)

    # ---- in the sealed store -----------------------------------------------------------------------------------------
    def _bind(self) -> None:
        self.acted = self._world.program([self._copy("ring_state", self._ring.aliases["row"])])

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

    # ---- after an iteration ------------------------------------------------------------------------------------------
    def is_finite(self) -> Tensor:
        """Whether the states of the latest iteration are finite: () bool."""
        return self._latest().isfinite().all()

    def refuse_not_finite(self) -> None:
        """Search the states of the latest iteration.

        Raises:
            TrainingError: names env, agent, step and number; an array per env counts for all agents.
        """
        (group,), seen = self._ring.policy_agents.groups, self._latest()
        of_agents = seen.flatten(3) if self._is_per_agent else seen.flatten(2).unsqueeze(2)
        refuse_not_finite(self._world, "critic inputs", group, of_agents.expand(-1, -1, group.size, -1), None)

    def _latest(self) -> Tensor:
        return self._world[self.aliases["ring_state"]].index_select(0, self._ring.latest())
