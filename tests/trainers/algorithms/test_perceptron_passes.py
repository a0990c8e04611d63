"""The kernels for gradients of small perceptrons against float64, with autograd and the losses' own formulas."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn

import warpworld
from tests.trainers.algorithms.test_choice_loss import SETTINGS, rows_of, terms_of
from tests.trainers.algorithms.wide_muon import WideMuon
from warpworld.policies import MLP, Categorical, Gaussian, ObservationNormaliser, Policy
from warpworld.policies.fused import DIAGNOSTICS, RateRule
from warpworld.trainers.algorithms.a2c import A2CSettings, a2c_loss
from warpworld.trainers.algorithms.experience import Batch
from warpworld.trainers.algorithms.parameters import OPTIMIZERS, FlatParameters, KLRate
from warpworld.trainers.algorithms.ppo import PPOSettings, ppo_loss
from warpworld.trainers.algorithms.updates import pass_kernels, perceptron_passes
from warpworld.trainers.algorithms.updates.gradients import minibatches_of
from warpworld.trainers.algorithms.updates.joint_passes import DuePasses, PassLaunches, launch_together
from warpworld.trainers.algorithms.updates.minibatches import Epoch
from warpworld.trainers.algorithms.updates.optimizer_steps import KernelSteps, are_plain
from warpworld.trainers.algorithms.updates.perceptron_passes import PerceptronKernels, perceptron_kernels

pytestmark = pytest.mark.usefixtures("whole_products")

FEATURES, CENTRAL = 5, 7
UNLIMITED = 1e9

# heads, hidden layers, activation
NETWORKS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Any]] = {
    "two layers": ((2, 5, 3), (20, 9), "tanh"),
    "one wide layer": ((4, 4), (66,), "relu"),
    "no hidden layer": ((3,), (), "tanh"),
    "all of a block's memory": ((10,), (80, 64), "relu"),
}


def space(size: int) -> Box:
    return Box(-float("inf"), float("inf"), (size,))


def policy_of(name: str, normalises: bool = False, central: bool = False) -> Policy:
    heads, hidden, activation = NETWORKS[name]
    critic = space(CENTRAL) if central else None
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = MLP(space(FEATURES), sum(heads), critic, hidden_sizes=hidden, activation=activation)
        for parameter in model.parameters():  # the actor's last layer and all biases begin near 0
            nn.init.normal_(parameter, std=0.5)
        normaliser = ObservationNormaliser(FEATURES) if normalises else None
        if normaliser is not None:
            normaliser.update(3.0 * torch.randn(50, FEATURES) + 1.0)
    return Policy(model, Categorical(heads), normaliser, critic)


class Made:
    """A policy with the kernels of its gradients, in a world of some envs, which is reset where it is its own."""

    def __init__(
        self, name: str, num_envs: int = 5, optimizer: str = "adam", launches: PassLaunches | None = None, **kinds: bool
    ) -> None:
        world = warpworld.make("cartpole", num_envs=num_envs) if launches is None else launches.world
        self.policy, self.heads = policy_of(name, **kinds).to(world.device), NETWORKS[name][0]
        self.parameters = FlatParameters(self.policy, 1e-3, OPTIMIZERS[optimizer])
        kernels = perceptron_kernels(self.policy, self.parameters, launches or PassLaunches(world))
        assert kernels is not None
        self.kernels: PerceptronKernels = kernels
        self.device = world.device
        if launches is None:
            world.reset()

    def rows(self, count: int, masked: bool = False) -> Batch:
        """Rows near to what the policy gives, so that some are clipped and some are not."""
        generator = torch.Generator().manual_seed(count)
        _, _, rows = rows_of(self.heads, count, masked, self.device)
        seen = {"observations": torch.randn(count, FEATURES, generator=generator)}
        if self.policy.critic_input is not None:
            seen["critic_inputs"] = torch.randn(count, CENTRAL, generator=generator)
        rows = rows.with_columns(**{name: tensor.to(self.device) for name, tensor in seen.items()})
        near = 0.4 * torch.randn(2, count, generator=generator).to(self.device)
        with torch.no_grad():
            outputs, values = self.policy(rows.observations, rows.critic_inputs)
            found = Categorical(self.heads).log_prob_and_entropy(outputs, rows.actions, rows.action_masks)
        return rows.with_columns(log_probs=found[0] + near[0], values=values + near[1])

    def found(self, rows: Batch, epoch: Epoch, settings: Any, longest: float = UNLIMITED) -> list[Any]:
        """Gradient, length and diagnostics of each minibatch."""
        assert self.kernels.takes(rows, epoch)
        steps = self.kernels(rows, epoch, terms_of(settings), longest)
        return [(self.parameters.gradient.clone(), norm.clone(), said) for norm, said in steps]

    def right(self, rows: Batch, settings: Any, given: Policy | None = None) -> tuple[Tensor, dict[str, Tensor]]:
        """Gradient and diagnostics of a minibatch in float64, by the weights of another policy if one is given."""
        policy = copy.deepcopy(given or self.policy).double()
        wide = {name: each.double() if each.is_floating_point() else each for name, each in rows.named_tensors()}
        rows = Batch(**wide)  # type: ignore[arg-type]
        outputs, values = policy(rows.observations, rows.critic_inputs)
        found = Categorical(self.heads).log_prob_and_entropy(outputs, rows.actions, rows.action_masks)
        loss_of: Any = a2c_loss if isinstance(settings, A2CSettings) else ppo_loss
        loss, diagnostics = loss_of(*found, values, rows, settings)
        parts = list(policy.parameters())
        placed = FlatParameters(copy.deepcopy(self.policy).double(), 1e-3)
        for place, gradient in zip(placed.parts, torch.autograd.grad(loss, parts), strict=True):
            assert place.grad is not None
            place.grad.copy_(gradient)
        return placed.gradient, diagnostics


made = cache(Made)


def assert_near(found: Any, right: tuple[Tensor, dict[str, Tensor]]) -> None:
    """Gradients to 1e-5 of the largest, lengths and diagnostics to 1e-5."""
    gradient, norm, said = found
    scale = float(right[0].abs().max()) + 1e-12
    torch.testing.assert_close(gradient.double() / scale, right[0] / scale, rtol=0, atol=1e-5)
    torch.testing.assert_close(norm.double(), right[0].norm(), rtol=1e-5, atol=1e-6)
    for name, value in right[1].items():
        torch.testing.assert_close(said[name].double(), value, rtol=1e-5, atol=1e-6)


def shuffled(count: int, parts: int, device: torch.device) -> Epoch:
    lengths = [count // parts + (part < count % parts) for part in range(parts)]
    order = torch.randperm(count, generator=torch.Generator().manual_seed(count))
    return Epoch(order.to(device), lengths, [1.0] * parts)


def compare(mine: Made, rows: Batch, epoch: Epoch, settings: Any) -> None:
    found = mine.found(rows, epoch, settings)
    order = torch.arange(len(rows), device=mine.device) if epoch.order is None else epoch.order
    minibatches = rows.take(order).split(epoch.lengths)
    for each, minibatch in zip(found, minibatches, strict=True):
        assert_near(each, mine.right(minibatch, settings))


@pytest.mark.long
@pytest.mark.parametrize("masked", [False, True], ids=["all count", "masked"])
@pytest.mark.parametrize("network", ["two layers", "one wide layer", "no hidden layer"])
@pytest.mark.parametrize("name", SETTINGS)
def test_gradients_and_diagnostics_are_those_of_float64(name: str, network: str, masked: bool) -> None:
    mine = made(network)
    compare(mine, mine.rows(301, masked), shuffled(301, 2, mine.device), SETTINGS[name])


@pytest.mark.long
def test_large_networks_take_few_rows_at_a_time() -> None:
    mine = made("all of a block's memory")
    assert mine.kernels.shape.tile < made("two layers").kernels.shape.tile
    compare(mine, mine.rows(70), shuffled(70, 2, mine.device), SETTINGS["ppo"])


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2, 31, 33, 129])
@pytest.mark.parametrize("num_envs", [1, 3, 40])
def test_any_number_of_rows_on_any_number_of_envs(num_envs: int, count: int) -> None:
    mine = made("two layers", num_envs)
    settings = PPOSettings(norm_adv=count > 2)  # of a single row or two the deviation is nearly nothing
    compare(mine, mine.rows(count), Epoch(None, [count], [1.0]), settings)


@pytest.mark.long
def test_what_networks_read_is_normalised_or_an_input_of_the_critic_s_own() -> None:
    for kinds in ({"normalises": True}, {"central": True}, {"normalises": True, "central": True}):
        mine = made("two layers", **kinds)
        compare(mine, mine.rows(60), shuffled(60, 1, mine.device), SETTINGS["ppo"])


@pytest.mark.parametrize("masked", [False, True], ids=["all count", "masked"])
def test_moments_of_many_rows_are_found_in_parts(masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pass_kernels, "ROWS_OF_MOMENTS", 32)
    mine = made("two layers")
    compare(mine, mine.rows(700, masked), shuffled(700, 2, mine.device), SETTINGS["ppo"])


def test_advantages_are_weighted_behind_their_normalisation() -> None:
    mine = made("two layers")
    weights = torch.rand(100, generator=torch.Generator().manual_seed(1)).to(mine.device)
    rows = mine.rows(100, True).with_columns(importance=weights)
    compare(mine, rows, shuffled(100, 3, mine.device), SETTINGS["ppo"])


@pytest.mark.parametrize("longest", [0.1, 1e3, float("inf")])
def test_gradients_are_scaled_down_as_torch_does_it(longest: float) -> None:
    mine = made("two layers")
    rows, epoch = mine.rows(100), shuffled(100, 1, mine.device)
    ((whole, norm, _),) = mine.found(rows, epoch, SETTINGS["a2c"])
    ((scaled, same, _),) = mine.found(rows, epoch, SETTINGS["a2c"], longest)
    vector = nn.Parameter(torch.zeros_like(whole))
    vector.grad = whole.clone()
    assert torch.equal(norm, same)
    torch.testing.assert_close(nn.utils.clip_grad_norm_(vector, longest), norm, rtol=1e-6, atol=0)
    torch.testing.assert_close(scaled, vector.grad, rtol=1e-6, atol=0)


# ---- steps -----------------------------------------------------------------------------------------------------------
RULE = RateRule(0.02, 2e-4, 4e-3)
PASSES, PARTS = 3, 4


def passes_of(count: int, device: torch.device) -> Epoch:
    """Passes over some rows, each in an order of its own."""
    one = shuffled(count, PARTS, device)
    assert one.order is not None
    orders = [one.order.roll(17 * number) for number in range(PASSES)]
    return Epoch(torch.cat(orders), one.lengths * PASSES, one.shares * PASSES, PASSES)


def ready(mine: Made) -> torch.optim.Optimizer:
    """The optimiser, with moments and a rate on the device."""
    mine.parameters.tensors()
    mine.parameters.rate_on_device()
    assert are_plain(mine.parameters.optimizer, mine.parameters.vector)
    return mine.parameters.optimizer


def plain_adam(vector: nn.Parameter, rate: float, _: object) -> torch.optim.Optimizer:
    return torch.optim.Adam([vector], rate, eps=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("optimizer", ["adam", "muon"])
@pytest.mark.parametrize("rule", [None, RULE], ids=["a fixed rate", "a rate that follows"])
def test_steps_are_those_of_float64(rule: RateRule | None, optimizer: str) -> None:
    mine, settings, longest = Made("two layers", 7, optimizer), SETTINGS["ppo"], 0.5
    rows, epoch = mine.rows(150, True), passes_of(150, mine.device)
    ends = None if rule is None else (rule.desired_kl, rule.lowest, rule.highest)
    # float64: the same minibatches, torch's own clipping, and Adam or Muon
    right = copy.deepcopy(mine.policy).double()
    flat = FlatParameters(right, 1e-3, WideMuon if optimizer == "muon" else plain_adam)
    rate, norms, rates = KLRate(flat, rule) if rule is not None else None, list[Tensor](), list[float]()
    for minibatch in minibatches_of(rows, epoch):
        gradient, said = mine.right(minibatch, settings, right)
        flat.gradient.copy_(gradient)
        if rate is not None:
            rate.follow(said["approx_kl"])
        norms.append(flat.step(longest))
        rates.append(flat.learning_rate)
    # the kernel
    moved = ready(mine)
    steps = KernelSteps(moved, mine.kernels.moves, ends)
    found = mine.kernels.steps(rows, epoch, terms_of(settings), longest, steps)()
    torch.testing.assert_close(mine.parameters.vector.double(), flat.vector, rtol=0, atol=1e-5)
    torch.testing.assert_close(found[:, -1].double(), torch.stack(norms), rtol=1e-4, atol=1e-6)
    assert float(moved.state[mine.parameters.vector]["step"]) == PASSES * PARTS
    assert float(mine.parameters.rate_on_device()) == pytest.approx(rates[-1])
    assert rule is None or len(set(rates)) > 2


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_steps_do_not_depend_on_which_block_takes_what(optimizer: str) -> None:
    """Nor on how many there are; and the turns are counted anew in each launch."""
    found = []
    for num_envs in (1, 2, 9, 40):
        mine = Made("two layers", num_envs, optimizer)
        rows, steps = mine.rows(150, True), KernelSteps(ready(mine), mine.kernels.moves)
        said = [
            mine.kernels.steps(rows, passes_of(150, mine.device), terms_of(SETTINGS["ppo"]), 0.5, steps)()
            for _ in range(2)
        ]
        found.append((mine.parameters.vector.detach().clone(), *said))
        assert not mine.kernels._counters.any()
    for other in found[1:]:
        assert all(torch.equal(one, each) for one, each in zip(found[0], other, strict=True))


@pytest.mark.long
@pytest.mark.parametrize(("num_envs", "optimizer"), [(1, "adam"), (3, "muon"), (40, "adam"), (40, "muon")])
def test_policies_in_one_launch_learn_what_each_learns_alone(num_envs: int, optimizer: str) -> None:
    """Two of one shape, whose rows and minibatches differ in number, and one of another; also without one of them."""
    names, counts = ("two layers", "no hidden layer", "two layers"), (150, 40, 33)
    launches = PassLaunches(warpworld.make("cartpole", num_envs=num_envs))
    joint = [Made(name, num_envs, optimizer, launches) for name in names]
    launches.world.reset()
    alone = [Made(name, num_envs, optimizer) for name in names]
    assert len({id(each.kernels._launch) for each in joint}) == 1

    def due(mine: Made, count: int) -> DuePasses:
        rows, steps = mine.rows(count, True), KernelSteps(ready(mine), mine.kernels.moves)
        epoch = passes_of(count, mine.device) if count > 40 else shuffled(count, 3, mine.device)
        return mine.kernels.steps(rows, epoch, terms_of(SETTINGS["ppo"]), 0.5, steps)

    for taking in ((0, 1, 2), (2, 0), (1,)):
        passes = [due(joint[i], counts[i]) for i in taking]
        launch_together([*passes, None])
        for i, each in zip(taking, passes, strict=True):
            assert not each.is_due and torch.equal(each(), due(alone[i], counts[i])())
        for one, other in zip(joint, alone, strict=True):
            assert torch.equal(one.parameters.vector, other.parameters.vector)
            assert not one.kernels._counters.any()


def test_a_launch_has_room_for_four_policies_of_one_kind() -> None:
    launches = PassLaunches(warpworld.make("cartpole", num_envs=2))
    made = [Made("no hidden layer", 2, kind, launches) for kind in ["adam"] * 5 + ["muon"]]
    numbers = [[id(one.kernels._launch) for one in made].index(id(each.kernels._launch)) for each in made]
    assert numbers == [0, 0, 0, 0, 4, 5]


def test_other_optimisers_take_their_own_steps() -> None:
    mine = Made("two layers")
    assert not are_plain(mine.parameters.optimizer, mine.parameters.vector)  # no step yet, and so no moments
    ready(mine)
    for name, value in (("weight_decay", 0.1), ("amsgrad", True), ("lr", 1e-3)):
        group = mine.parameters.optimizer.param_groups[0]
        group[name], before = value, group[name]
        assert not are_plain(mine.parameters.optimizer, mine.parameters.vector)
        group[name] = before
    assert are_plain(mine.parameters.optimizer, mine.parameters.vector)


def test_what_rows_that_do_not_count_hold_is_of_no_importance() -> None:
    mine = made("two layers")
    rows, epoch = mine.rows(150, True), shuffled(150, 2, mine.device)
    assert rows.mask is not None
    before = mine.found(rows, epoch, SETTINGS["ppo"])
    for column in (rows.observations, rows.advantages, rows.returns, rows.log_probs, rows.values):
        column[~rows.mask] = torch.nan
    for one, other in zip(before, mine.found(rows, epoch, SETTINGS["ppo"]), strict=True):
        assert torch.equal(one[0], other[0]) and torch.equal(one[1], other[1])
        assert all(torch.equal(one[2][name], other[2][name]) for name in DIAGNOSTICS)


def test_where_no_row_counts_nothing_has_a_gradient() -> None:
    mine = made("two layers")
    rows = mine.rows(50, True)
    assert rows.mask is not None
    rows.mask.fill_(False)
    ((gradient, norm, said),) = mine.found(rows, shuffled(50, 1, mine.device), SETTINGS["ppo"])
    assert not gradient.any() and not norm
    assert {name: float(value) for name, value in said.items()} == dict.fromkeys(DIAGNOSTICS, 0.0)


def test_coefficients_are_read_where_the_device_has_them() -> None:
    mine = made("two layers")
    rows, epoch = mine.rows(80), shuffled(80, 1, mine.device)
    names = ("clip_coef", "ent_coef", "vf_coef", "kl_coef")
    held = {name: torch.tensor(0.1, device=mine.device) for name in names}
    found = []
    for number in (0.1, 0.4):
        for tensor in held.values():
            tensor.fill_(number)
        found += mine.found(rows, epoch, PPOSettings.model_construct(**{**dict(PPOSettings()), **held}))
        found += mine.found(rows, epoch, PPOSettings(**dict.fromkeys(names, number)))
    assert torch.equal(found[0][0], found[1][0]) and torch.equal(found[2][0], found[3][0])
    assert not torch.equal(found[0][0], found[2][0])


# ---- what is left to others ------------------------------------------------------------------------------------------
def deep(hidden: tuple[int, ...]) -> Policy:
    return Policy(MLP(space(FEATURES), 4, hidden_sizes=hidden), Categorical([4]))


def frozen() -> Policy:
    policy = policy_of("two layers")
    next(policy.parameters()).requires_grad_(False)
    return policy


def watched() -> Policy:
    policy = policy_of("two layers")
    policy.model.critic_layers[0].register_forward_hook(lambda *given: None)  # type: ignore[index]
    return policy


def in_a_box() -> Policy:
    return Policy(MLP(space(FEATURES), 4), Gaussian(4))


OTHERS: dict[str, Callable[[], Policy]] = {
    "three hidden layers": partial(deep, (8, 8, 8)),
    "layers that fit in no block": partial(deep, (128, 128)),
    "a weight that is not learnt": frozen,
    "a critic with a hook": watched,
    "a Box": in_a_box,
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_policies_are_left_to_torch(kind: str) -> None:
    world = warpworld.make("cartpole", num_envs=2)
    policy = OTHERS[kind]().to(world.device)
    assert perceptron_kernels(policy, FlatParameters(policy, 1e-3), PassLaunches(world)) is None


def test_other_rows_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = made("two layers")
    rows, epoch, takes = mine.rows(40), shuffled(40, 2, mine.device), mine.kernels.takes
    assert takes(rows, epoch)
    assert not takes(rows.with_columns(actions=rows.actions.long()), epoch)
    assert not takes(rows.with_columns(observations=rows.observations.half()), epoch)
    assert not takes(rows, Epoch(epoch.order, [10, 30], [1.0, 1.0]))
    with monkeypatch.context() as patch:  # bfloat16
        patch.setattr(torch, "is_autocast_enabled", lambda device: True)
        assert not takes(rows, epoch)
    with torch.no_grad():
        evaluation = mine.policy(rows.observations)
    assert not takes(dataclasses.replace(rows, evaluation=evaluation), epoch)
    with monkeypatch.context() as patch:  # TF32
        patch.setattr(torch, "get_float32_matmul_precision", lambda: "high")
        assert not takes(rows, epoch)
    monkeypatch.setattr(perceptron_passes, "MOST_TILES", 0)  # many rows for few envs
    assert not takes(rows, epoch)
