"""Windows of teams, drawn from a ring of past steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from warpworld.environment import Array, Kernel
from warpworld.managers import Copy, FunctionManager, Kept, Number, Step
from warpworld.trainers.replay.priorities import KERNELS, add_arrays, lanes_for
from warpworld.trainers.replay.ring_states import RingStates
from warpworld.trainers.replay.team_windows import TeamWindows
from warpworld.trainers.replay.window_replay import WindowReplay, WindowSizes


@dataclass(frozen=True, kw_only=True)
class TeamWindowSizes(WindowSizes):
    """Sizes of a ring of teams' windows and of its draws.

    Attributes:
        mean_reward: whether a team earns the mean over its agents; else their sum.
        state: name of the array that the state comes from; None keeps none.
    """

    mean_reward: bool = True
    state: str | None = None


class TeamWindowReplay(WindowReplay):
    """Records every step of a group's agents, and draws windows of all agents of an env at once.

    As in a ``TeamReplay`` a team is one agent to the kernels of windows, whose observation, action, mask and memory are
    as long as all of theirs. What each agent has of its own, ``team_windows.cu`` gathers.

    Attributes:
        sizes: see above.

    Args:
        collector: of an unsealed world.
        groups: the one group whose agents make up a team.
        sizes: see above; the batch is this process's part.
        processes: those that learn together.
    """

    sizes: TeamWindowSizes
    _team_states: RingStates | None = None

    @property
    def members(self) -> tuple[int, ...]:
        """Agents of a window, as dimensions of a batch: all agents of an env."""
        return (self.policy_agents.size,)

    # ---- before the world is sealed ----------------------------------------------------------------------------------
    def _add_arrays(self) -> dict[str, str]:
        """Implement ``WindowReplay``; a team's rewards and flags are what its kernels take for an agent's."""
        sizes, of_teams = self.sizes, (self.ring.rows, self.world.num_envs, 1)
        each, followed = (sizes.batch_size, self.policy_agents.size), sizes.train_length + sizes.n_step
        arrays: list[tuple[Array, Kept]] = [
            (Array("team_rewards", "float32", of_teams, "world"), "history"),
            (Array("team_takes_part", "uint8", of_teams, "world", initial=0), "history"),
            (Array("batch_member_starts", "bool", (sizes.length, *each), "world"), "derived"),
            (Array("batch_takes_part", "bool", (followed, *each), "world"), "derived"),
            (Array("batch_next_takes_part", "bool", (followed, *each), "world"), "derived"),
        ]
        if sizes.state is not None:
            self._team_states = RingStates(self.world, self.ring, sizes.state)
            kept = (followed, sizes.batch_size, self._team_states.size)
            arrays.append((Array("batch_team_states", "float32", kept, "world"), "derived"))
        aliases = super()._add_arrays() | add_arrays(self.world, self.policy_agents.name, arrays)
        if self._team_states is not None:
            aliases |= self._team_states.aliases
        return {**aliases, "ring_rewards": aliases["team_rewards"], "takes_part": aliases["team_takes_part"]}

    def build(self, source: str, constants: Mapping[str, Number], work: int, **scalars: Number) -> None:
        """Implement ``Replay``; to these kernels a team is one agent, which leaves its episode only with its env.

        MASKED asks them to gather finite numbers alone: an agent that is out may see any.
        """
        own = self.ring.constants
        of_team = {"AGENTS": 1, "LEAVING": 0, "CUTTING": 0, "MASKED": int(own["LEAVING"] or own["MASKED"])}
        super().build(source, {**constants, **of_team}, work, **scalars)
        of_windows = {name: constants[name] for name in ("BURN_IN", "TRAIN", "STRIDE")}
        known = {
            **{**own, **of_windows, "BATCH": self.sizes.batch_size, "N_STEP": self.sizes.n_step},
            "MEAN": int(self.sizes.mean_reward),
            "TEAM_STATE": 1 if self._team_states is None else self._team_states.size,
        }
        gathers = ["gather_starts", "gather_members", *(["gather_states"] if self._team_states is not None else [])]
        work *= self.policy_agents.size
        self._notes = self._kernels_of("teams.cu", known, ["note_teams"], work)
        self._gathers, self._names = self._kernels_of("team_windows.cu", known, gathers, work), gathers

    def _kernels_of(
        self, source: str, constants: Mapping[str, Number], names: Sequence[str], work: int
    ) -> FunctionManager:
        """Compile kernels that know a team's agents."""
        world, aliases = self.world, {**self.aliases, **self.ring.aliases}
        kernels = world.kernels(KERNELS / source, constants, self.ring.sizes_of(constants), aliases=aliases)
        lanes = lanes_for(max(work, world.num_envs), world.num_envs)
        kernels.build([Kernel(name, lanes, own_env_only=False) for name in names])
        return kernels

    # ---- in the sealed store -----------------------------------------------------------------------------------------
    def _note(self) -> list[Step]:
        return [self._notes.step("note_teams", index=0, own_env_only=False)]

    def _gather(self) -> list[Step]:
        return [self._gathers.step(name, index=0, own_env_only=False) for name in self._names]

    # ---- around a step -----------------------------------------------------------------------------------------------
    def copies(self) -> Sequence[Copy]:
        """Copies of what was seen, done and allowed into the row, and of the state."""
        return [*super().copies(), *([] if self._team_states is None else self._team_states.copies())]

    def measured(self) -> Sequence[Tensor]:
        """Measures as ``WindowReplay``'s; states are to be finite too."""
        is_finite, *others = super().measured()
        return [is_finite if self._team_states is None else is_finite & self._team_states.is_finite(), *others]

    def refuse_not_finite(self) -> None:
        """Search what agents saw, and their states."""
        super().refuse_not_finite()
        if self._team_states is not None:
            self._team_states.refuse_not_finite()

    # ---- learning ----------------------------------------------------------------------------------------------------
    def draw(self, beta: float | Tensor = 0.0) -> TeamWindows:
        """Draw a batch; it stays as it is until the next draw; ``beta`` as of ``WindowReplay.draw``."""
        drawn = {**vars(super().draw(beta)), "starts": self.array("batch_member_starts")}
        return TeamWindows(
            **drawn,
            takes_part=self.array("batch_takes_part")[: self.sizes.train_length],
            next_takes_part=self.array("batch_next_takes_part"),
            team_states=None if self._team_states is None else self.array("batch_team_states"),
        )
