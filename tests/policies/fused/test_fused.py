"""The fused kernels against float64 autograd."""

from __future__ import annotations

import copy
import dataclasses
import math
import platform
from typing import Any

import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.policies.fused.fused_cases import Case, gradient_of, torch_gradient
from warpworld.errors import DeviceError, StoreError
from warpworld.managers.cpu.native_library import NativeLibrary
from warpworld.policies import Policy
from warpworld.policies.fused import DIAGNOSTICS, FusedNetworks, Loss, fused_networks
from warpworld.policies.fused.calls import Runs
from warpworld.policies.fused.library import SOURCE
from warpworld.trainers.algorithms.a2c import A2CSettings
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.ppo import PPOSettings

PPO = PPOSettings(clip_coef=0.2, clip_vloss=True, norm_adv=True, ent_coef=0.01, vf_coef=0.5)
ERROR = 1e-5  # relative, L2: float32's own is about 1e-6


def networks(policy: Policy, workers: int = 1) -> FusedNetworks:
    return fused_networks(policy, workers)


def loss_of(settings: PPOSettings | A2CSettings) -> Loss:
    shared = {"normalise_advantages": settings.norm_adv, "ent_coef": settings.ent_coef, "vf_coef": settings.vf_coef}
    if isinstance(settings, A2CSettings):
        return Loss(**shared)
    shared |= {"clip_coef": settings.clip_coef, "kl_coef": settings.kl_coef}
    return Loss(surrogate=True, clip_value_loss=settings.clip_vloss, **shared)


def everything(batch: Batch) -> Tensor:
    return torch.arange(len(batch))


def relative(found: Tensor, exact: Tensor) -> float:
    return float((found - exact).norm() / exact.norm().clamp(min=1e-12))


def assert_close_to(exact: Tensor, found: Tensor, policy: Policy, batch: Batch, loss: Any) -> None:
    """A gradient's error is small beside what goes into it, or no more than 5 times that of eager float32.

    What goes in is the gradient itself, and that of the outputs and values whose float32 numbers it is made from: where
    a value is nearly its return, the gradient is small and that rounding is not. A ratio is as far off, relatively, as
    the log-probability is absolutely: a sum of squares of deviations, each rounded when it is squared and twice when it
    is made, and then itself, which is 3 eps of it. Torch's may be less by chance, where one row outweighs the others.
    """
    float32, _ = torch_gradient(policy, batch, loss, torch.float32)
    twin = copy.deepcopy(policy).double()
    outputs, values = twin(batch.observations.double())
    (outputs.sum(-1).mean() + values.mean()).backward()
    of_ratios = 3 * torch.finfo(torch.float32).eps * batch.log_probs.abs().max()
    limit = ERROR * (exact.norm() + 0.1 * gradient_of(twin).norm()) + of_ratios * exact.norm()
    assert (found - exact).norm() < max(limit, 5 * (float32 - exact).norm())


def fused(
    policy: Policy, batch: Batch, settings: PPOSettings | A2CSettings = PPO, workers: int = 1
) -> tuple[Tensor, dict[str, float]]:
    """Gradient and diagnostics."""
    for parameter in policy.parameters():
        parameter.grad = torch.full_like(parameter, 1e6)  # what was there does not matter
    found = networks(policy, workers).gradient(batch, everything(batch), loss_of(settings))
    return gradient_of(policy), dict(zip(DIAGNOSTICS, found.tolist(), strict=True))


# --- against float64 --------------------------------------------------------------------------------------------------

widths = st.one_of(st.integers(1, 40), st.sampled_from([47, 48, 64, 65, 96, 130]))
cases = st.builds(
    Case,
    features=widths,
    hidden=st.lists(widths, max_size=3).map(tuple),
    heads=st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple),
    activation=st.sampled_from(["tanh", "relu"]),
    rows=st.one_of(st.integers(1, 30), st.sampled_from([95, 96, 97, 192, 500])),
    masked=st.booleans(),
    seed=st.integers(0, 2**31),
    box=st.sampled_from([0, 0, 1, 3, 17]),
)


