"""Discrete, MultiDiscrete and MultiBinary actions of a policy whose outputs are values: epsilon-greedy."""

from __future__ import annotations

from collections.abc import Sequence

from warpworld.policies.samplers.choices import ChoiceSampler
from warpworld.policies.samplers.sampler import KERNELS, SamplerContext


class Explorer(ChoiceSampler):
    """Takes each head's best choice, or with probability ``epsilon[env]`` any that is allowed.

    Args:
        context: names and places of the group's numbers. Where ``context.recorded`` has ``ring_taken_values``, the
            values of what is taken and of what would be best are noted, in the row and from the place that it names.
            Where the group names an array ``greedy_actions``, it gets what would be best.
        head_sizes: number of choices of each head.
        epsilon: name of the array (num_envs,) float32.
        policy_agents: agents in a row of these arrays, and the place of the group's first.
    """

    source = KERNELS / "explore.cu"
    outputs_name = "values"

    def __init__(
        self, context: SamplerContext, head_sizes: Sequence[int], epsilon: str, policy_agents: tuple[int, int]
    ) -> None:
        self._epsilon, self._policy_agents = epsilon, policy_agents
        notes = "ring_taken_values" in (context.recorded or {})
        super().__init__(context, "explore_and_note" if notes else "explore", head_sizes)

    def constants(self) -> dict[str, float]:
        """The groups of choices, and the group's place among them."""
        size, first = self._policy_agents
        greedy = self.context.group.greedy_actions
        of_greedy = {"GREEDY_SIZE": 0 if greedy is None else len(self._heads)}
        return {**super().constants(), "POLICY_AGENTS": size, "FIRST_POLICY_AGENT": first, **of_greedy}

    def arrays(self) -> dict[str, str]:
        """Add ``head_sizes``."""
        greedy = self.context.group.greedy_actions or self.context.world.action_array(self.context.group.name)[0]
        return {**super().arrays(), "epsilon": self._epsilon, "greedy_actions": greedy}
