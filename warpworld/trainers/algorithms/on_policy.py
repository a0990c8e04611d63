"""Base of on-policy algorithms: from a rollout's rows to new weights."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import torch
from gymnasium.spaces import Box
from pydantic import Field
from torch import Tensor

from warpworld.config import (
    Count,
    Fault,
    Flag,
    Fraction,
    LearnerConfig,
    NotNegativeSchedule,
    Positive,
    PositiveSchedule,
    Sizes,
)
from warpworld.environment import Group
from warpworld.errors import RunError
from warpworld.policies import Policy, RecurrentPolicy
from warpworld.policies.fused import DIAGNOSTICS, Loss, Shuffler, fused_gradient, fused_variance
from warpworld.policies.moments import moments, variance_of
from warpworld.trainers.algorithms.algorithm import Algorithm, Progress
from warpworld.trainers.algorithms.batch import Batch
from warpworld.trainers.algorithms.captured_update import CapturedUpdate
from warpworld.trainers.algorithms.flat_parameters import FlatParameters, OptimizerMaker, adam
from warpworld.trainers.algorithms.gradients import InCpp, by_autograd, one_torch_thread
from warpworld.trainers.algorithms.kernel_estimates import KernelEstimates
from warpworld.trainers.algorithms.minibatches import Epoch, Minibatches
from warpworld.trainers.algorithms.muon import muon
from warpworld.trainers.algorithms.passes import Passes, Permutations, RecomputedTargets
from warpworld.trainers.algorithms.sequences import Experience
from warpworld.trainers.algorithms.targets import TARGETS, GAETargets, Targets
from warpworld.trainers.algorithms.update_parts import Part, UpdateParts
from warpworld.trainers.algorithms.value_units import ValueUnits, give_units
from warpworld.trainers.collecting import Collector, Rollout, Trajectories
from warpworld.trainers.processes.distributed import ALONE, ProcessGroup
from warpworld.trainers.spans import GRADIENT, spanned_items

OPTIMIZERS: dict[str, OptimizerMaker] = {"adam": adam, "muon": muon}
Losses = tuple[Tensor, dict[str, Tensor]]


class OnPolicySettings(LearnerConfig):
    """Settings that all on-policy algorithms have; they carry CleanRL's names and formulas."""

    learning_rate: PositiveSchedule = Field(default=2.5e-4, description="step size of the optimiser")
    optimizer: Literal["adam", "muon"] = Field(default="adam", description="adam; or muon, for matrices of weights")
    anneal_lr: Flag = Field(default=True, description="lower the learning rate linearly to 0 over the run")
    gamma: Fraction = Field(default=0.99, description="discount per step")
    gae_lambda: Fraction = Field(default=0.95, description="lambda of generalised advantage estimation")
    value_targets: Literal["gae", "vtrace"] = Field(
        default="gae", description="what values learn: gae; or vtrace, recomputed before each pass"
    )
    rho_bar: Positive = Field(default=1.0, description="V-trace's limit of the ratios that weigh TD errors")
    c_bar: Positive = Field(default=1.0, description="V-trace's limit of the ratios that carry them back, <= rho_bar")
    num_minibatches: Count = Field(default=4, description="parts of a rollout, one gradient step each")
    norm_adv: Flag = Field(default=True, description="normalise advantages per minibatch")
    ent_coef: NotNegativeSchedule = Field(default=0.01, description="weight of the entropy bonus")
    vf_coef: NotNegativeSchedule = Field(default=0.5, description="weight of the value loss")
    max_grad_norm: Positive = Field(default=0.5, description="longest gradient; longer ones are scaled down")
    normalise_returns: Literal["popart", "running"] | None = Field(
        default=None,
        description="values are learnt in units that follow the returns: popart, which keeps what they say as the "
        "units move, or running, which does not; null for units of reward",
    )

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Rollouts divide into minibatches, and V-trace's limits go together."""
        yield from super().faults(sizes)
        if self.c_bar > self.rho_bar:
            yield Fault(("c_bar", "rho_bar"), f"c_bar is {self.c_bar}, expected at most its rho_bar, {self.rho_bar}")
        agents = f"{sizes.agents} agent{'s' * (sizes.agents != 1)}"
        rows = sizes.num_envs * sizes.num_steps * sizes.agents
        what = f"rows of a rollout: num_envs {sizes.num_envs} x num_steps {sizes.num_steps} x {agents}"
        if self.model.recurrent is not None:
            rows = sizes.num_envs * sizes.agents
            what = f"sequences that a recurrent policy learns from: num_envs {sizes.num_envs} x {agents}"
        if rows % self.num_minibatches:
            text = f"num_minibatches is {self.num_minibatches}, expected a divisor of the {rows} {what}"
            yield Fault(("num_minibatches",), text, of_sizes=True)


