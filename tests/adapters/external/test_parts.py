"""External envs in several parts: the same trajectories, steps beside the policies, and errors that name the part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import warpworld
from tests.adapters.external import waiting
from tests.adapters.external.counting import Counting
from warpworld.config import config_from_dict
from warpworld.errors import DeclarationError
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.trainer import Trainer
from warpworld.world.random_actions import RandomActions

pytestmark = pytest.mark.cpu_backend

LIBRARIES: dict[str, tuple[str, dict[str, Any]]] = {
    "gymnasium": ("gymnasium", {"library": "gymnasium", "id": "CartPole-v1"}),
    "processes": (
        "gymnasium",
        {"library": "gymnasium", "id": "CartPole-v1", "options": {"vectorization_mode": "async"}},
    ),
    "envpool": ("envpool", {"library": "envpool", "id": "CartPole-v1"}),
    "ale": ("ale_py", {"library": "ale", "id": "pong", "options": {"num_threads": 1}}),
    "agents side by side": (
        "mpe2",
        {"library": "pettingzoo", "id": "mpe2.simple_spread_v3", "options": {"max_cycles": 5}},
    ),
    "agents in turn": ("pettingzoo", {"library": "pettingzoo", "id": "pettingzoo.classic.connect_four_v3"}),
}
ARRAYS = ("rewards", "terminated", "truncated", "timestep")


def course(env: dict[str, Any], parts: int) -> list[torch.Tensor]:
    """Everything that five envs show in some steps with drawn actions."""
    world = warpworld.make("external", num_envs=5, device="cpu", seed=3, parts=parts, **env)
    with world:
        world.reset()
        actions, found = RandomActions(world, seed=1), []
        for _ in range(40):
            actions.draw()
            actions.put(world, slice(None))
            world.step()
            names = [*ARRAYS, *(name for name in ("agent_mask", "action_mask") if name in world.data)]
            found += [world[name].clone() for name in names]
            for group in world.groups:
                seen = world.observations(group)
                found += [part.clone() for part in (seen.values() if isinstance(seen, dict) else [seen])]
    return found


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("library", LIBRARIES)
def test_trajectories_do_not_depend_on_parts(library: str) -> None:
    package, env = LIBRARIES[library]
    pytest.importorskip(package)
    expected = course(env, 1)
    for parts in (2, 5):
        found = course(env, parts)
        assert len(found) == len(expected)
        assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


REPLAY = {"replay_size": 300, "learning_starts": 30, "batch_size": 16, "updates": 2, "model": {"hidden_sizes": [8]}}
MEMORY = {"recurrent": "gru", "recurrent_size": 5}
SIMPLE: dict[str, Any] = {"library": "gymnasium", "id": "CartPole-v1", "options": {"max_episode_steps": 9}}
RUNS: dict[str, dict[str, Any]] = {
    "ppo": {"num_minibatches": 2},
    "ppo with a memory": {"num_minibatches": 1, "model": MEMORY},
    "a2c by torch alone": {"algorithm": "a2c", "model": {"hidden_sizes": [8]}},
    "dqn": {"algorithm": "dqn", **REPLAY},
    "r2d2": {"algorithm": "r2d2", **REPLAY, "burn_in": 2, "train_length": 5, "n_step": 2, "model": MEMORY},
    "random": {"algorithm": "random"},
    "ou": {"algorithm": "ddpg", **REPLAY},
    "sac": {"algorithm": "sac", **REPLAY},
}


def trained(kind: str, parts: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Weights and rewards of a run."""
    env = {"id": "Pendulum-v1"} if kind in ("ou", "sac") else {}
    trainer = {"num_envs": 7, "num_steps": 8, "total_env_steps": 7 * 8 * 4, "device": "cpu", "seed": 4}
    config = config_from_dict(
        {
            "name": "external",
            "env": {**SIMPLE, **env, "parts": parts},
            "trainer": trainer,
            "policy": {"agent": RUNS[kind]},
        }
    )
    made = Trainer(config)
    made.train(None)
    weights = [weight.detach() for policy in made.policies.values() if policy for weight in policy.parameters()]
    return weights, made.world["observations"].clone()


@pytest.mark.long
@pytest.mark.parametrize("kind", RUNS)
def test_runs_do_not_depend_on_parts(kind: str) -> None:
    """Runs are equal where outputs of a row do not depend on the rows beside it, as in C++."""
    expected, last = trained(kind, 1)
    for parts in (2, 3):
        found, seen = trained(kind, parts)
        close = torch.allclose if kind in ("a2c by torch alone", "ou", "sac") else torch.equal
        assert all(close(one, other) for one, other in zip(found, expected, strict=True))
        assert close(seen, last)


@pytest.fixture
def waits() -> Iterator[None]:
    waiting.parts.clear()
    for event in (*waiting.may_step, *waiting.has_stepped):
        event.clear()
    yield
    for event in waiting.may_step:
        event.set()


@pytest.mark.usefixtures("waits")
def test_a_part_steps_while_the_policy_acts_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_from_dict(
        {
            "name": "external",
            "env": {"library": "tests.adapters.external.waiting:waiting", "parts": 2},
            "trainer": {"num_envs": 4, "num_steps": 2, "total_env_steps": 8, "device": "cpu"},
            "policy": {"agent": {"model": {"hidden_sizes": [4]}, "num_minibatches": 1}},
        }
    )
    act_in, acted = Actor.act_in, list[slice]()

    def act(self: Actor, envs: slice) -> None:
        if envs.start == 2:  # the first part steps within the policy's call for the second
            waiting.may_step[0].set()
            assert waiting.has_stepped[0].wait(waiting.MINUTE)
        act_in(self, envs)
        acted.append(envs)
        waiting.may_step[1].set()

    monkeypatch.setattr(Actor, "act_in", act)
    trainer = Trainer(config)
    trainer.train(None)
    assert acted == [slice(0, 2), slice(2, 4)] * 2
    assert [envs.steps for envs in waiting.parts] == [2, 2]


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (0, r"external: parts=0, expected at least 1, which steps all envs at once"),
        (4, r"external: parts=4, but the world has 3 envs, expected at most as many parts; lower env\.parts"),
    ],
)
def test_parts_that_there_cannot_be_are_refused(parts: int, reason: str) -> None:
    with pytest.raises(DeclarationError, match=reason):
        warpworld.make("external", num_envs=3, device="cpu", parts=parts, **SIMPLE).reset()


def failing(num_envs: int) -> Counting:
    """Envs of which those that are made last raise in their first step."""

    class Failing(Counting):
        def step(self, actions: Any) -> Any:
            if self is latest[-1]:
                raise ValueError("no more")
            return super().step(actions)

    latest.append(Failing(num_envs))
    return latest[-1]


latest = list[Counting]()


def test_an_error_of_a_part_says_which_env_it_is() -> None:
    env: dict[str, Any] = {"library": "tests.adapters.external.test_parts:failing", "parts": 2}
    with warpworld.make("external", num_envs=4, device="cpu", **env) as world:
        world.reset()
        expected = r"step\(.*\) raised ValueError: no more.* \(in part 1 of 2, whose env 0 is env 2\)$"
        with pytest.raises(DeclarationError, match=expected):
            world.step()


def test_a_world_is_closed_while_a_part_steps() -> None:
    world = warpworld.make("external", num_envs=4, device="cpu", parts=2, **SIMPLE)
    world.reset()
    world.python_program(lambda arrays, active: world.environment.begin_part(arrays, 1))()
    world.close()
