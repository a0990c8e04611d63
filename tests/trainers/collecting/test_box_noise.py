"""How policies act in a Box while they learn: with noise, by their own draws, or at first uniformly."""

from __future__ import annotations

import math

import pytest
import torch
from gymnasium.spaces import Box
from torch import Tensor

from tests.trainers.small_worlds import Aim, constant
from warpworld.environment import Array, Environment, get_environment
from warpworld.policies import MLP, Policy
from warpworld.policies.distributions.deterministic import Deterministic
from warpworld.policies.distributions.squashed_gaussian import SquashedGaussian
from warpworld.policies.samplers import Noise, NoisySampler, SamplerMaker, SquashedSampler
from warpworld.trainers.collecting.actor import Actor
from warpworld.world import World

DAMPING, STDDEV = 0.15, 0.2
LIMIT = math.sqrt(STDDEV**2 / (1 - (1 - DAMPING) ** 2))  # of the noise's deviation, after many steps


def saying(outputs: tuple[float, ...], distribution: Deterministic | SquashedGaussian, observation: Box) -> Policy:
    """A policy whose outputs are the same whatever is seen."""
    policy = Policy(MLP(observation, len(outputs), hidden_sizes=()), distribution)
    with torch.no_grad():
        policy.model.actor_layers[-1].weight.zero_()
        policy.model.actor_layers[-1].bias.copy_(torch.tensor(outputs))
    return policy


def acting(
    environment: Environment,
    policy: Policy,
    sampler: SamplerMaker | None,
    kernel: str = "act",
    num_envs: int = 20_000,
    **world: int,
) -> tuple[World, Actor]:
    made = World(environment, num_envs, seed=4, **world)
    made.add(Array("at_random", "bool", per="world", initial=False))
    made.add(Array("noise_scale", "float32", per="world", initial=1.0))
    (group,) = made.groups
    actor = Actor(made, group, policy.to(made.device), kernel, sampler=sampler)
    made.reset()
    return made, actor


def noisy(kind: str) -> SamplerMaker:
    return lambda context, kernel: NoisySampler(context, Noise(kind, DAMPING, STDDEV, "noise_scale", "at_random"))


def swinging(
    kind: str, episode_length: int = 40, num_envs: int = 20_000, mean: float = 0.0, **world: int
) -> tuple[World, Actor]:
    """Pendulum, where -1 and 1 are torques of -2 and 2."""
    environment = get_environment("pendulum")(episode_length=episode_length)
    policy = saying((mean,), Deterministic(1), Box(-8.0, 8.0, (3,)))
    return acting(environment, policy, noisy(kind), num_envs=num_envs, **world)


def squashed(kernel: str, num_envs: int = 20_000, **world: int) -> tuple[World, Actor]:
    """Aim in a bounded Box: means (0.3, -0.2), deviations exp(-0.7) and exp(0.4) before the tanh."""
    environment = Aim(low=(-1.0, 0.0), high=(3.0, 2.0))
    policy = saying((0.3, -0.2, -0.7, 0.4), SquashedGaussian(2), Box(-1.0, 1.0, (2,)))
    explores = kernel == "explore"
    sampler = (lambda context, kernel: SquashedSampler(context, "explore", "at_random")) if explores else None
    return acting(environment, policy, sampler, "act" if explores else kernel, num_envs, **world)


def steps(world: World, actor: Actor, count: int) -> Tensor:
    """What was done in so many steps: (count, num_envs * agents, size), in units of the Box."""
    done = []
    for _ in range(count):
        actor.act()
        done.append(world["actions"].flatten(0, 1).double().cpu())
        world.step()
    return torch.stack(done)


# ---- Ornstein-Uhlenbeck ----------------------------------------------------------------------------------------------
def test_noise_wanders_as_far_as_an_ornstein_uhlenbeck_process() -> None:
    world, actor = swinging("ou", episode_length=1000)
    noise = steps(world, actor, 30).squeeze(-1) / 2
    for step in (0, 1, 4, 29):  # of the sum over the steps so far: a geometric series
        expected = LIMIT * math.sqrt(1 - (1 - DAMPING) ** (2 * step + 2))
        assert noise[step].std().item() == pytest.approx(expected, rel=0.03)
        assert abs(noise[step].mean().item()) < 5 * expected / math.sqrt(20_000)
    assert noise[29].std().item() == pytest.approx(LIMIT, rel=0.03)
    together = torch.corrcoef(noise[28:30])[0, 1].item()
    assert together == pytest.approx(1 - DAMPING, abs=0.03)


