"""``policy.act``: a caller's observations in, actions of the environment's own space out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.trainers.algorithms.q_learner import QLearner
from tests.trainers.collecting.seen_in_kinds import SPACES as SEEN
from tests.trainers.collecting.test_kinds_of_actions import SPACES as DONE
from warpworld.adapters.views.masks import space_mask
from warpworld.config import config_from_dict, load_config
from warpworld.environment import action_start, get_environment, placed_groups
from warpworld.errors import StoreError
from warpworld.policies import Categorical, Policy, RecurrentPolicy
from warpworld.trainers.building import build_policies, build_world, fuse_policies
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

TRAINER = {"num_envs": 30, "num_steps": 4, "total_env_steps": 120}
LSTM = {"recurrent": "lstm", "recurrent_size": 8, "hidden_sizes": [8]}


def sharpened(policy: Policy) -> Policy:
    """With larger weights, so that what is seen decides."""
    with torch.no_grad():
        for weight in policy.parameters():
            noise = torch.randn(weight.shape, generator=torch.Generator().manual_seed(1))
            weight.mul_(3.0).add_(0.5 * noise.to(weight.device))
    return policy


def made(name: str, group: str, model: dict[str, Any] | None = None, **env: Any) -> tuple[World, Policy]:
    """A world and a policy of one of its groups."""
    entry = {"groups": [group], "model": {"hidden_sizes": [8], **(model or {})}, "num_minibatches": 1}
    data = {"name": name, "env": env, "trainer": TRAINER, "policy": {"own": entry}}
    others = [other for other in placed_groups(get_environment(name)(**env)) if other != group]
    if others:
        data["policy"] = {"own": entry, "others": {"algorithm": "random", "groups": others}}
    config = config_from_dict(data)
    world = build_world(config)
    policy = build_policies(config, world.environment, torch.Generator().manual_seed(2), world.device)["own"]
    assert policy is not None
    return world, sharpened(policy)


def in_space(world: World, group: str) -> Tensor:
    """The group's actions in the store, as actions of its space."""
    space = world.groups[group].action
    name, first = world.action_array(group)
    stored = world[name][:, first : first + world.groups[group].size]
    return stored.reshape(*stored.shape[:2], *space.shape) + torch.as_tensor(action_start(space), device=stored.device)


SMALL = "tests.trainers.small_worlds"
DECIDED = {
    "categorical": ("cartpole", "agent", {}, {}),
    "several heads": ("tag_continuous", "tagger", {}, {"num_taggers": 2, "num_runners": 3}),
    "gaussian": (f"{SMALL}:Aim", "archer", {}, {}),
    "masks": (f"{SMALL}:Narrowing", "left", {}, {}),
    "lstm": ("tests.trainers.recall:Recall", "agent", LSTM, {"agents": 2}),
    "lives": ("tests.trainers.recall:Lives", "left", LSTM, {"dying": 0.2}),
    "normalised": ("cartpole", "agent", {"normalise_observations": True}, {}),
}


@pytest.mark.parametrize("case", DECIDED)
@pytest.mark.parametrize("fused", [False, True], ids=["torch", "fused"])
def test_greedy_actions_are_those_of_the_trainers_actor(case: str, fused: bool) -> None:
    name, group, model, env = DECIDED[case]
    world, policy = made(name, group, model, **env)
    if policy.normaliser is not None:
        policy.normaliser.update(torch.randn(50, 4, device=world.device) * 0.1 + 0.05)
    if fused:
        fuse_policies({"own": policy})
    actor = Actor(world, group, policy, "act_greedily")
    world.reset()
    agents, state, taken = world.groups[group].slice, None, set()
    generator = torch.Generator().manual_seed(0)
    for _ in range(12):
        seen_now = world["observations"]
        seen_now.copy_(torch.randn(seen_now.shape, generator=generator))  # more than some of these worlds ever show
        given = {"state": state} if isinstance(policy, RecurrentPolicy) else {}
        if "action_mask" in world:
            given["action_mask"] = world["action_mask"][:, agents, : policy.distribution.num_outputs]
        actions = policy.act(world.observations(group), greedy=True, **given)
        if isinstance(policy, RecurrentPolicy):
            actions, state = actions
        actor.act()
        assert torch.equal(actions, in_space(world, group))
        taken |= set(map(tuple, actions.flatten(0, 1).reshape(-1, max(actions[0, 0].numel(), 1)).tolist()))
        world.step()
        if state is not None:
            ended = (world["terminated"] | world["truncated"]).unsqueeze(1)
            if "agent_terminated" in world:
                ended = ended | world["agent_terminated"][:, agents]
            state = state.masked_fill(ended.expand(state.shape[:2]).unsqueeze(-1), 0.0)
    assert len(taken) > 1