@pytest.mark.long
@settings(max_examples=60)
@given(case=cases)
def test_outputs_and_values(case: Case) -> None:
    policy = case.policy()
    net = networks(policy)
    observations = torch.randn(case.rows, case.features, generator=torch.Generator().manual_seed(case.seed))
    with torch.no_grad():
        eager = policy(observations)
        exact = copy.deepcopy(policy).double()(observations.double())
    for found, float32, right in zip((net.outputs(observations), net.value(observations)), eager, exact, strict=True):
        assert found.shape == right.shape
        assert (found - right).norm() < 1e-5 * (
            right.norm() + found.numel() ** 0.5
        )  # sums of terms around 1 may cancel
        assert (found - right).abs().max() <= 5 * (float32 - right).abs().max() + 1e-5


@settings(max_examples=120)
@given(
    case=cases,
    clip_vloss=st.booleans(),
    norm_adv=st.booleans(),
    clip_coef=st.sampled_from([0.05, 0.2, 1.5]),
    ent_coef=st.sampled_from([0.0, 0.01, 1.0]),
    vf_coef=st.sampled_from([0.0, 0.5, 2.0]),
    kl_coef=st.sampled_from([0.0, 0.3]),
)
@example(  # ratios of large log-probabilities, whose terms are added up
    case=Case(features=130, hidden=(48,), rows=14, seed=83, box=17),
    **{"clip_vloss": False, "norm_adv": False, "clip_coef": 0.05, "ent_coef": 0.0, "vf_coef": 0.0, "kl_coef": 0.0},
)
@example(
    case=Case(features=96, hidden=(2, 96, 11), rows=97, seed=17005648, box=17),
    **{"clip_vloss": False, "norm_adv": False, "clip_coef": 0.05, "ent_coef": 0.0, "vf_coef": 0.0, "kl_coef": 0.0},
)
@pytest.mark.long
def test_gradient_of_ppo(case: Case, **coefficients: Any) -> None:
    loss = PPOSettings(**coefficients)
    policy = case.policy()
    batch = off_the_limits(policy, case.batch(policy), loss.clip_coef)
    assume(is_off_the_kinks(policy, batch.observations))
    found, diagnostics = fused(policy, batch, loss)
    exact, expected = torch_gradient(policy, batch, loss)
    assert_close_to(exact, found, policy, batch, loss)
    assert diagnostics == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.long
@settings(max_examples=40)
@given(case=cases, norm_adv=st.booleans(), ent_coef=st.sampled_from([0.0, 0.01]), vf_coef=st.sampled_from([0.0, 0.5]))
def test_gradient_of_a2c(case: Case, **coefficients: Any) -> None:
    loss = A2CSettings(**coefficients)
    policy = case.policy()
    batch = case.batch(policy)
    assume(is_off_the_kinks(policy, batch.observations))
    found, diagnostics = fused(policy, batch, loss)
    exact, expected = torch_gradient(policy, batch, loss)
    assert_close_to(exact, found, policy, batch, loss)
    assert {name: diagnostics[name] for name in expected} == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert diagnostics["approx_kl"] == diagnostics["old_approx_kl"] == diagnostics["clipfrac"] == 0.0


