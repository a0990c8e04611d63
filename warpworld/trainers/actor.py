"""One agent group in the hands of a policy: from observations to actions in the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from warpworld.environment import Array
from warpworld.errors import StoreError
from warpworld.managers.function_manager import FunctionManager
from warpworld.policies import ActorCritic, head_sizes, observation_size
from warpworld.spaces import observation_names
from warpworld.world import World

SAMPLE_SOURCE = Path(__file__).resolve().parent.parent / "cuda" / "sample.cu"


class Actor:
    """Acts for one group: policy forward, then a kernel that draws actions from the logits.

    Create it before the world's first reset and call ``freeze`` after.

    Attributes:
        group: the agents it acts for.
        policy: what decides; None acts uniformly at random. It may be exchanged at any time.
        observation_size: features of one agent's observation.
        heads: choices of each action head.

    Args:
        world: an unsealed world.
        group: name of the group.
        policy: see above.
        kernel: of sample.cu: "sample" draws and records the rollout's row, "act" draws, "act_greedily" takes the
            likeliest.

    Raises:
        DeclarationError: no policy can serve the group's spaces.
    """

    def __init__(self, world: World, group: str, policy: ActorCritic | None = None, kernel: str = "act") -> None:
        self.group = world.groups[group]
        self.policy = policy
        self.observation_size = observation_size(self.group)
        self.heads = head_sizes(self.group)
        self._world, self._kernel, self._index = world, kernel, world.kernel_index()
        self._functions = self._build()
        self._draw: Callable[[], None] | None = None

    def _build(self) -> FunctionManager:
        world, group = self._world, self.group
        logits, sizes = f"logits_{group.name}", f"head_sizes_{group.name}"
        world.add(Array(logits, "float32", (group.size, sum(self.heads)), per="env", initial=0.0), scratch=True)
        world.add(Array(sizes, "int32", (len(self.heads),), per="world", initial=self.heads), scratch=True)
        observations = observation_names(world.groups, group)[""]
        actions, first = world.action_array(group.name)
        own_observations, own_actions = observations != "observations", actions != "actions"
        constants = {
            "NUM_AGENTS": group.size,
            "AGENT_FIRST": group.first,
            "ACTION_AGENTS": group.size if own_actions else world.num_agents,
            "ACTION_FIRST": first,
            "OBSERVATION_AGENTS": group.size if own_observations else world.num_agents,
            "OBSERVATION_FIRST": 0 if own_observations else group.first,
            "OBSERVATION_SIZE": self.observation_size,
            "NUM_HEADS": len(self.heads),
            "LOGITS": sum(self.heads),
            "HEAD_SIZE": self.heads[0] if len(set(self.heads)) == 1 else 0,
        }
        recorded = {
            f"rollout_{what}": f"rollout_{what}_{group.name}" for what in ("observations", "actions", "log_probs")
        }
        aliases = {"logits": logits, "head_sizes": sizes, "observations": observations, "actions": actions, **recorded}
        functions = world.kernels(SAMPLE_SOURCE, constants, aliases=aliases, writable={actions})
        functions.build([])
        return functions

    def freeze(self) -> None:
        """Bind the kernel to the sealed store."""
        self._draw = self._world.program([self._functions.step(self._kernel, self._index)])
        self._logits = self._world[f"logits_{self.group.name}"]
        self._seen = self._world.observations(self.group.name)

    def observations(self) -> Tensor:
        """What the group sees now: (num_envs, size, features) float32, a view of the store."""
        return self._seen.flatten(2)  # type: ignore[union-attr]

    def act(self) -> None:
        """Decide on what the group sees now, and write its actions into the store.

        Raises:
            StoreError: before ``freeze``.
        """
        if self._draw is None:
            raise StoreError(f"group '{self.group.name}': freeze() the actor after the world's first reset()")
        if self.policy is None:
            self._logits.zero_()
        else:
            with torch.no_grad():
                self._logits.copy_(self.policy.logits(self.observations()))
        self._draw()