@pytest.mark.parametrize("kind", [*SEEN])
def test_every_kind_of_observation(kind: str) -> None:
    name = "tests.trainers.collecting.seen_in_kinds:SeenAs"
    world, policy = made(name, "walker", {"hidden_sizes": [8]}, kind=kind)
    actor = Actor(world, "walker", policy, "act_greedily")
    world.reset()
    space = world.groups["walker"].observation
    actor.act()
    rng = np.random.default_rng(0)
    space.seed(int(rng.integers(100)))
    one = space.sample()
    assert policy.spaces is not None and policy.spaces.action.contains(policy.act(one))
    stored = world.observations("walker")
    parts = stored if isinstance(stored, dict) else {"": stored}
    shapes = {"": space.shape} | {key: part.shape for key, part in getattr(space, "spaces", {}).items()}
    seen = {key: part.cpu().numpy().reshape(*part.shape[:2], *(shapes[key] or ())) for key, part in parts.items()}
    actions = policy.act(seen.get("", seen), greedy=True)
    assert isinstance(actions, np.ndarray) and actions.dtype == np.int64
    assert actions.tolist() == in_space(world, "walker").tolist()


@pytest.mark.parametrize("kind", DONE)
def test_every_kind_of_action(kind: str) -> None:
    world, policy = made("tests.trainers.collecting.test_kinds_of_actions:Guess", "guesser", kind=kind)
    space = world.groups["guesser"].action
    drawn = [policy.act(np.zeros(2, np.float32)) for _ in range(50)]
    assert all(space.contains(action) for action in drawn)
    many = policy.act(torch.zeros(7, 3, 2), generator=torch.Generator().manual_seed(0))
    assert isinstance(many, Tensor) and many.shape == (7, 3, *space.shape)
    assert str(many.dtype).removeprefix("torch.") == str(space.dtype)
    assert len(many.flatten(0, 1).unique(dim=0)) > 1
    assert policy.act(np.zeros((0, 2), np.float32)).shape == (0, *space.shape)


def test_draws_follow_the_distribution_and_the_generator() -> None:
    _, policy = made("cartpole", "agent")
    seen = torch.tensor([0.02, -0.1, 0.03, 0.2])
    draws = policy.act(seen.expand(40_000, 4), generator=torch.Generator().manual_seed(3))
    probability = torch.softmax(policy.outputs(seen), -1)[1].item()
    assert 0.02 < probability < 0.98
    assert abs(draws.double().mean().item() - probability) < 5 * (probability * (1 - probability) / 40_000) ** 0.5
    again = policy.act(seen.expand(40_000, 4), generator=torch.Generator().manual_seed(3))
    assert torch.equal(draws, again)


def test_box_draws_are_normal_between_the_bounds() -> None:
    _, policy = made(f"{SMALL}:Aim", "archer")
    with torch.no_grad():
        policy.distribution.log_std.copy_(torch.tensor([-0.7, 0.4]))
        means = policy.outputs(torch.tensor([[0.1, 0.2]]))[0].clone()
    drawn = policy.act(torch.tensor([0.1, 0.2]).expand(40_000, 2), generator=torch.Generator().manual_seed(5)).double()
    noise = torch.distributions.Normal(means.double(), torch.tensor([-0.7, 0.4]).double().exp())
    below = noise.cdf(torch.tensor([-1.0, 0.0]).double())  # cut off at -1 and, in the second dimension, at 0
    low = torch.tensor([-1.0, 0.0]).double()
    assert ((drawn <= low).double().mean(0) - below).abs().max() < 5 * 0.5 / 200
    assert drawn[:, 0].max() <= 3.0


