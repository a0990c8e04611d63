"""Base of on-policy algorithms: from a rollout's rows to new weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import torch
from gymnasium.spaces import Box
from torch import Tensor

from warpworld.environment import Group
from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.policies.fused import RateRule
from warpworld.trainers.algorithms.algorithm import Progress
from warpworld.trainers.algorithms.experience import Experience
from warpworld.trainers.algorithms.loss import WithLoss
from warpworld.trainers.algorithms.parameters import (
    OPTIMIZERS,
    AveragedPolicy,
    FlatParameters,
    KLPenalty,
    KLRate,
)
from warpworld.trainers.algorithms.settings import OnPolicySettings, SegmentDraws
from warpworld.trainers.algorithms.targets import TARGETS, Estimates, Targets, ValueUnits, give_units
from warpworld.trainers.algorithms.updates import Permutations, RecomputedTargets, Updates, choose_updates
from warpworld.trainers.collecting import Collector, Rollout, TakenTrajectories, Trajectories, state_array
from warpworld.trainers.processes import ALONE, ProcessGroup


class OnPolicy(WithLoss):
    """Learns from rollouts: rows are shuffled into minibatches, one step of the optimiser each.

    Attributes:
        acted: the policy with the weights that acted: itself, or with ``trainer.overlap`` a copy.
        now: the settings of the present update, with the values of schedules.
        learning_rate: of the present update, if settings say it.
        rate: the learning rate, if it follows the KL divergence; else None.
        penalty: the coefficient of a penalty on that divergence, if it follows it; else None.
        passes_in_cpp: whether C++ takes all steps at once, of a pass or of all passes, where it can.
        units: that values are learnt in.
        parameters: the policy's, and their optimiser.
        average: a copy with a moving average of the weights, which is shown in the policy's place; else None.
        updates: does the updates; chosen by ``declare``, or with the first use for rows from elsewhere.
    """

    Settings: ClassVar[type[OnPolicySettings]] = OnPolicySettings
    overlaps = True
    learns_from_share = True
    passes_in_cpp: bool = True
    penalty: KLPenalty | None = None
    settings: OnPolicySettings

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        super().__init__(policy, settings, processes)
        self.acted, self._taken = policy, TakenTrajectories()
        self.now = settings.at(0)
        self.learning_rate: float = self.now.learning_rate
        self.units = ValueUnits(policy, self.settings.normalise_returns)
        self.parameters = FlatParameters(policy, self.now.learning_rate, OPTIMIZERS[settings.optimizer])
        decay = self.settings.ema_decay
        self.average = None if decay is None else AveragedPolicy(policy, self.parameters.vector, decay)
        rule = self.rate_rule()
        self.rate = None if rule is None else KLRate(self.parameters, rule)

    @property
    def shown(self) -> Policy:
        """The policy, or with ``ema_decay`` its copy with averaged weights."""
        return self.policy if self.average is None else self.average.policy

    @cached_property
    def updates(self) -> Updates:  # noqa: D102 (see the class)
        return choose_updates(self)

    # ---- what an algorithm defines -----------------------------------------------------------------------------------
    @property
    def num_epochs(self) -> int:
        """Passes over a rollout, at most."""
        return 1

    def segment_draws(self) -> SegmentDraws | None:
        """The rule by which minibatches are drawn from a rollout's segments; None shuffles its rows."""
        return None

    def pulled(self, batch: Experience) -> Experience:
        """The rows of an update with what the loss adds to their advantages: nothing, unless an algorithm does."""
        return batch

    def rate_rule(self) -> RateRule | None:
        """The rule by which the learning rate follows the KL divergence; None leaves it to ``learning_rate``."""
        return None

    @property
    def may_end_early(self) -> bool:
        """Whether ``is_enough`` is asked after each epoch that another may follow; each then has its CUDA graph."""
        return False

    def is_enough(self, diagnostics: Mapping[str, Tensor]) -> bool:
        """Whether to leave further epochs out, given the diagnostics of an epoch's last minibatch, on the device."""
        return False

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """Names of the metrics that an update gives."""
        return self.updates.diagnostics

    # ---- what is learnt from -----------------------------------------------------------------------------------------
    @property
    def recomputes_targets(self) -> bool:
        """Whether value targets are computed again before each pass but the first."""
        return TARGETS[self.settings.value_targets].recomputes

    def targets(self, estimates: Sequence[Estimates] | None) -> Targets:
        """Value targets of the rollout in the store; ``estimates`` as of ``Targets``."""
        seen = self._taken.trajectories or self.seen()
        kind, settings = TARGETS[self.settings.value_targets], self.settings
        return kind(self.policy, seen, settings, estimates, self.acted, self.loss_has_ratio)

    def seen(self) -> list[Trajectories]:
        """Trajectories of each group, in the envs that it learns from."""
        whole = [self._rollout.trajectories(group) for group in self.settings.groups]
        return whole if self.envs is None else [each.of_envs(self.envs) for each in whole]

    # ---- an algorithm's part of a run --------------------------------------------------------------------------------
    def declare(self, collector: Collector) -> None:
        """Record rollouts of all groups, unless another policy has them recorded."""
        self._rollout = collector.shared(Rollout)
        for group in self.settings.groups if self.envs is None else ():
            self._rollout.record(group, self.policy)
        self.updates = choose_updates(self, collector)

    def memories(self) -> list[str]:
        """States of recurrent policies."""
        names = map(state_array, self.settings.groups)
        return [name for name in names if name in self._rollout.world.data]

    def take(self, progress: Progress, acted: Policy) -> None:
        """Copy the trajectories, which the next rollout overwrites."""
        self.acted = acted
        self._taken.take(self.seen())

    def learn(self, progress: Progress) -> dict[str, Tensor]:
        """Update once from the rollout in the store."""
        self.set_progress(progress.fraction, progress.env_steps)
        self.updates.from_rollout(progress.generator)
        return self.updates.latest_diagnostics()

    def update(
        self, batch: Experience, permutations: Permutations, recomputed: RecomputedTargets | None = None
    ) -> dict[str, Tensor]:
        """Learn from a rollout: ``num_epochs`` passes in a new order, each in ``num_minibatches`` steps.

        Args:
            batch: rows on the policy's device, sequences for a recurrent policy.
            permutations: as of ``Updates.from_rows``.
            recomputed: likewise.

        Returns:
            ``diagnostics`` by name, copies of ``Updates.latest_diagnostics``.
        """
        self.updates.from_rows(batch, permutations, recomputed)
        return {name: value.clone() for name, value in self.updates.latest_diagnostics().items()}

    def charts(self) -> dict[str, float | Tensor]:
        """The learning rate; that of the latest step, if it follows the KL divergence."""
        return {"learning_rate": self.learning_rate if self.rate is None else self.rate.value}

    # ---- what it is made of ------------------------------------------------------------------------------------------
    @classmethod
    def build_policy(cls, settings: Any, group: Group, generator: torch.Generator, critic_input: Box | None) -> Policy:
        """A policy whose values have units of their own, if the settings ask for that."""
        policy = cls.build_networks(settings, group, generator, critic_input)
        give_units(policy, settings.normalise_returns, settings.model.type)
        return policy

    @classmethod
    def build_networks(
        cls, settings: Any, group: Group, generator: torch.Generator, critic_input: Box | None
    ) -> Policy:
        """Build what ``Algorithm.build_policy`` does; arguments as there."""
        return super().build_policy(settings, group, generator, critic_input)

    # ---- schedules ---------------------------------------------------------------------------------------------------
    def set_progress(self, fraction: float, env_steps: int) -> None:
        """Say where the training stands, before each update.

        Args:
            fraction: of the run that is done, in [0, 1]: with ``anneal_lr`` the learning rate falls in proportion.
            env_steps: env steps done, which schedules go by.
        """
        self.now = self.updates.settings_at(env_steps)
        remaining = 1.0 - min(max(fraction, 0.0), 1.0) if self.settings.anneal_lr else 1.0
        self.learning_rate = remaining * self.now.learning_rate
        if self.rate is None:
            self.updates.set_learning_rate(self.learning_rate)

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The optimiser, as references to the live tensors; the weights are saved with the policies.

        With ``ema_decay`` those are the averaged ones, and the weights that learn are saved here.
        """
        own = {} if self.average is None else self.average.state_dict()
        return {"optimizer": self.parameters.optimizer.state_dict(), **own}

    def check_state(self, saved: Mapping[str, Any]) -> None:
        """Whether the optimiser's state fits the policy."""
        if "optimizer" not in saved:
            raise RunError(f"the saved learner holds {', '.join(saved) or 'nothing'}, expected optimizer")
        self.parameters.check_state(saved["optimizer"])
        if self.average is not None:
            self.average.check_state(saved)

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue from a ``state_dict``, copying its tensors.

        Raises:
            RunError: the state belongs to a policy of other sizes.
        """
        self.parameters.load_state(saved["optimizer"])
        if self.average is not None:
            self.average.load_state_dict(saved)
        self.updates.forget()
