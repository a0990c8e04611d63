"""The kernels for passes over sequences against float64, with autograd through a minimal GRU's own formulas."""

from __future__ import annotations

import copy
from typing import Any, Literal

import pytest
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn

import warpworld
from tests.trainers.algorithms.test_choice_loss import SETTINGS, rows_of, terms_of
from tests.trainers.algorithms.wide_muon import WideMuon
from warpworld.policies import MLP, Categorical, MinGRU, ObservationNormaliser, Policy, Recurrent, RecurrentPolicy
from warpworld.policies.fused import RateRule
from warpworld.trainers.algorithms.a2c import A2CSettings, a2c_loss
from warpworld.trainers.algorithms.experience import Batch, Experience, Sequences
from warpworld.trainers.algorithms.parameters import OPTIMIZERS, FlatParameters, KLRate
from warpworld.trainers.algorithms.ppo import ppo_loss
from warpworld.trainers.algorithms.updates.gradients import minibatches_of
from warpworld.trainers.algorithms.updates.joint_passes import DuePasses, PassLaunches, launch_together
from warpworld.trainers.algorithms.updates.minibatches import Epoch
from warpworld.trainers.algorithms.updates.optimizer_steps import KernelSteps, are_plain
from warpworld.trainers.algorithms.updates.sequence_passes import SequenceKernels, sequence_kernels

pytestmark = pytest.mark.usefixtures("whole_products")

FEATURES, HEADS, STEPS = 5, (2, 3), 11
UNLIMITED = 1e9

# hidden layers of the encoder, activation, units and layers of the memory
NETWORKS: dict[str, tuple[tuple[int, ...], Literal["tanh", "relu"], int, int]] = {
    "an encoder and two layers of memory": ((20, 9), "tanh", 17, 2),
    "more than a tile": ((40,), "relu", 70, 1),
    "no encoder": ((), "tanh", 6, 1),
}


def policy_of(name: str, normalises: bool = False) -> RecurrentPolicy:
    hidden, activation, size, layers = NETWORKS[name]
    with torch.random.fork_rng():
        torch.manual_seed(3)
        encoder = MLP.encoder(Box(-1.0, 1.0, (FEATURES,)), hidden_sizes=hidden, activation=activation)
        model = Recurrent(encoder, MinGRU(hidden[-1] if hidden else FEATURES, size, layers), sum(HEADS))
        for parameter in model.parameters():  # the actor's last layer and most biases begin near 0
            nn.init.normal_(parameter, std=0.4)
        normaliser = ObservationNormaliser(FEATURES) if normalises else None
        if normaliser is not None:
            normaliser.update(3.0 * torch.randn(50, FEATURES) + 1.0)
    return RecurrentPolicy(model, Categorical(HEADS), normaliser)


def perceptrons() -> Policy:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = MLP(Box(-1.0, 1.0, (FEATURES,)), sum(HEADS), hidden_sizes=(40, 9), activation="tanh")
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.4)
    return Policy(model, Categorical(HEADS))


