"""Base class of algorithms: settings, records, learning, and saved state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from gymnasium.spaces import Box
from torch import Tensor

from warpworld.config import LearnerConfig
from warpworld.environment import Environment, Group, critic_space
from warpworld.policies import Policy, build_policy
from warpworld.trainers.collecting import Collector, History
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.trainers.spans import NORMALISER, spanned


@dataclass(frozen=True)
class Progress:
    """Progress of the training when an algorithm learns.

    Attributes:
        fraction: of the run that is done, in [0, 1].
        env_steps: env steps done before this iteration; schedules go by it.
        generator: on the CPU, what permutations are drawn from; in the same state in all processes.
    """

    fraction: float
    env_steps: int
    generator: torch.Generator


class Algorithm(ABC):
    """Learns one policy. An algorithm is one subclass in one file.

    A run repeats T steps of the world, in which every player acts, and an update by every algorithm. ``algorithm: ppo``
    in a config names a packaged one, ``algorithm: module:Class`` one of the user's.

    Attributes:
        Settings: the keys of the policy's section in a config, with defaults and comments: a pydantic model.
        needs_critic: whether the policy's model must have a ``critic``.
        acts_greedily: whether its policies always take the likeliest action when they are evaluated or watched.
        overlaps: whether it has ``take``, so that it can learn beside a rollout.
        learns_from_share: whether it heeds ``envs``, so that it can learn a member of a population.
        policy: trained in place; it lies on its device already.
        settings: of this policy's section.
        processes: those that learn together.
        envs: those that it learns from, where others act for its groups; None for all, in which its policy acts. It is
            set before ``declare``.
    """

    Settings: ClassVar[type[LearnerConfig]]
    needs_critic: ClassVar[bool] = True
    acts_greedily: ClassVar[bool] = False
    overlaps: ClassVar[bool] = False
    learns_from_share: ClassVar[bool] = False
    envs: range | None = None

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        self.policy, self.settings, self.processes = policy, settings, processes

    @property
    def shown(self) -> Policy:
        """The policy as evaluations and checkpoints have it: itself, or one with other weights."""
        return self.policy

    @classmethod
    def build_policy(cls, settings: Any, group: Group, generator: torch.Generator, critic_input: Box | None) -> Policy:
        """Return a fresh policy for a group, on the CPU; override it for networks that other algorithms do not have.

        Args:
            settings: of the policy's section.
            group: that it plays, the first if there are several.
            generator: on the CPU, what weights are drawn from.
            critic_input: what the critic reads; None for the group's observations.
        """
        return build_policy(settings.model, group, generator, cls.needs_critic, critic_input)

    @classmethod
    def critic_space(cls, environment: Environment, group: Group) -> Box | None:
        """Inputs that the critic of a group's policy reads; None for the observations of the group's agents."""
        return critic_space(environment, group)

    @abstractmethod
    def declare(self, collector: Collector) -> None:
        """Declare how the policy's groups act and what is recorded of them, before the world is sealed.

        Every group of ``settings.groups`` is given an actor, by ``collector.act`` or by a recorder. Arrays that the
        algorithm needs are added to ``collector.world``. How updates are executed is settled here, too, see
        ``Collector.uses_kernels``.
        """

    @abstractmethod
    def learn(self, progress: Progress) -> Mapping[str, Tensor]:
        """Learn from what was recorded of the latest T steps.

        Returns:
            Numbers to log as ``losses/POLICY/NAME``, () each, on the policy's device; the same names in each call.
        """

    def take(self, progress: Progress, acted: Policy) -> None:
        """Take over the latest T steps: others are recorded while the next ``learn`` learns from these.

        With ``trainer.overlap`` it is called between two rollouts, in the thread that steps the world. What the next
        rollout depends on besides weights, such as exploration, is settled here.

        Args:
            progress: as of the ``learn`` that follows.
            acted: a copy of the policy with the weights that acted.
        """
        raise NotImplementedError

    def charts(self) -> Mapping[str, float | Tensor]:
        """Numbers to log as ``charts/POLICY/NAME``; tensors, () on the policy's device, are read with ``learn``'s."""
        return {}

    # ---- what several of them do -------------------------------------------------------------------------------------
    @spanned(NORMALISER)
    def take_in(self, observations: Tensor, total: int, mask: Tensor | None = None) -> None:
        """Let the policy's normaliser, if it has one, take in the observations of all processes.

        Args:
            observations: (rows, entries), this process's.
            total: rows of all processes together.
            mask: (rows,) bool, which of them count, where there is one process; None counts all.
        """
        normaliser = self.policy.normaliser
        if normaliser is None or not total:
            return
        self.processes.let_follow(normaliser, self.policy.floats(observations), total, mask)

    # ---- saving ------------------------------------------------------------------------------------------------------
    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """State on which further learning depends besides the store: tensors, numbers and texts, nested in dicts.

        The store keeps the arrays that ``declare`` added as state.
        """

    @abstractmethod
    def check_state(self, saved: Mapping[str, Any]) -> None:
        """Check what ``state_dict`` returned, before anything of a checkpoint is loaded.

        Raises:
            RunError: it does not fit.
        """

    @abstractmethod
    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue from what ``state_dict`` returned, copying its tensors."""

    def histories(self) -> Sequence[History]:
        """History on which further learning depends, such as a replay; known once all is declared."""
        return ()

    def memories(self) -> Sequence[str]:
        """Names of the arrays, (num_envs, ...), with what agents of its groups and their critics remember."""
        return ()

    def drop_running(self) -> None:  # noqa: B027 (most keep nothing of running episodes)
        """Forget what is kept of running episodes, when new ones begin because a run is resumed without them."""

    def forget(self) -> str:
        """Begin with empty histories, when a run is resumed without them.

        Returns:
            What that costs, in a few words.
        """
        for history in self.histories():
            history.empty()
        return "it learns from what is new"