def is_off_the_kinks(policy: Policy, observations: Tensor) -> bool:
    """Whether no argument of a ReLU is so small that float32 may put it on the other side of 0."""
    smallest = []

    def note(_: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        smallest.append(float(arguments[0].abs().min() / arguments[0].norm() * arguments[0].numel() ** 0.5))

    twin = copy.deepcopy(policy).double()
    for module in twin.modules():
        if isinstance(module, nn.ReLU):
            module.register_forward_pre_hook(note)
    with torch.no_grad():
        twin(observations.double())
    return min(smallest, default=1.0) > 3e-6  # float32 is off by about 1e-6 of such arguments


def off_the_limits(policy: Policy, batch: Batch, clip_coef: float) -> Batch:
    """Rows that float32 and float64 may put on different sides of a limit are moved away from it."""
    with torch.no_grad():
        outputs, values = policy(batch.observations)
        log_probs, _ = policy.distribution.log_prob_and_entropy(outputs, batch.actions, batch.action_masks)
    away = (((log_probs - batch.log_probs).exp() - 1).abs() - clip_coef).abs() < 1e-3
    moved = (values - batch.values).abs()
    larger_swaps = ((batch.values + (values - batch.values).clamp(-clip_coef, clip_coef) - batch.returns).abs()) - (
        values - batch.returns
    ).abs()
    near = ((moved - clip_coef).abs() < 1e-3) | ((larger_swaps.abs() < 1e-3) & (moved > clip_coef))
    return dataclasses.replace(
        batch,
        log_probs=torch.where(away, log_probs, batch.log_probs),
        values=torch.where(near, values, batch.values),
    )


@pytest.mark.parametrize("box", [0, 3])
@pytest.mark.parametrize("hidden", [(64, 64), (256, 128)])
def test_the_error_is_that_of_float32(hidden: tuple[int, ...], box: int) -> None:
    policy = (case := Case(hidden=hidden, rows=8192, box=box)).policy()
    batch = off_the_limits(policy, case.batch(policy), 0.2)
    exact, _ = torch_gradient(policy, batch, PPO)
    float32, _ = torch_gradient(policy, batch, PPO, torch.float32)
    found, _ = fused(policy, batch)
    assert relative(found, exact) < 3e-6
    assert relative(found, exact) < 2 * relative(float32, exact)


def test_a_row_is_taken_as_often_as_the_index_names_it() -> None:
    policy = (case := Case(rows=50)).policy()
    batch = case.batch(policy)
    rows = torch.tensor([3, 3, 49, 0, 17])
    networks(policy).gradient(batch, rows, loss_of(PPO))
    found = gradient_of(policy)
    exact, _ = torch_gradient(policy, batch.take(rows), PPO)
    assert relative(found, exact) < ERROR


def test_one_row_has_a_normalised_advantage_of_zero() -> None:
    policy = (case := Case(rows=1)).policy()
    found, diagnostics = fused(policy, case.batch(policy))
    assert diagnostics["policy_loss"] == 0.0
    assert found.isfinite().all()


def test_advantages_far_from_zero_keep_their_differences() -> None:
    policy = (case := Case()).policy()
    batch = case.batch(policy)
    far = dataclasses.replace(batch, advantages=batch.advantages + 10000)
    exact, _ = torch_gradient(policy, far, PPO)
    assert relative(fused(policy, far)[0], exact) < 1e-4


def test_a_forbidden_choice_has_no_gradient() -> None:
    policy = (case := Case(hidden=(), heads=(4,), rows=20)).policy()
    batch = case.batch(policy)
    masks = torch.ones(20, 4, dtype=torch.bool)
    masks[:, 2] = False
    batch = dataclasses.replace(batch, actions=batch.actions.remainder(2), action_masks=masks)
    fused(policy, batch)
    weight = policy.model.actor_layers[0].weight.grad
    assert weight[2].eq(0).all()
    assert weight[[0, 1, 3]].ne(0).any(1).all()


def test_the_gradient_of_the_widths_alone() -> None:
    """By hand: with a mean of 0, a width of 2 and an advantage of -1, of an action at 3 and of the entropy."""
    policy = Case(hidden=(), box=1, rows=1).policy()
    with torch.no_grad():
        for layer in (policy.model.actor_layers[0], policy.model.critic_layers[0]):
            layer.weight.zero_()
            layer.bias.zero_()
        policy.distribution.log_std.fill_(math.log(2.0))
    one, loss = torch.ones(1), A2CSettings(norm_adv=False, ent_coef=0.25, vf_coef=0.0)
    batch = Batch(torch.zeros(1, 4), 3 * one[:, None], 0 * one, -one, 0 * one, 0 * one)
    fused(policy, batch, loss)
    # log p = -(3 / 2)^2 / 2 - log 2 - ...: its slope at log 2 is (3 / 2)^2 - 1, and that of the loss has the same sign
    assert policy.distribution.log_std.grad.item() == pytest.approx(1.25 - 0.25)
    assert policy.model.actor_layers[0].bias.grad.item() == pytest.approx(3 / 4)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="flags of x86")