def test_forbidden_choices_are_never_drawn() -> None:
    _, policy = made(f"{SMALL}:Narrowing", "left")
    observations = np.random.default_rng(0).normal(size=(2000, *policy.spaces.observation.shape)).astype(np.float32)  # type: ignore[union-attr]
    mask = np.zeros((2000, 5), bool)
    mask[:, [0, 2, 4]] = True  # of heads of 3 and 2
    actions = policy.act(observations, action_mask=mask)
    assert set(actions[:, 0].tolist()) == {0, 2} and set(actions[:, 1].tolist()) == {1}
    everything = policy.act(observations, action_mask=np.zeros((2000, 5), bool))
    assert [len(set(actions)) for actions in everything.T.tolist()] == [3, 2]


@pytest.mark.parametrize("kind", [kind for kind in DONE if not kind.startswith("box")])
def test_masks_in_the_form_of_the_space(kind: str) -> None:
    _, policy = made("tests.trainers.collecting.test_kinds_of_actions:Guess", "guesser", kind=kind)
    space, seen = policy.spaces.action, np.zeros(2, np.float32)  # type: ignore[union-attr]
    masks = torch.rand(40, policy.distribution.num_outputs, generator=torch.Generator().manual_seed(0)) < 0.7
    whole = policy.act(np.zeros((40, 2), np.float32), greedy=True, action_mask=masks.numpy())
    for row, expected in zip(masks.numpy(), whole, strict=True):
        own = policy.act(seen, greedy=True, action_mask=space_mask(space, row))
        if all(head.any() for head in np.split(row, np.cumsum(policy.distribution.head_sizes)[:-1])):
            np.testing.assert_array_equal(own, expected)
            np.testing.assert_array_equal(policy.act(seen, greedy=True, action_mask=row.astype(np.int8)), expected)


def test_actions_in_a_box_need_no_mask() -> None:
    _, policy = made(f"{SMALL}:Aim", "archer")
    policy.needs_mask = True  # of its world, in which others have choices
    assert policy.act(np.zeros(2)).shape == (2,)


def test_numbers_that_are_not_finite_still_give_an_action() -> None:
    _, policy = made("cartpole", "agent")
    seen = np.full((3, 4), np.nan, np.float32)
    assert policy.act(seen).tolist() == policy.act(seen, greedy=True).tolist() == [0, 0, 0]
    assert Categorical((3,)).choose(torch.tensor([1.0, math.nan, 5.0]), greedy=True).tolist() == [2]


def test_a_state_is_handed_back_and_one_agent_needs_no_axes() -> None:
    _, policy = made("tests.trainers.recall:Recall", "agent", LSTM)
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(5, 3)).astype(np.float32)
    state = None
    for seen in steps:
        action, state = policy.act(seen, greedy=True, state=state)
        assert isinstance(state, np.ndarray) and state.shape == (16,) and state.dtype == np.float32
    assert isinstance(policy, RecurrentPolicy)
    inner, expected = torch.zeros(1, 16), []
    for seen in torch.from_numpy(steps):
        outputs, _, inner = policy.step(seen[None], inner)
        expected.append(int(outputs.argmax()))
    assert action == expected[-1]
    np.testing.assert_array_equal(state, inner[0].detach().numpy())


def test_an_algorithm_that_acts_greedily_always_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QLearner, "acts_greedily", True)
    learner = {"algorithm": "tests.trainers.algorithms.q_learner:QLearner"}
    data = {"name": "cartpole", "trainer": TRAINER, "policy": {"agent": learner}}
    config = config_from_dict(data)
    policy = build_policies(config, build_world(config).environment, torch.Generator())["agent"]
    assert policy is not None
    assert len(policy.act(torch.zeros(500, 4)).unique()) == 1