class OnPolicy(Algorithm):
    """Learns from rollouts: rows are shuffled into minibatches, one step of Adam each.

    Among several processes each adds up what its own rows say, and one sum over all of them a minibatch makes it what a
    single process with all rows would have; the weights stay the same in all, bit for bit.

    Attributes:
        loss_diagnostics: names of the numbers that the loss gives.
        now: the settings of the present update, with the values of schedules.
        learning_rate: of the present update.
        shuffles_all: whether rows that do not count are shuffled too, with no weight: no shape depends on how many
            there are: where CUDA graphs are captured.
        passes_in_cpp: whether C++ takes all steps at once, of a pass or of all passes, where it can.
        units: that values are learnt in.
        parameters: the policy's, and their optimiser.
        diagnostics: names of the metrics that an update gives.
    """

    Settings: ClassVar[type[OnPolicySettings]] = OnPolicySettings
    loss_diagnostics: ClassVar[tuple[str, ...]]
    passes_in_cpp: bool = True
    settings: OnPolicySettings

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        super().__init__(policy, settings, processes)
        self.shuffles_all = False
        self._captured: CapturedUpdate | None = None  # where CUDA graphs are captured, and so are
        self._estimates: list[KernelEstimates] | None = None
        self.now = self._settings_at(0)
        self.learning_rate: float = self.now.learning_rate
        self.units = ValueUnits(policy, self.settings.normalise_returns, processes)
        self.parameters = FlatParameters(policy, self.now.learning_rate, OPTIMIZERS[settings.optimizer])
        self._shuffler = Shuffler()
        self._of_loss = (*self.loss_diagnostics, "grad_norm")
        self.diagnostics = (*self._of_loss, "explained_variance")
        self._passes = Passes(self._of_loss, self.parameters.gradient)
        self._found = self.parameters.vector.new_zeros(len(self.diagnostics))
        self._summed = self.parameters.vector.new_zeros(len(self.parameters.vector) + len(self.loss_diagnostics))

    # ---- what an algorithm defines -----------------------------------------------------------------------------------
    @property
    def num_epochs(self) -> int:
        """Passes over a rollout, at most."""
        return 1

    @abstractmethod
    def loss_of(self, log_probs: Tensor, entropies: Tensor, values: Tensor, minibatch: Batch) -> Losses:
        """The loss of a minibatch, given what the present policy makes of its B rows.

        Args:
            log_probs: (B,) float, log-probability of the actions.
            entropies: (B,) float.
            values: (B,) float.
            minibatch: the rows.

        Returns:
            The loss, a scalar with gradient, and its diagnostics by name, scalars without.
        """

    def fused_loss(self) -> Loss | None:
        """A description of the same loss for the fused kernels; None leaves the gradient to torch."""
        return None

    @property
    def may_end_early(self) -> bool:
        """Whether ``is_enough`` is asked after each epoch that another may follow; each then has its CUDA graph."""
        return False

    def is_enough(self, diagnostics: Mapping[str, Tensor]) -> bool:
        """Whether to leave further epochs out, given the diagnostics of an epoch's last minibatch, on the device."""
        return False

    def losses(self, minibatch: Experience) -> Losses:
        """The loss of a minibatch under the present policy, and its diagnostics."""
        rows, (outputs, values) = minibatch.rows, minibatch.evaluated(self.policy)
        distribution: Any = self.policy.distribution
        log_probs, entropies = distribution.log_prob_and_entropy(outputs, rows.actions, rows.action_masks)
        return self.loss_of(log_probs, entropies, values, rows)

    # ---- an algorithm's part of a run --------------------------------------------------------------------------------
    def declare(self, collector: Collector) -> None:
        """Record rollouts of all groups."""
        self._rollout = collector.shared(Rollout)
        for group in self.settings.groups:
            self._rollout.record(group, self.policy)
        if collector.world.captures and not self.processes.several:
            self._hold(collector)

    def _hold(self, collector: Collector) -> None:
        """Let a CUDA graph hold whole updates."""
        sizes = [collector.world.groups[group].size for group in self.settings.groups]
        steps = 1 if isinstance(self.policy, RecurrentPolicy) else collector.num_steps
        rows = steps * collector.world.num_envs * sum(sizes)
        name, numbers = "_".join(self.settings.groups), ("learning_rate", *self._scheduled)
        self.shuffles_all = True
        self._captured = CapturedUpdate(collector, name, rows, numbers)
        self._estimates = [KernelEstimates(collector, group, self.settings) for group in self.settings.groups]
        self._is_captured = collector.graph_steps > 0

    def learn(self, progress: Progress) -> dict[str, Tensor]:
        """Update once from the rollout in the store."""
        # learning rate and other scheduled settings
        self.set_progress(progress.fraction, progress.env_steps)
        # the update, launch by launch or as CUDA graphs
        if self._captured is None:
            self._run(lambda: self._begin_with_rollout(progress.generator), self._targets.recomputes)
        else:
            numbers = [self.learning_rate, *(getattr(self.now, name) for name in self._scheduled)]
            self._captured.turn(progress.generator, numbers)
            self._captured.run(self._parts(self._begin_on_device, 1), self._written, self._is_captured)
        return self._diagnosed()

    def _begin_with_rollout(self, permutations: Permutations) -> None:
        # advantages and value targets of the rollout's rows
        targets = self._targets(self.policy, self.seen(), self.settings, self._estimates)
        if isinstance(targets, GAETargets) and not targets.recomputes and self._takes_one_step:
            experience: Experience = targets.evaluated_once()
        else:
            experience = targets.experience()
        # the scale of values, from these targets
        self.units.follow(experience)
        # the first pass over the rows
        recomputed = (lambda: self.units.of_returns(targets.recomputed())) if targets.recomputes else None
        self._begin(self.units.of_experience(experience), permutations, recomputed)

    @property
    def _targets(self) -> type[Targets]:
        return TARGETS[self.settings.value_targets]

    @property
    def _takes_one_step(self) -> bool:
        """Whether the networks' outputs that targets are made from serve the loss, too, where graphs are captured."""
        policy, is_single = self.policy, self.num_epochs == self.settings.num_minibatches == 1
        is_plain = type(policy) is Policy and policy.critic_input is None and policy.central is None
        return self.shuffles_all and is_single and is_plain and policy.value_scale is None

    def _begin_on_device(self) -> None:
        """Begin a captured update: settings that change, and permutations of rows, are read on the device."""
        assert self._captured is not None
        numbers = self._captured.numbers()
        self.now = self.now.model_copy(update={name: numbers[name] for name in self._scheduled})
        self.parameters.rate_on_device().copy_(numbers["learning_rate"])
        self._begin_with_rollout(self._captured.permutation)

    def _written(self) -> list[Tensor]:
        """Tensors that an update writes, besides arrays of the store."""
        rate = self.parameters.rate_on_device()
        return [*self.parameters.tensors(), rate, *self._passes.tensors(), self._found, *self.policy.buffers()]

    def seen(self) -> list[Trajectories]:
        """Trajectories of each group."""
        return [self._rollout.trajectories(group) for group in self.settings.groups]

    def charts(self) -> dict[str, float]:
        """The learning rate."""
        return {"learning_rate": self.learning_rate}

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
        self.now = self._settings_at(env_steps)
        remaining = 1.0 - min(max(fraction, 0.0), 1.0) if self.settings.anneal_lr else 1.0
        self.learning_rate = remaining * self.now.learning_rate
        if self._captured is None:
            self.parameters.learning_rate = self.learning_rate

    def _settings_at(self, env_steps: int) -> Any:
        """The settings with the values of schedules; among several processes ``update`` normalises advantages."""
        now = self.settings.at(env_steps)
        return now.model_copy(update={"norm_adv": False}) if self.processes.several else now

    @property
    def _scheduled(self) -> list[str]:
        """Names of settings that change, but for the learning rate."""
        return [name for name in self.settings.scheduled() if name != "learning_rate"]

    # ---- learning ----------------------------------------------------------------------------------------------------
    def update(
        self, batch: Experience, permutations: Permutations, recomputed: RecomputedTargets | None = None
    ) -> dict[str, Tensor]:
        """Learn from a rollout: ``num_epochs`` passes in a new order, each in ``num_minibatches`` steps of Adam.

        Rows that do not count are dropped first; of a recurrent policy, sequences in which none does. Where CUDA graphs
        are captured they are shuffled with the others, and count for nothing. The host does not wait for the device,
        but elsewhere with a mask once at the start, and with PPO's ``target_kl`` between two epochs. A normaliser takes
        the rows in when all is done.

        Args:
            batch: rows on the policy's device, sequences for a recurrent policy.
            permutations: what they are drawn from, and nothing else, in the same state in all processes; or what gives
                them.
            recomputed: what gives new value targets for all rows of the batch, by the present weights, before each pass
                but the first; None keeps the batch's. They are written over the batch's.

        Returns:
            ``diagnostics`` by name, () float32 each, on the policy's device. Those of the loss and the gradient's
            length before clipping are means over all minibatches of the update; explained_variance is that of
            ``batch.values``, 0 where the returns do not differ. All are 0 if no row counts.
        """
        self._run(lambda: self._begin(batch, permutations, recomputed), recomputed is not None)
        return {name: value.clone() for name, value in self._diagnosed().items()}

    def _run(self, begin: Part, recomputes: bool) -> None:
        """One update from the rows that ``begin`` settles, without CUDA graphs."""
        # how many passes are one call: all of them in C++ if nothing is done between two
        in_cpp = self._in_cpp() is not None
        between = recomputes or self.may_end_early or self.processes.several  # whether something is done between passes
        at_once = self.num_epochs if in_cpp and self.passes_in_cpp and not between else 1
        # the passes
        with one_torch_thread() if in_cpp else contextlib.nullcontext():
            self._parts(begin, at_once).run()
        self._passes.drop()

    def _parts(self, begin: Part, at_once: int) -> UpdateParts:
        """An update from the rows that ``begin`` settles; the first part takes so many passes."""

        def first() -> None:
            begin()
            self._pass(at_once)

        def another() -> None:
            self._passes.recompute_targets()
            self._pass()

        def is_enough() -> bool:
            return self.is_enough(self._passes.latest())

        passes = self.num_epochs // at_once
        return UpdateParts(first, another, self._end, passes, is_enough if self.may_end_early else None)

    def _begin(self, batch: Experience, permutations: Permutations, recomputed: RecomputedTargets | None) -> None:
        settings = self.settings
        minibatches = Minibatches(batch, settings.num_minibatches, self.processes, self.shuffles_all, self._shuffler)
        self._passes.begin(minibatches, permutations, recomputed)

    def _pass(self, count: int = 1) -> None:
        if self._passes.minibatches.total:
            self._passes.end(self._epoch(self._passes.minibatches, self._passes.shuffle(count)), count)

    def _end(self) -> None:
        """Let a normaliser take the rows in, and leave the diagnostics at their place."""
        minibatches = self._passes.minibatches
        if minibatches.total == 0:
            self._found.zero_()
            return
        # the normaliser of observations
        rows = minibatches.rows.rows if self.shuffles_all else minibatches.rows.counted_rows()
        self.take_in(rows.observations, minibatches.num_rows, rows.mask)
        # diagnostics, in the tensor that stays at its place
        found = {**self._passes.means(), "explained_variance": self._explained_variance(rows, minibatches.num_rows)}
        torch.stack([found[name].float() for name in self.diagnostics], out=self._found)

    def _diagnosed(self) -> dict[str, Tensor]:
        """The diagnostics of the latest update, until the next."""
        return dict(zip(self.diagnostics, self._found.unbind(), strict=True))

    def _epoch(self, minibatches: Minibatches, epoch: Epoch) -> Tensor:
        """The passes of an epoch; returns the diagnostics of each minibatch, (minibatches, ``Passes.names``)."""
        rows = minibatches.rows
        if self.settings.norm_adv and self.processes.several:
            rows = minibatches.normalised(epoch)
        found = self._steps(rows, epoch)
        if found is not None:
            return found
        gradients = spanned_items(GRADIENT, self._gradients(rows, epoch))
        return self._passes.rows_of(
            [self._step(found, share) for found, share in zip(gradients, epoch.shares, strict=True)]
        )

    def _steps(self, rows: Experience, epoch: Epoch) -> Tensor | None:
        """Make all steps of an epoch in C++ where that can take them; None elsewhere."""
        in_cpp = self._in_cpp() if self.passes_in_cpp and not self.processes.several else None
        found = None if in_cpp is None else in_cpp.steps(rows, epoch, self.settings.max_grad_norm)
        columns = [(*DIAGNOSTICS, "grad_norm").index(name) for name in self._of_loss]
        return None if found is None else found[:, columns]

    def _gradients(self, rows: Experience, epoch: Epoch) -> Iterator[dict[str, Tensor]]:
        """Leave each minibatch's gradient in the parameters' ``grad`` and give its diagnostics, none without a row."""
        in_cpp = self._in_cpp()
        if in_cpp is None:
            return by_autograd(rows, epoch, self.losses, self.parameters)
        return in_cpp.gradients(rows, epoch)

    def _in_cpp(self) -> InCpp | None:
        """The C++ gradients of the present update; None if torch computes them."""
        fused = fused_gradient(self.policy)
        loss = None if fused is None else self.fused_loss()
        return None if fused is None or loss is None else InCpp(fused, loss, self.policy, self.parameters)

    def _step(self, diagnostics: dict[str, Tensor], share: float) -> dict[str, Tensor]:
        """One step of Adam along the present gradient; adds its length to the loss's diagnostics."""
        if self.processes.several:
            diagnostics = self._sum(diagnostics, share)
        return {**diagnostics, "grad_norm": self.parameters.step(self.settings.max_grad_norm)}

    def _sum(self, diagnostics: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
        """Make the gradient, and with it the diagnostics, those of all processes' rows of the minibatch.

        Both are means over rows, so that each process's count as much as its share of the rows.
        """
        gradient, names = self.parameters.gradient, self.loss_diagnostics
        if diagnostics:
            own = torch.stack([diagnostics[name] for name in names])
            torch.cat((gradient, own), out=self._summed).mul_(share)
        else:
            self._summed.zero_()
        self.processes.sum(self._summed)
        gradient.copy_(self._summed[: len(gradient)])
        return dict(zip(names, self._summed[len(gradient) :].clone(), strict=True))

    def _explained_variance(self, rows: Batch, total: int) -> Tensor:
        """1 - Var(returns - values) / Var(returns): 1 is perfect, 0 no better than a constant, or equal returns."""
        values = self.units.of_values(rows.values)
        if rows.mask is None and not self.processes.several:
            unexplained, variance = self._variance(rows.returns, values), self._variance(rows.returns)
        else:
            both = torch.stack((rows.returns - values, rows.returns), 1)
            if self.processes.several:
                _, (unexplained, variance) = self.processes.moments(both, total)
            else:
                _, _, (unexplained, variance) = moments(both, rows.mask)
        return torch.where(variance > 0, 1.0 - unexplained / variance, 0.0)

    def _variance(self, numbers: Tensor, less: Tensor | None = None) -> Tensor:
        """Variance of ``numbers``, or of ``numbers - less``; captured updates read nothing to the host."""
        found = fused_variance(numbers, less) if self._captured is None and numbers.device.type == "cpu" else None
        return variance_of(numbers if less is None else numbers - less) if found is None else found

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The optimiser, as references to the live tensors; the weights are saved with the policies."""
        return {"optimizer": self.parameters.optimizer.state_dict()}

    def check_state(self, saved: Mapping[str, Any]) -> None:
        """Whether the optimiser's state fits the policy."""
        if "optimizer" not in saved:
            raise RunError(f"the saved learner holds {', '.join(saved) or 'nothing'}, expected optimizer")
        self.parameters.check_state(saved["optimizer"])

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue from a ``state_dict``, copying its tensors.

        Raises:
            RunError: the state belongs to a policy of other sizes.
        """
        self.parameters.load_state(saved["optimizer"])
        if self._captured is not None:
            self._captured.forget()
