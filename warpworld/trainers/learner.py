"""What the algorithms share: from a rollout's rows to new weights."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.policies.fused import DIAGNOSTICS as FUSED_DIAGNOSTICS
from warpworld.policies.fused import FusedNetworks, Loss, fused_gradient
from warpworld.trainers.batch import Batch
from warpworld.trainers.distributed import ProcessGroup
from warpworld.trainers.minibatches import Epoch, Minibatches
from warpworld.trainers.schedules import Schedule, value_at
from warpworld.trainers.sequences import Experience

ADAM_EPS = 1e-5
ALIGNMENT = 4  # numbers; 16 bytes of float32, at whose multiples cuBLAS wants every matrix for its fastest kernels
_UNFIT = (AttributeError, LookupError, RuntimeError, TypeError, ValueError)  # what torch meets a wrong state with

Losses = tuple[Tensor, dict[str, Tensor]]


class LearnerSettings(Protocol):
    """What every learner reads of a policy's settings."""

    learning_rate: Schedule
    anneal_lr: bool
    gamma: float
    gae_lambda: float
    num_minibatches: int
    norm_adv: bool
    ent_coef: Schedule
    vf_coef: float
    max_grad_norm: float


class Learner(ABC):
    """One policy's learner: the policy, its optimiser and its settings.

    All parameters of the policy that require a gradient are views of one vector, and so are their gradients: the
    gradient's length and Adam's step are one operation each, whatever the number of layers. The zeros between the
    views have no gradient, so that they stay zeros and count for nothing. Among several processes
    each adds up what its own rows say, and one sum over all of them a minibatch makes it what a single process with all
    rows would have; the weights stay the same in all, bit for bit.

    Attributes:
        policy: trained in place.
        settings: learning settings.
        optimizer: Adam over the one vector.
        env_steps: where the training stands, for the schedules.
        processes: those that learn together.
        diagnostics: names of the metrics that an update gives.
    """

    def __init__(
        self, policy: Policy, settings: LearnerSettings, loss_diagnostics: Sequence[str], processes: ProcessGroup
    ) -> None:
        self.policy = policy
        self.settings = settings
        self.processes = processes
        self.env_steps = 0
        self._parameters = flattened(policy)
        self.optimizer = _adam(self._parameters, value_at(settings.learning_rate, 0))
        self._of_loss = (*loss_diagnostics, "grad_norm")
        self.diagnostics = (*self._of_loss, "explained_variance")
        self._summed = self._parameters.new_zeros(len(self._parameters) + len(loss_diagnostics))

    # ---- what an algorithm says --------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def num_epochs(self) -> int:
        """Passes over a rollout, at most."""

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

    @abstractmethod
    def fused_loss(self) -> Loss:
        """The same loss, as fused kernels are told of it."""

    def is_enough(self, diagnostics: Mapping[str, Tensor]) -> bool:
        """Whether to leave further epochs out, given the diagnostics of an epoch's last minibatch."""
        return False

    @property
    def norm_adv(self) -> bool:
        """Whether the loss is to normalise advantages; among several processes ``update`` has done so before."""
        return self.settings.norm_adv and not self.processes.several

    def losses(self, minibatch: Experience) -> Losses:
        """The loss of a minibatch under the present policy, and its diagnostics."""
        rows, (outputs, values) = minibatch.rows, minibatch.evaluated(self.policy)
        log_probs, entropies = self.policy.distribution.log_prob_and_entropy(outputs, rows.actions, rows.action_masks)
        return self.loss_of(log_probs, entropies, values, rows)

    # ---- schedules ---------------------------------------------------------------------------------------------------
    @property
    def learning_rate(self) -> float:
        """The learning rate that the next update uses."""
        return float(self.optimizer.param_groups[0]["lr"])

    def set_progress(self, fraction: float, env_steps: int) -> None:
        """Say where the training stands, before each update.

        Args:
            fraction: of the run that is done, in [0, 1]: with ``anneal_lr`` the learning rate falls in proportion.
            env_steps: env steps done, which schedules go by.
        """
        self.env_steps = env_steps
        remaining = 1.0 - min(max(fraction, 0.0), 1.0) if self.settings.anneal_lr else 1.0
        self.optimizer.param_groups[0]["lr"] = remaining * value_at(self.settings.learning_rate, env_steps)

    # ---- learning ----------------------------------------------------------------------------------------------------
    def update(
        self, batch: Experience, generator: torch.Generator, returns: Callable[[], Tensor] | None = None
    ) -> dict[str, Tensor]:
        """Learn from a rollout: ``num_epochs`` passes in a new order, each in ``num_minibatches`` steps of Adam.

        Rows that do not count are dropped first; of a recurrent policy, sequences in which none does. The host does not
        wait for the device, but with a mask once at the start, and with PPO's ``target_kl`` once an epoch. A normaliser
        takes the rows in when all is done.

        Args:
            batch: rows on the policy's device, sequences for a recurrent policy.
            generator: what the orders are drawn from, and nothing else; in the same state in all processes.
            returns: what gives new value targets for all rows of the batch, by the present weights, before each pass
                but the first; None keeps the batch's.

        Returns:
            ``diagnostics`` by name, () float32 each, on the policy's device. Those of the loss and the gradient's
            length before clipping are means over all minibatches of the update; explained_variance is that of
            ``batch.values``, 0 where the returns do not differ. All are 0 if no row counts.
        """
        minibatches = Minibatches(batch, self.settings.num_minibatches, self.processes)
        if minibatches.total == 0:
            return dict(zip(self.diagnostics, self._parameters.new_zeros(len(self.diagnostics)), strict=True))
        seen: list[dict[str, Tensor]] = []
        for number in range(self.num_epochs):
            if number > 0 and returns is not None:
                minibatches.retarget(returns())
            seen += self._epoch(minibatches, minibatches.deal(generator))
            if self.is_enough(seen[-1]):
                break
        rows = minibatches.rows.counted_rows()
        self._take_in(rows.observations, minibatches.num_rows)
        found = {name: torch.stack([d[name] for d in seen]).mean() for name in self._of_loss}
        return {**found, "explained_variance": self._explained_variance(rows, minibatches.num_rows)}

    def _epoch(self, minibatches: Minibatches, epoch: Epoch) -> list[dict[str, Tensor]]:
        """One pass; returns the diagnostics of each minibatch."""
        rows = minibatches.rows
        if self.settings.norm_adv and self.processes.several:
            rows = minibatches.normalised(epoch)
        fused = fused_gradient(self.policy)
        gradients = self._fused_gradients(fused, rows.rows, epoch) if fused else self._gradients(rows, epoch)
        return [self._step(found, share) for found, share in zip(gradients, epoch.shares, strict=True)]

    def _gradients(self, rows: Experience, epoch: Epoch) -> Iterator[dict[str, Tensor]]:
        """Leave each minibatch's gradient in the parameters' ``grad`` and give its diagnostics, none without a row."""
        gradient = self._parameters.grad
        assert gradient is not None
        for minibatch in rows.take(epoch.order).split(epoch.lengths):
            diagnostics: dict[str, Tensor] = {}
            if len(minibatch):
                loss, diagnostics = self.losses(minibatch)
                gradient.zero_()
                loss.backward()
            yield diagnostics

    def _fused_gradients(self, fused: FusedNetworks, rows: Batch, epoch: Epoch) -> Iterator[dict[str, Tensor]]:
        """The same without autograd, and without a copy of the rows."""
        if self.policy.normaliser is not None:
            rows = dataclasses.replace(rows, observations=self.policy.normaliser(rows.observations))
        with _one_torch_thread():
            for part in epoch.order.split(epoch.lengths):
                found = fused.gradient(rows, part, self.fused_loss()).float() if len(part) else ()
                yield dict(zip(FUSED_DIAGNOSTICS, found, strict=False))

    def _step(self, diagnostics: dict[str, Tensor], share: float) -> dict[str, Tensor]:
        """One step of Adam along the present gradient; adds its length to the loss's diagnostics."""
        if self.processes.several:
            diagnostics = self._sum(diagnostics, share)
        norm = nn.utils.clip_grad_norm_(self._parameters, self.settings.max_grad_norm)
        self.optimizer.step()
        return {**diagnostics, "grad_norm": norm}

    def _sum(self, diagnostics: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
        """Make the gradient, and with it the diagnostics, those of all processes' rows of the minibatch.

        Both are means over rows, so that each process's count as much as its share of the rows.
        """
        gradient, names = self._parameters.grad, self._of_loss[:-1]
        assert gradient is not None
        if diagnostics:
            own = torch.stack([diagnostics[name] for name in names])
            torch.cat((gradient, own), out=self._summed).mul_(share)
        else:
            self._summed.zero_()
        self.processes.sum(self._summed)
        gradient.copy_(self._summed[: len(gradient)])
        return dict(zip(names, self._summed[len(gradient) :].clone(), strict=True))

    def _take_in(self, observations: Tensor, total: int) -> None:
        """Let a normaliser take in the observations of all processes."""
        normaliser = self.policy.normaliser
        if normaliser is None:
            return
        if self.processes.several:
            normaliser.merge(total, *self.processes.moments(observations.double(), total))
        else:
            normaliser.update(observations)

    def _explained_variance(self, rows: Batch, total: int) -> Tensor:
        """1 - Var(returns - values) / Var(returns): 1 is perfect, 0 no better than a constant, or equal returns."""
        errors = rows.returns - rows.values
        if self.processes.several:
            _, (unexplained, variance) = self.processes.moments(torch.stack((errors, rows.returns), 1), total)
        else:
            unexplained, variance = errors.var(correction=0), rows.returns.var(correction=0)
        return torch.where(variance > 0, 1.0 - unexplained / variance, 0.0)

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """Weights and optimiser, as references to the live tensors."""
        return {"policy": self.policy.state_dict(), "optimizer": self.optimizer.state_dict()}

    def check_optimizer(self, state: Any) -> None:
        """Try a saved state of the optimiser on another one, whose step nobody feels.

        Raises:
            RunError: the state is none of Adam's, one of other sizes, or an older version's.
        """
        vector = nn.Parameter(torch.zeros_like(self._parameters))
        vector.grad = torch.zeros_like(vector)
        trial = _adam(vector, self.learning_rate)
        try:
            trial.load_state_dict(copy.deepcopy(state))
            for key, moment in trial.state[vector].items():
                if key == "step" or moment.shape == vector.shape:
                    continue
                if moment.shape == (sum(parameter.numel() for parameter in _trained(self.policy)),):
                    raise RunError(
                        "the optimiser's state was saved by an older version of warpworld, which put no padding "
                        "between weights; go on with that version, or begin a new run whose policies have the old one "
                        "as their initial_weights"
                    )
                raise ValueError(f"{key} has shape {tuple(moment.shape)}, expected {tuple(vector.shape)}")
            trial.step()
        except _UNFIT as error:
            raise _does_not_fit(error) from error

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a ``state_dict``, copying its tensors.

        Raises:
            RunError: the state belongs to a policy of other sizes.
        """
        try:
            self.policy.load_state_dict(state["policy"])
            # without a copy Adam would adopt the moments themselves, and two learners would share them
            self.optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        except _UNFIT as error:
            raise _does_not_fit(error) from error


def _does_not_fit(error: Exception) -> RunError:
    said = f"it lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
    return RunError(
        f"the saved state does not fit this policy ({said}); use the model settings and the env that it was saved with"
    )


def flattened(policy: nn.Module) -> nn.Parameter:
    """One vector of all parameters, which they and their gradients become views of; do not move the policy after.

    Each view begins at a multiple of ``ALIGNMENT`` numbers, with zeros behind it up to the next. Parameters with
    ``requires_grad=False`` are left out and keep their values.
    """
    parameters = _trained(policy)
    padded = [functional.pad(parameter.detach().flatten(), (0, _padding(parameter))) for parameter in parameters]
    vector = nn.Parameter(torch.cat(padded))
    vector.grad = torch.zeros_like(vector)
    first = 0
    for parameter in parameters:
        part = slice(first, first + parameter.numel())
        parameter.data = vector.detach()[part].view_as(parameter)
        parameter.grad = vector.grad[part].view_as(parameter)
        first = part.stop + _padding(parameter)
    return vector


def _trained(policy: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in policy.parameters() if parameter.requires_grad]


def _padding(parameter: Tensor) -> int:
    return -parameter.numel() % ALIGNMENT


@contextlib.contextmanager
def _one_torch_thread() -> Iterator[None]:
    """Keep torch to the calling thread: after an operation its others spin, on the cores that fused kernels want."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _adam(parameters: nn.Parameter, learning_rate: float) -> torch.optim.Adam:
    """Adam, fused into one kernel where this torch can do that for the policy's device."""
    try:
        return torch.optim.Adam([parameters], lr=learning_rate, eps=ADAM_EPS, fused=True)
    except RuntimeError:
        return torch.optim.Adam([parameters], lr=learning_rate, eps=ADAM_EPS)