@pytest.mark.parametrize("flags", ["-mno-avx512f", "-mno-avx512f -mno-avx2 -mno-avx"])
def test_narrower_vectors(flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWORLD_CXXFLAGS", flags)
    monkeypatch.setattr("warpworld.policies.fused.networks.library", lambda: library)
    library = NativeLibrary(SOURCE)
    for hidden, heads in (((64, 64), (2,)), ((37, 10, 5), (3, 9)), ((), (6,))):
        policy = (case := Case(features=7, hidden=hidden, heads=heads, masked=True)).policy()
        batch = off_the_limits(policy, case.batch(policy), 0.2)
        exact, _ = torch_gradient(policy, batch, PPO)
        assert relative(fused(policy, batch)[0], exact) < ERROR


# --- the same bits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 100, 1000, 5000])
def test_results_do_not_depend_on_the_number_of_workers(rows: int) -> None:
    policy = (case := Case(hidden=(48, 24), heads=(5, 3), rows=rows)).policy()
    batch = case.batch(policy)
    found = []
    for workers in (1, 2, 3):
        net = networks(policy, workers)
        for _ in range(5):  # from the second on, the runtime knows how long a chunk takes, and shares them out
            diagnostics = net.gradient(batch, everything(batch), loss_of(PPO))
            forward = net.outputs(batch.observations), net.value(batch.observations)
            found.append((gradient_of(policy), diagnostics, *forward))
    assert all(torch.equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("rows", [1536, 3071, 3073, 7000])
def test_every_row_is_in_one_chunk(rows: int) -> None:
    """Of up to sixteen, some of one tile of 96 rows; from 32 tiles on the last ones have fewer."""
    policy = (case := Case(hidden=(8,), rows=rows)).policy()
    batch = case.batch(policy)
    found, _ = fused(policy, batch)
    assert_close_to(torch_gradient(policy, batch, PPO)[0], found, policy, batch, PPO)


def test_more_threads_than_workers_can_be() -> None:
    policy = (case := Case()).policy()
    batch = case.batch(policy)
    few, _ = fused(policy, batch, workers=2)
    many, _ = fused(policy, batch, workers=1000)
    assert torch.equal(few, many)


def test_a_row_gives_the_same_wherever_it_stands() -> None:
    policy = Case().policy()
    net, observations = networks(policy), torch.randn(300, 4)
    together = net.outputs(observations)
    alone = torch.cat([net.outputs(row) for row in observations.split(1)])
    assert torch.equal(together, alone)


def test_observations_are_read_where_they_lie() -> None:
    """Those of a group among all agents' are not copied before; what lies otherwise is."""
    net, everyone = networks(Case().policy()), torch.randn(70, 5, 4)
    views = [everyone[:, 1:4], everyone[::3, 2:], everyone[:, :1], everyone[:1, 3:], everyone[5].expand(9, 5, 4)]
    views += [everyone.transpose(0, 1), everyone[:, ::2], torch.randn(70, 3, 5)[..., :4], everyone[:0, 1:4]]
    for view in views:
        assert torch.equal(net.outputs(view), net.outputs(view.contiguous()))
        assert torch.equal(net.value(view), net.value(view.contiguous()))
        assert torch.equal(net.value(view.double()), net.value(view))
    assert [Runs.of(view) is None for view in views] == [False] * 5 + [True] * 3 + [False]


# --- NaN, edges, faults -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["observations", "log_probs", "advantages", "returns", "values"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_so_for_torch_and_for_the_kernels(name: str, bad: float) -> None:
    policy = (case := Case(rows=200)).policy()
    batch = case.batch(policy)
    getattr(batch, name)[57] = bad
    for loss in (PPO, PPO.model_copy(update={"norm_adv": False})):
        exact, expected = torch_gradient(policy, batch, loss, torch.float32)
        found, diagnostics = fused(policy, batch, loss)
        spoilt = any(math.isnan(value) for value in expected.values())
        assert (found.isnan() | ~exact.isnan()).all()
        assert torch.equal(found.isnan(), exact.isnan()) or spoilt  # torch's gradient may survive a loss of NaN
        for key, value in expected.items():
            assert math.isnan(diagnostics[key]) == math.isnan(value), key


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_nan_weights_give_nan(activation: str) -> None:
    policy = (case := Case(activation=activation, rows=10)).policy()
    net, batch = networks(policy), case.batch(policy)
    with torch.no_grad():
        policy.model.actor_layers[0].weight[3, 1] = float("nan")
    assert net.outputs(batch.observations).isnan().all()
    assert net.value(batch.observations).isfinite().all()


@pytest.mark.long
def test_large_numbers_saturate() -> None:
    policy = Case(hidden=(8,)).policy()
    observations = torch.full((5, 4), 1e30)
    with torch.no_grad():
        torch.testing.assert_close(networks(policy).outputs(observations), policy.outputs(observations))


def test_no_rows_have_no_outputs() -> None:
    net = networks(Case(heads=(3,)).policy())
    assert net.outputs(torch.empty(0, 4)).shape == (0, 3)
    assert net.value(torch.empty(0, 7, 4)).shape == (0, 7)


def test_changed_weights_are_seen() -> None:
    policy = Case().policy()
    net, observations = networks(policy), torch.randn(10, 4)
    before = net.outputs(observations)
    with torch.no_grad():
        policy.model.actor_layers[-1].bias.add_(1.0)
    torch.testing.assert_close(net.outputs(observations), before + 1.0)
    with torch.no_grad():
        policy.model.actor_layers[-1].weight.zero_()
        policy.model.actor_layers[-1].bias.fill_(2.0)
    assert net.outputs(observations).eq(2.0).all()


def test_a_strided_view_of_observations() -> None:
    policy = Case().policy()
    seen = torch.randn(6, 5, 4)
    found = networks(policy).outputs(seen[:, 1:3])
    assert found.shape == (6, 2, 2)
    with torch.no_grad():
        torch.testing.assert_close(found, policy.outputs(seen[:, 1:3]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"actions": torch.full((50, 1), 2)}, r"batch actions: outside of what \(2,\) choices"),
        ({"actions": torch.full((50, 1), -1)}, r"batch actions: outside of what \(2,\) choices"),
        ({"actions": torch.zeros(50, 1)}, r"actions: shape \(50, 1\) of torch.float32 .* expected .* torch.int32"),
        ({"observations": torch.zeros(50, 5)}, r"observations: shape \(50, 5\) .* expected \(50, 4\)"),
        ({"action_masks": torch.ones(50, 3, dtype=torch.bool)}, r"action_masks: shape \(50, 3\) .* expected \(50, 2\)"),
    ],
)
def test_a_batch_of_another_policy_is_refused(change: dict[str, Tensor], words: str) -> None:
    policy = (case := Case(rows=50)).policy()
    batch = dataclasses.replace(case.batch(policy), **change)
    with pytest.raises(StoreError, match=words):
        networks(policy).gradient(batch, everything(batch), loss_of(PPO))


@pytest.mark.parametrize("rows", [[], [50], [-1], [0, 2**40]])
def test_rows_that_do_not_exist_are_refused(rows: list[int]) -> None:
    policy = (case := Case(rows=50)).policy()
    with pytest.raises(StoreError, match="rows: expected at least one, each of 0 to 49"):
        networks(policy).gradient(case.batch(policy), torch.tensor(rows, dtype=torch.int64), loss_of(PPO))


def test_networks_that_do_not_fit_together_are_refused() -> None:
    model = Case(heads=(3,)).policy().model
    with pytest.raises(DeviceError, match="an actor of 3 outputs and a critic of 1: expected 5 outputs"):
        FusedNetworks(model, (5,))
    with pytest.raises(DeviceError, match="no fused kernels: its model is a Linear, none of the packaged ones"):
        FusedNetworks(nn.Linear(4, 3), (3,))