class Made:
    """A policy with the kernels of its gradients, in a world of some envs; perceptrons where no network is named.

    The world is reset unless the launches are given.
    """

    def __init__(
        self,
        name: str | None,
        num_envs: int = 5,
        optimizer: str = "adam",
        normalises: bool = False,
        is_reduced: bool = False,
        launches: PassLaunches | None = None,
    ) -> None:
        world = warpworld.make("cartpole", num_envs=num_envs) if launches is None else launches.world
        policy: Policy = perceptrons() if name is None else policy_of(name, normalises)
        self.policy, self.device = policy.to(world.device), world.device
        self.parameters = FlatParameters(self.policy, 1e-3, OPTIMIZERS[optimizer])
        kernels = sequence_kernels(self.policy, self.parameters, launches or PassLaunches(world), is_reduced)
        assert kernels is not None
        self.kernels: SequenceKernels = kernels
        if launches is None:
            world.reset()

    def rows(self, count: int) -> Batch:
        """Single rows near to what the policy gives."""
        generator = torch.Generator().manual_seed(count)
        rows = rows_of(HEADS, count, True, self.device)[2]
        rows = rows.with_columns(observations=torch.randn(count, FEATURES, generator=generator).to(self.device))
        with torch.no_grad():
            outputs, values = rows.evaluated(self.policy)
            found = Categorical(HEADS).log_prob_and_entropy(outputs, rows.actions, rows.action_masks)
        near = 0.4 * torch.randn(2, count, generator=generator).to(self.device)
        return rows.with_columns(log_probs=found[0] + near[0], values=values + near[1])

    def sequences(self, count: int, masked: bool = False) -> Sequences:
        """Sequences near to what the policy gives, in which episodes begin."""
        generator = torch.Generator().manual_seed(count)
        rows = rows_of(HEADS, count * STEPS, masked, self.device)[2]
        seen = torch.randn(count * STEPS, FEATURES, generator=generator).to(self.device)
        states = torch.randn(count, self.policy.state_size, generator=generator).to(self.device)
        starts = (torch.rand(count, STEPS, generator=generator) < 0.2).to(self.device)
        rows = rows.with_columns(observations=seen)
        near = 0.4 * torch.randn(2, count * STEPS, generator=generator).to(self.device)
        with torch.no_grad():
            outputs, values = Sequences(rows, states, starts).evaluated(self.policy)
            found = Categorical(HEADS).log_prob_and_entropy(outputs, rows.actions, rows.action_masks)
        return Sequences(rows.with_columns(log_probs=found[0] + near[0], values=values + near[1]), states, starts)

    def right(
        self, rows: Experience, settings: Any, given: nn.Module | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Gradient and diagnostics of a minibatch in float64, by the weights of another policy if one is given."""
        policy = copy.deepcopy(given or self.policy).double()
        wide = {name: each.double() if each.is_floating_point() else each for name, each in rows.rows.named_tensors()}
        batch = Batch(**wide)  # type: ignore[arg-type]
        wide_rows: Experience = batch
        if isinstance(rows, Sequences):
            wide_rows = Sequences(batch, rows.states.double(), rows.starts)
        outputs, values = wide_rows.evaluated(policy)  # type: ignore[arg-type]
        found = Categorical(HEADS).log_prob_and_entropy(outputs, batch.actions, batch.action_masks)
        loss_of: Any = a2c_loss if isinstance(settings, A2CSettings) else ppo_loss
        loss, diagnostics = loss_of(*found, values, batch, settings)
        placed = FlatParameters(copy.deepcopy(self.policy).double(), 1e-3)
        gradients = torch.autograd.grad(loss, list(policy.parameters()))
        for place, gradient in zip(placed.parts, gradients, strict=True):
            assert place.grad is not None
            place.grad.copy_(gradient)
        return placed.gradient, diagnostics


def epoch_of(count: int, parts: int, passes: int, device: torch.device) -> Epoch:
    """Passes over some sequences, each in an order of its own."""
    lengths = [count // parts + (part < count % parts) for part in range(parts)]
    order = torch.randperm(count, generator=torch.Generator().manual_seed(count)).to(device)
    orders = [order.roll(17 * number) for number in range(passes)]
    return Epoch(torch.cat(orders), lengths * passes, [1.0] * parts * passes, passes)


def compare(mine: Made, rows: Sequences, epoch: Epoch, settings: Any) -> None:
    """Gradients to 1e-5 of the largest, lengths and diagnostics to 1e-5."""
    assert mine.kernels.takes(rows, epoch)
    minibatches = minibatches_of(rows, epoch)
    for (norm, said), minibatch in zip(
        mine.kernels(rows, epoch, terms_of(settings), UNLIMITED), minibatches, strict=True
    ):
        gradient, diagnostics = mine.right(minibatch, settings)
        scale = float(gradient.abs().max())
        torch.testing.assert_close(mine.parameters.gradient.double() / scale, gradient / scale, rtol=0, atol=1e-5)
        torch.testing.assert_close(norm.double(), gradient.norm(), rtol=1e-5, atol=1e-6)
        for name, value in diagnostics.items():
            torch.testing.assert_close(said[name].double(), value, rtol=1e-5, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(
    ("network", "count", "masked"), list(zip(NETWORKS, (7, 40, 3), (True, False, True), strict=True))
)
@pytest.mark.parametrize("name", ["ppo", "a2c"])
def test_gradients_and_diagnostics_are_those_of_float64(name: str, network: str, count: int, masked: bool) -> None:
    mine = Made(network, normalises=name == "ppo")
    compare(mine, mine.sequences(count, masked), epoch_of(count, 2, 1, mine.device), SETTINGS[name])


RULE = RateRule(0.02, 2e-4, 4e-3)


def plain_adam(vector: nn.Parameter, rate: float, _: object) -> torch.optim.Optimizer:
    return torch.optim.Adam([vector], rate, eps=1e-5)


def ready(mine: Made) -> torch.optim.Optimizer:
    """The optimiser, with moments and a rate on the device."""
    mine.parameters.tensors()
    mine.parameters.rate_on_device()
    assert are_plain(mine.parameters.optimizer, mine.parameters.vector)
    return mine.parameters.optimizer


@pytest.mark.long
@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_steps_are_those_of_float64(optimizer: str) -> None:
    """Twelve of them, at a rate that follows the divergence."""
    mine, settings, longest = Made("an encoder and two layers of memory", 7, optimizer), SETTINGS["ppo"], 0.5
    rows, epoch = mine.sequences(14, True), epoch_of(14, 4, 3, mine.device)
    # float64: the same minibatches, torch's own clipping, and Adam or Muon
    right = copy.deepcopy(mine.policy).double()
    flat = FlatParameters(right, 1e-3, WideMuon if optimizer == "muon" else plain_adam)
    rate = KLRate(flat, RULE)
    for minibatch in minibatches_of(rows, epoch):
        gradient, said = mine.right(minibatch, settings, right)  # type: ignore[arg-type]
        flat.gradient.copy_(gradient)
        rate.follow(said["approx_kl"])
        flat.step(longest)
    # the kernel
    steps = KernelSteps(ready(mine), mine.kernels.moves, (RULE.desired_kl, RULE.lowest, RULE.highest))
    mine.kernels.steps(rows, epoch, terms_of(settings), longest, steps)()
    torch.testing.assert_close(mine.parameters.vector.double(), flat.vector, rtol=0, atol=1e-5)
    assert float(mine.parameters.rate_on_device()) == pytest.approx(flat.learning_rate)


def test_steps_do_not_depend_on_which_block_takes_what() -> None:
    """Nor on how many there are; and the turns are counted anew in each launch."""
    found = []
    for num_envs in (1, 2, 9, 40):
        mine = Made("an encoder and two layers of memory", num_envs)
        rows, steps = mine.sequences(6, True), KernelSteps(ready(mine), mine.kernels.moves)
        said = [
            mine.kernels.steps(rows, epoch_of(6, 2, 2, mine.device), terms_of(SETTINGS["ppo"]), 0.5, steps)()
            for _ in range(2)
        ]
        found.append((mine.parameters.vector.detach().clone(), *said))
        assert not mine.kernels._counters.any()
    for other in found[1:]:
        assert all(torch.equal(one, each) for one, each in zip(found[0], other, strict=True))


@pytest.mark.parametrize("num_envs", [1, 9])
def test_policies_in_one_launch_learn_what_each_learns_alone(num_envs: int) -> None:
    names, counts = ("an encoder and two layers of memory", None), (6, 5)
    launches = PassLaunches(warpworld.make("cartpole", num_envs=num_envs))
    joint = [Made(name, num_envs, launches=launches) for name in names]
    launches.world.reset()
    alone = [Made(name, num_envs) for name in names]

    def due(mine: Made, count: int) -> DuePasses:
        rows = mine.sequences(count, True) if mine.kernels._network.memory else mine.rows(count)
        steps = KernelSteps(ready(mine), mine.kernels.moves)
        return mine.kernels.steps(rows, epoch_of(count, 2, 2, mine.device), terms_of(SETTINGS["ppo"]), 0.5, steps)

    found = [due(mine, count) for mine, count in zip(joint, counts, strict=True)]
    launch_together(found)
    for each, mine, count in zip(found, alone, counts, strict=True):
        assert not each.is_due and torch.equal(each(), due(mine, count)())
    for one, other in zip(joint, alone, strict=True):
        assert torch.equal(one.parameters.vector, other.parameters.vector)


# ---- bfloat16 --------------------------------------------------------------------------------------------------------
class RoundedProduct(torch.autograd.Function):
    """A layer in float64 that rounds what it reads, its weights and the gradient behind it to bfloat16."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        read, weights = x.bfloat16().double(), weight.bfloat16().double()
        ctx.save_for_backward(read, weights)
        return read @ weights.t() + bias

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        read, weights = ctx.saved_tensors
        behind = gradient.bfloat16().double()
        flat = behind.flatten(0, -2)
        return behind @ weights, flat.t() @ read.flatten(0, -2), flat.sum(0)


class RoundedLinear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return RoundedProduct.apply(x, self.weight, self.bias)


def rounded(policy: Policy) -> Policy:
    """A copy whose layers round, but for the last ones."""
    copied = copy.deepcopy(policy)
    hidden = [each for each in copied.model.modules() if type(each) is nn.Linear]
    for each in hidden:
        if each.out_features not in (sum(HEADS), 1):
            each.__class__ = RoundedLinear
    return copied


@pytest.mark.long
@pytest.mark.parametrize("network", [None, "an encoder and two layers of memory"])
def test_layers_but_the_last_ones_multiply_in_bfloat16(network: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, settings = Made(network, is_reduced=True), SETTINGS["ppo"]
    rows = mine.rows(70) if network is None else mine.sequences(7, True)
    epoch = epoch_of(len(rows), 1, 1, mine.device)
    assert not mine.kernels.takes(rows, epoch)  # in float32
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: True)
    monkeypatch.setattr(torch, "get_autocast_dtype", lambda device: torch.bfloat16)
    assert mine.kernels.takes(rows, epoch)
    monkeypatch.undo()
    (_,) = mine.kernels(rows, epoch, terms_of(settings), UNLIMITED)
    (minibatch,) = minibatches_of(rows, epoch)
    right, plain = (mine.right(minibatch, settings, policy)[0] for policy in (rounded(mine.policy), mine.policy))
    # a number may lie so near to the middle of two that float32 and float64 round it apart, but few do
    off, apart = ((each - right).norm() for each in (mine.parameters.gradient.double(), plain))
    assert off < 0.1 * apart
