"""One agent group in the hands of a policy: from observations to actions in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor

from warpworld.environment import Array
from warpworld.environment.spaces import action_layout, observation_names
from warpworld.errors import StoreError
from warpworld.managers.function_manager import FunctionManager
from warpworld.policies import Gaussian, RecurrentPolicy, action_distribution, observation_size
from warpworld.trainers.memory import Memory
from warpworld.trainers.players import Player, Scripted, Slot, split_envs
from warpworld.world import World

CUDA_FOLDER = Path(__file__).resolve().parent.parent / "cuda"
NO_NOISE = -20.0  # logarithm of a deviation that no float32 action shows


class Actor:
    """Acts for one group: policy forward, then a kernel that draws actions from the policy's outputs.

    Where the world has an ``action_mask``, actions that it forbids are not taken.

    Attributes:
        group: the agents it acts for.
        policy: what decides; None acts uniformly at random. It may be exchanged at any time, but for a recurrent one
            only where the first was one, with states of the same size.
        slots: ranges of envs in which somebody else plays the group.
        memory: what the agents remember, where the first policy is recurrent; else None.
        distribution: of the group's actions.
        observation_size: features of one agent's observation.
        action_dtype: of the actions array, and of what is recorded of it.
        action_size: numbers in one agent's action.

    Args:
        world: an unsealed world.
        group: name of the group.
        policy: see above.
        slots: see above; those of other groups are left out. None where actions lie in a Box.
        kernel: of sample.cu or sample_box.cu: "sample" draws and records the rollout's row, "act" draws,
            "act_greedily" takes the likeliest.

    Raises:
        DeclarationError: no policy can serve the group's spaces.
    """

    def __init__(
        self, world: World, group: str, policy: Player = None, kernel: str = "act", slots: Sequence[Slot] = ()
    ) -> None:
        self.group = world.groups[group]
        self.policy = policy
        self.slots = [slot for slot in slots if group in slot.groups]
        self.distribution = action_distribution(self.group)
        self.observation_size = observation_size(self.group)
        self.action_dtype, self.action_size = action_layout(self.group.action)
        self.masked = "action_mask" in world.data and not isinstance(self.distribution, Gaussian)
        self.memory = Memory(world, self.group, policy.state_size) if isinstance(policy, RecurrentPolicy) else None
        self._world, self._kernel, self._index = world, kernel, world.kernel_index()
        self._functions = self._build()
        self._draw: Callable[[], None] | None = None
        world.when_sealed(self._bind)

    def _build(self) -> FunctionManager:
        world, group = self._world, self.group
        outputs = f"policy_outputs_{group.name}"
        per_agent = (group.size, self.distribution.num_outputs)
        world.add(Array(outputs, "float32", per_agent, per="env", initial=0.0), kept="scratch")
        observations, own_observations = self._observation_array()
        actions, first = world.action_array(group.name)
        own_actions = actions != "actions"
        constants = {
            "NUM_AGENTS": group.size,
            "WORLD_AGENTS": world.num_agents,
            "AGENT_FIRST": group.first,
            "ACTION_AGENTS": group.size if own_actions else world.num_agents,
            "ACTION_FIRST": first,
            "OBSERVATION_AGENTS": group.size if own_observations else world.num_agents,
            "OBSERVATION_FIRST": 0 if own_observations else group.first,
            "OBSERVATION_SIZE": self.observation_size,
        }
        recorded = ("observations", "actions", "log_probs", "action_mask")
        aliases = {
            "observations": observations,
            "actions": actions,
            "row": "rollout_row",
            **{f"rollout_{what}": f"rollout_{what}_{group.name}" for what in recorded},
        }
        if isinstance(self.distribution, Gaussian):
            source = "sample_box.cu"
            constants["ACTION_SIZE"] = self.action_size
            aliases |= {"means": outputs, **self._box_arrays()}
        else:
            source = "sample.cu"
            constants |= self._head_constants(self.distribution.head_sizes)
            aliases |= {"logits": outputs, **self._head_arrays(self.distribution.head_sizes)}
        functions = world.kernels(CUDA_FOLDER / source, constants, aliases=aliases, writable={actions})
        functions.build([])
        return functions

    def _observation_array(self) -> tuple[str, bool]:
        """Name of the array with what the group sees, flat and in float32, and whether it is the group's own."""
        names = observation_names(self._world.groups, self.group)
        if "" in names and self._world.data.array(names[""]).dtype == "float32":
            return names[""], names[""] != "observations"
        per_agent = (self.group.size, self.observation_size)
        self._world.add(Array(self._joined_observations, "float32", per_agent, per="env", initial=0.0), kept="scratch")
        return self._joined_observations, True

    @property
    def _joined_observations(self) -> str:
        """Name of the array for what the group sees where the world's own arrays are not flat, or no float32."""
        return f"joined_observations_{self.group.name}"

    def _head_constants(self, heads: tuple[int, ...]) -> dict[str, int]:
        return {
            "NUM_HEADS": len(heads),
            "LOGITS": sum(heads),
            "HEAD_SIZE": heads[0] if len(set(heads)) == 1 else 0,
            "MASK_SIZE": self._world.data.array("action_mask").shape[0] if self.masked else 1,
        }

    def _head_arrays(self, heads: tuple[int, ...]) -> dict[str, str]:
        name = f"head_sizes_{self.group.name}"
        self._world.add(Array(name, "int32", (len(heads),), per="world", initial=heads), kept="scratch")
        return {"head_sizes": name}

    def _box_arrays(self) -> dict[str, str]:
        box, log_stds = f"action_box_{self.group.name}", f"log_stds_{self.group.name}"
        scaling = scaling_to(self.group.action)  # type: ignore[arg-type]
        self._world.add(Array(box, "float32", scaling.shape, per="world", initial=scaling), kept="scratch")
        self._world.add(Array(log_stds, "float32", (self.action_size,), per="world", initial=0.0), kept="scratch")
        return {"box": box, "log_stds": log_stds}

    def _bind(self) -> None:
        """Bind the kernels to the sealed store.

        Raises:
            DeclarationError: the group's script fails, or gives another shape or dtype than a policy of the group.
        """
        self._draw = self._program(f"{self._kernel}_masked" if self.masked else self._kernel)
        self._outputs = self._world[f"policy_outputs_{self.group.name}"]
        seen = self._world.observations(self.group.name)
        parts = [part.flatten(2) for part in (seen.values() if isinstance(seen, dict) else [seen])]
        joined = self._joined_observations
        self._parts, self._seen = (parts, self._world[joined]) if joined in self._world.data else ([], parts[0])
        self._log_stds: Tensor | None = None
        self._draw_at_random = self._draw
        if isinstance(self.distribution, Gaussian):
            self._log_stds = self._world[f"log_stds_{self.group.name}"]
            self._draw_at_random = self._program("act_at_random")
        self._ranges = split_envs(self.slots, self._world.num_envs)
        if isinstance(self.policy, Scripted):
            self.policy.check(self._world, self.group, self.distribution.num_outputs)

    def _program(self, kernel: str) -> Callable[[], None]:
        return self._world.program([self._functions.step(kernel, self._index)])

    def observations(self) -> Tensor:
        """What the group sees now: (num_envs, size, features) float32, in the store.

        The parts of a Dict are joined anew by each call, and so is what is no float32; a single Box of float32 is a
        view of the world's own array.
        """
        if self._parts:
            torch.cat(self._parts, -1, out=self._seen)
        return self._seen

    def act(self) -> None:
        """Decide on what the group sees now, and write its actions into the store.

        Raises:
            StoreError: before the world is sealed, or the policy remembers more or less than the first one did.
        """
        if self._draw is None:
            raise StoreError(f"group '{self.group.name}': call the world's reset() before the actor acts")
        seen = self.observations()  # also for a random policy: the kernel records it
        if self.policy is None and not self.slots:
            self._outputs.zero_()
            self._draw_at_random()
            return
        with torch.no_grad():
            if self.memory is not None:
                self.memory.forget()
            for slot, envs in self._ranges:
                self._decide(self.policy if slot is None else slot.player, seen[envs], envs)
            if self._log_stds is not None:
                self._write_deviations(self._log_stds)
        self._draw()

    @property
    def players(self) -> list[Player]:
        """Everybody who acts for the group at the moment."""
        return [self.policy, *(slot.player for slot in self.slots)]

    def _decide(self, player: Player, seen: Tensor, envs: slice) -> None:
        """Write a player's outputs for a range of envs; a recurrent one's state goes on by a step."""
        outputs = self._outputs[envs]
        if player is None:
            outputs.zero_()  # equal logits: whatever is allowed is equally likely
        elif isinstance(player, Scripted):
            outputs.copy_(player.outputs(self._world, self.group, envs))
        elif isinstance(player, RecurrentPolicy):
            outputs.copy_(self._remembering(player).outputs(player, seen, envs))
        else:
            outputs.copy_(player.outputs(seen))

    def _write_deviations(self, log_stds: Tensor) -> None:
        """Logarithms of the deviations of actions in a Box; a script means what it says."""
        if isinstance(self.policy, Scripted):
            log_stds.fill_(NO_NOISE)
        elif self.policy is not None:
            log_stds.copy_(self.policy.distribution.log_std)  # type: ignore[arg-type]

    def _remembering(self, policy: RecurrentPolicy) -> Memory:
        """The group's memory, if its states are of the policy's size."""
        if self.memory is None or self.memory.state_size != policy.state_size:
            has = "none" if self.memory is None else f"states of {self.memory.state_size} numbers"
            raise StoreError(
                f"group '{self.group.name}': the policy has states of {policy.state_size} numbers, but the store has "
                f"{has}; make the Actor or Rollout with a policy of that size"
            )
        return self.memory


def scaling_to(space: Box) -> np.ndarray:
    """How a Box's actions come from what a policy draws: (4, size) float32, rows centre, scale, low and high.

    An action is ``centre + scale * drawn``, cut off at low and high. -1 and 1 lead to the ends of a bounded dimension;
    where a bound is infinite, centre is 0 and scale 1.
    """
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    bounded = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        centre, scale = np.where(bounded, (low + high) / 2, 0.0), np.where(bounded, (high - low) / 2, 1.0)
    return np.stack([centre, scale, low, high]).astype(np.float32)