def test_noise_begins_at_zero_with_each_episode() -> None:
    world, actor = swinging("ou", episode_length=10)
    noise = steps(world, actor, 21).squeeze(-1) / 2
    assert noise[9].std() > 1.5 * STDDEV
    for first in (0, 10, 20):  # one draw only
        assert noise[first].std().item() == pytest.approx(STDDEV, rel=0.03)
    assert abs(torch.corrcoef(noise[9:11])[0, 1].item()) < 0.05
    assert world["noise_agent"].shape == (20_000, 1, 1)


def test_noise_is_scaled_and_cut_off_at_the_ends_of_the_box() -> None:
    world, actor = swinging("ou", mean=0.5)
    world["noise_scale"] = 0.0
    torch.testing.assert_close(steps(world, actor, 2), torch.ones(2, 20_000, 1).double())
    world["noise_scale"] = 100.0
    assert steps(world, actor, 1).abs().max() == 2.0


# ---- normal noise ----------------------------------------------------------------------------------------------------
def test_normal_noise_has_no_memory() -> None:
    world, actor = swinging("normal")
    noise = steps(world, actor, 3).squeeze(-1) / 2
    for step in range(3):
        assert noise[step].std().item() == pytest.approx(STDDEV, rel=0.03)
    assert abs(torch.corrcoef(noise[1:])[0, 1].item()) < 0.05
    assert "noise_agent" not in world


# ---- a policy's own draws --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", ["act", "explore"])
def test_squashed_actions_are_tanh_of_normal_numbers(kernel: str) -> None:
    world, actor = squashed(kernel)
    actor.act()
    drawn = (
        (world["actions"].flatten(0, 1).double().cpu() - torch.tensor([1.0, 1.0])) / torch.tensor([2.0, 1.0])
    ).atanh()
    deviations = (drawn - torch.tensor([0.3, -0.2])) / torch.tensor([-0.7, 0.4]).exp()
    deviations = deviations[deviations.isfinite().all(1)]  # in float32 a tanh may be 1
    rows = len(deviations)
    assert rows > 39_900
    assert abs(deviations.mean(0)).max() < 5.5 / math.sqrt(rows)
    torch.testing.assert_close(deviations.std(0), torch.ones(2).double(), rtol=0.03, atol=0)


def test_greedily_the_tanh_of_the_mean_is_taken() -> None:
    world, actor = squashed("act_greedily", num_envs=3)
    actor.act()
    expected = constant((1 + 2 * math.tanh(0.3), 1 + math.tanh(-0.2)), torch.device("cpu"))
    torch.testing.assert_close(world["actions"].cpu(), expected.expand(3, 2, 2))


@pytest.mark.parametrize("kernel", ["act", "act_greedily"])
def test_a_deterministic_policy_does_what_it_says(kernel: str) -> None:
    environment, policy = get_environment("pendulum")(), saying((0.5,), Deterministic(1), Box(-8.0, 8.0, (3,)))
    world, actor = acting(environment, policy, None, kernel, num_envs=3)
    actor.act()
    torch.testing.assert_close(world["actions"].cpu(), torch.ones(3, 1, 1))


# ---- both ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["ou", "normal", "squashed"])
def test_at_first_the_box_is_filled_evenly(kind: str) -> None:
    world, actor = squashed("explore") if kind == "squashed" else swinging(kind)
    world["at_random"] = True
    actor.act()
    done = world["actions"].flatten(0, 1)[:, 0].double().cpu()
    low, high = (-1, 3) if kind == "squashed" else (-2, 2)
    counts = torch.histc(done, 20, low, high)
    assert counts.sum() == len(done)
    expected = len(done) / 20
    assert ((counts - expected) ** 2 / expected).sum() < 60  # chi-square of 19 degrees: exceeded once in 300,000


@pytest.mark.parametrize("kind", ["ou", "normal", "squashed"])
def test_trajectories_depend_on_the_env_alone(kind: str) -> None:
    def trajectory(num_envs: int, **world: int) -> Tensor:
        made, actor = (
            squashed("explore", num_envs, **world) if kind == "squashed" else swinging(kind, 3, num_envs, **world)
        )
        agents = made.num_agents
        return steps(made, actor, 7).unflatten(1, (num_envs, agents))

    whole = trajectory(9, num_workers=1)
    assert torch.equal(trajectory(9, num_workers=2), whole)
    assert torch.equal(trajectory(4, num_workers=1), whole[:, :4])
    assert torch.equal(trajectory(5, num_workers=1, first_env=4), whole[:, 4:])
