"""``warpworld.rollout``: steps of a world as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import warpworld
from tests.policies.test_acting import LSTM, made
from tests.trainers.collecting.test_kinds_of_actions import SPACES as DONE
from tests.trainers.recall import Departed
from warpworld import World
from warpworld.environment import action_start, get_environment
from warpworld.errors import DeclarationError, StoreError, WarpworldError
from warpworld.policies import Policy
from warpworld.trainers.collecting.actor import Actor

SMALL = "tests.trainers.small_worlds"


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def tag(num_envs: int = 3, **settings: Any) -> World:
    return warpworld.make("tag_continuous", num_envs, num_taggers=2, num_runners=4, **settings)


def test_shapes_and_kinds() -> None:
    world = tag()
    played = warpworld.rollout(world, None, 6, frames=[2, 0])
    kinds = ["observations", "frames", "actions", "rewards", "terminated", "truncated", "agent_mask"]
    assert list(played) == kinds
    sizes = {"tagger": 2, "runner": 4}
    for kind in set(kinds) - {"frames"}:
        assert {name: array.shape[:3] for name, array in played[kind].items()} == {
            name: (6, 3, size) for name, size in sizes.items()
        }
    assert played["actions"]["tagger"].shape == (6, 3, 2, 2) and played["actions"]["tagger"].dtype == np.int64
    assert played["rewards"]["runner"].dtype == np.float32 and played["agent_mask"]["runner"].dtype == bool
    assert played["frames"].shape[:2] == (6, 2) and played["frames"].shape[4] == 3
    assert played["frames"].dtype == np.uint8
    assert not np.array_equal(played["frames"][0, 0], played["frames"][5, 0])
    assert not np.array_equal(played["frames"][0, 0], played["frames"][0, 1])


def test_what_is_recorded_repeats_the_trajectory() -> None:
    played = warpworld.rollout(tag(autoreset="same_step", episode_length=7), None, 20, seed=5)
    world = tag(episode_length=7)
    world.reset(seed=5)
    for step in range(20):
        for name, group in world.groups.items():
            seen = world.observations(name)
            assert isinstance(seen, torch.Tensor)
            np.testing.assert_array_equal(seen.cpu().numpy(), played["observations"][name][step])
            world["actions"][:, group.slice] = torch.from_numpy(played["actions"][name][step]).to(world.device)
        world.step()
        for name, group in world.groups.items():
            assert world["rewards"][:, group.slice].tolist() == played["rewards"][name][step].tolist()
            for kind in ("terminated", "truncated"):
                assert (world[kind].cpu().numpy() == played[kind][name][step].T).all()
    assert played["truncated"]["tagger"].any()
    assert len(np.unique(played["actions"]["tagger"])) > 3


def test_the_seed_decides_and_repeats() -> None:
    world = tag()
    first = warpworld.rollout(world, None, 8, seed=1)
    assert equal(warpworld.rollout(world, None, 8, seed=1), first)  # also of a world that was stepped before
    other = warpworld.rollout(world, None, 8, seed=2)
    assert not np.array_equal(other["actions"]["tagger"], first["actions"]["tagger"])
    assert not np.array_equal(other["observations"]["tagger"][0], first["observations"]["tagger"][0])


def test_disabled_autoreset_is_the_same_trajectory() -> None:
    rollouts = [
        warpworld.rollout(tag(autoreset=autoreset, episode_length=5), None, 14)  # type: ignore[arg-type]
        for autoreset in ("same_step", "disabled")
    ]
    assert equal(*rollouts)
    assert rollouts[0]["truncated"]["tagger"].sum() == 2 * 3 * 2


class Returned(Departed):
    """Its resets write the mask of the next episode."""

    def _reset(self, arrays: Any, active: torch.Tensor) -> None:
        super()._reset(arrays, active)
        arrays["agent_mask"] = arrays["agent_mask"] | active[:, None]


def test_masks_are_those_of_the_step() -> None:
    world = World(Returned(episode_length=6, ending=0.0), 2)
    played = warpworld.rollout(world, None, 13)
    counts = played["agent_mask"]["left"]
    assert counts[:, 0, 0].tolist() == [True, True, *[False] * 4, True, True, *[False] * 4, True]
    assert counts[:, :, 1].all() and played["agent_mask"]["right"].all()
    assert played["terminated"]["left"][:, 0, 0].nonzero()[0].tolist() == [1, 7]  # its own part ends
    assert not played["terminated"]["left"][:, 0, 1].any()
    assert played["truncated"]["right"][:, 1, 0].nonzero()[0].tolist() == [5, 11]


def test_action_masks() -> None:
    world, policy = made(f"{SMALL}:Narrowing", "left")
    played = warpworld.rollout(world, {"left": policy, "right": None}, 12)
    assert {name: mask.shape[2:] for name, mask in played["action_mask"].items()} == {"left": (2, 5), "right": (1, 4)}
    assert all((rewards >= 0).all() for rewards in played["rewards"].values())  # -1000 for what is forbidden
    first = np.take_along_axis(played["action_mask"]["left"], played["actions"]["left"][..., :1], -1)
    assert first.all() and not played["action_mask"]["left"].all()


@pytest.mark.parametrize(
    ("name", "group", "model", "env"),
    [
        ("cartpole", "agent", {}, {}),
        ("tests.trainers.recall:Lives", "left", LSTM, {"dying": 0.2}),
        (f"{SMALL}:Aim", "archer", {}, {}),
    ],
)
def test_policies_act_as_in_training(name: str, group: str, model: dict[str, Any], env: dict[str, Any]) -> None:
    world, policy = made(name, group, model, **env)
    others = [other for other in world.groups if other != group]
    played = warpworld.rollout(world, {group: policy, **dict.fromkeys(others)}, 20, seed=3, greedy=True)
    theirs, _ = made(name, group, model, **env)
    actor = Actor(theirs, group, policy, "act_greedily")
    theirs.reset(seed=3)
    array, first = theirs.action_array(group)
    for step in range(20):
        for other in others:
            own, start = theirs.action_array(other)
            given = torch.from_numpy(played["actions"][other][step]).to(theirs.device)
            stored = theirs[own][:, start : start + theirs.groups[other].size]
            stored.copy_(given.reshape(stored.shape))
        actor.act()
        taken = theirs[array][:, first : first + theirs.groups[group].size].cpu().numpy()
        assert taken.ravel().tolist() == played["actions"][group][step].ravel().tolist()
        theirs.step()
    assert len(np.unique(played["actions"][group])) > 1 or name.endswith("Aim")


def test_one_policy_for_every_group() -> None:
    world, policy = made(f"{SMALL}:Clockwork", "left")
    played = warpworld.rollout(world, policy, 6, greedy=True)
    for group in world.groups:
        seen = played["observations"][group]
        assert policy.act(seen, greedy=True).tolist() == played["actions"][group].tolist()


@pytest.mark.parametrize("kind", DONE)
def test_actions_are_of_their_space(kind: str) -> None:
    world, policy = made("tests.trainers.collecting.test_kinds_of_actions:Guess", "guesser", kind=kind)
    space = world.groups["guesser"].action
    for player in (policy, None):
        played = warpworld.rollout(world, player, 3)
        actions = played["actions"]["guesser"]
        assert actions.shape == (3, 30, 2, *space.shape) and actions.dtype == space.dtype  # type: ignore[misc]
        assert all(space.contains(action) for action in actions.reshape(-1, *space.shape))  # type: ignore[misc]
        stored = (actions[-1] - action_start(space)).reshape(30, 2, -1)
        assert world["actions"].tolist() == stored.tolist()


def test_observations_of_a_dict() -> None:
    world, policy = made("tests.trainers.collecting.seen_in_kinds:SeenAs", "walker", kind="mixed")
    played = warpworld.rollout(world, policy, 4)
    space = world.groups["walker"].observation
    seen = played["observations"]["walker"]
    assert {key: (part.shape, str(part.dtype)) for key, part in seen.items()} == {
        "eye": ((4, 30, 2, 2), "uint8"),
        "own": ((4, 30, 2), "int64"),
        "place": ((4, 30, 2, 1), "float32"),
    }
    assert space.contains({key: part[3, 1, 1] for key, part in seen.items()})


# --- bad input --------------------------------------------------------------------------------------------------------
def sealed_with_a_mask() -> World:
    world = tag()
    world.reset()
    return world


@pytest.mark.parametrize(
    ("world", "policies", "more", "error", "message"),
    [
        (lambda: "cartpole", None, {}, DeclarationError, "rollout() takes a World, not 'cartpole'"),
        (tag, {"taggr": None}, {}, StoreError, "policies: no group 'taggr'. Did you mean 'tagger'? Groups: tagger, "
         "runner"),
        (tag, {"tagger": None}, {}, StoreError, "policies: none for group 'runner'; None takes actions at random"),
        (tag, "runs/x", {}, StoreError, "policies: str for group 'tagger', expected a Policy or None"),
        (tag, None, {"steps": 0}, DeclarationError, "steps=0: expected a whole number of at least 1"),
        (tag, None, {"seed": -1}, DeclarationError, "seed=-1: expected a whole number of at least 0 and below 2^64"),
        (tag, None, {"frames": [3]}, DeclarationError, "render(): env 3, expected 0 to 2"),
        (lambda: tag(autoreset="next_step"), None, {}, StoreError,
         "rollout(): an env of autoreset='next_step' has steps without actions; make it 'same_step'"),
        (sealed_with_a_mask, None, {}, StoreError,
         "rollout(): the world has an agent_mask, and was reset before; make a new one for rollouts"),
    ],
)  # fmt: skip
def test_bad_input(world: Any, policies: Any, more: dict[str, Any], error: type[WarpworldError], message: str) -> None:
    with pytest.raises(error) as raised:
        warpworld.rollout(world(), policies, **{"steps": 4, **more})
    assert str(raised.value) == message


def test_a_policy_of_another_environment() -> None:
    _, policy = made("cartpole", "agent")
    assert isinstance(policy, Policy)
    with pytest.raises(StoreError) as error:
        warpworld.rollout(World(get_environment(f"{SMALL}:Aim")(), 2), policy, 1)
    assert str(error.value) == "observations: shape (2, 2, 2), expected (4,) for one agent, or (..., 4) for several"