# --- bad input --------------------------------------------------------------------------------------------------------
CARTPOLE = ("cartpole", "agent", {}, {})
MIXED = ("tests.trainers.collecting.seen_in_kinds:SeenAs", "walker", {}, {"kind": "mixed"})
BYTES = ("tests.trainers.collecting.seen_in_kinds:SeenAs", "walker", {}, {"kind": "bytes"})
SEEN_4 = np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("case", "observations", "more", "message"),
    [
        (CARTPOLE, np.zeros(3), {}, "observations: shape (3,), expected (4,) for one agent, or (..., 4) for several"),
        (CARTPOLE, ["a"] * 4, {}, "observations: list, expected numbers of float32"),
        (CARTPOLE, [[1.0], [1.0, 2.0]], {}, "observations: list, expected numbers of float32"),
        (CARTPOLE, {"eye": SEEN_4}, {}, "observations: dict, expected one array"),
        (CARTPOLE, SEEN_4 * 1j, {}, "observations: complex64, expected float32"),
        (BYTES, np.zeros(2), {}, "observations: float64, expected uint8"),
        (MIXED, np.zeros(2), {}, "observations: ndarray, expected a dict of eye, own, place"),
        (
            MIXED,
            {"eye": np.zeros(2, np.uint8), "own": 3},
            {},
            "observations: of eye, own, expected eye, own, place",
        ),
        (
            MIXED,
            {"eye": np.zeros((2, 2), np.uint8), "own": 3, "place": np.zeros((2, 1))},
            {},
            "observations['own']: of () agents, but observations['eye'] of (2,)",
        ),
        (
            MIXED,
            {"eye": np.zeros(2, np.uint8), "own": 3.5, "place": np.zeros(1)},
            {},
            "observations['own']: float64, expected int32",
        ),
        (
            CARTPOLE,
            SEEN_4,
            {"action_mask": [True]},
            "action_mask: bool of shape (1,), expected bool of shape (2,)",
        ),
        (
            CARTPOLE,
            SEEN_4,
            {"action_mask": [0.5, 1.0]},
            "action_mask: float64 of shape (2,), expected bool of shape (2,)",
        ),
        (
            CARTPOLE,
            SEEN_4,
            {"action_mask": "ab"},
            "action_mask: str, expected an array of bool",
        ),
        (CARTPOLE, SEEN_4, {"state": SEEN_4}, "state: this policy has no memory; leave it out"),
        (
            (f"{SMALL}:Aim", "archer", {}, {}),
            np.zeros(2),
            {"action_mask": [True, True]},
            "action_mask: actions in a Box cannot be forbidden; leave it out",
        ),
        (
            DECIDED["lstm"],
            np.zeros((2, 3)),
            {"state": np.zeros(16, np.float32)},
            "state: float32 of shape (16,), expected float32 of shape (2, 16): what the last act() returned",
        ),
    ],
)
def test_bad_input(case: Any, observations: Any, more: dict[str, Any], message: str) -> None:
    name, group, model, env = case
    _, policy = made(name, group, model, **env)
    with pytest.raises(StoreError) as error:
        policy.act(observations, **more)
    assert str(error.value) == message


def test_a_missing_mask() -> None:
    entry = {"num_minibatches": 1}
    data = {"name": f"{SMALL}:Narrowing", "trainer": TRAINER, "policy": {"left": entry, "right": entry}}
    policy = Trainer(config_from_dict(data)).policies["left"]
    assert policy is not None
    with pytest.raises(StoreError) as error:
        policy.act(np.zeros((6, *policy.spaces.observation.shape)))  # type: ignore[union-attr]
    assert str(error.value) == "act(): the policy learnt with a mask; pass action_mask=, bool of shape (6, 5)"


def test_a_policy_made_by_hand() -> None:
    _, policy = made("cartpole", "agent")
    with pytest.raises(StoreError) as error:
        Policy(policy.model, policy.distribution).act(SEEN_4)
    expected = "act(): this policy knows no spaces; use one that load_policy or a Trainer made"
    assert str(error.value) == expected


def test_what_a_config_trains_knows_its_mask() -> None:
    config = load_config("cartpole", ["trainer.num_envs=4", "policy.agent.num_minibatches=1"])
    policy = Trainer(config).policies["agent"]
    assert policy is not None and not policy.needs_mask
