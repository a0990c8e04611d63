"""Observations of any space, and masks of actions, of Gymnasium's vector environments."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict
from gymnasium.wrappers import FilterObservation, FlattenObservation, TransformObservation

from tests.adapters.external.views import SPACES, Views, views
from warpworld import World
from warpworld.config import config_from_dict
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend


def viewing(num_envs: int = 2, **options: Any) -> World:
    environment = get_environment("external")(library="tests.adapters.external.views:views", options=options)
    world = World(environment, num_envs, "cpu")
    world.request("final_observations")
    world.reset()
    return world


# ---- spaces ----------------------------------------------------------------------------------------------------------
def test_tuples_become_keys() -> None:
    world, envs = viewing(space="tuple"), views(2, "tuple")
    vector, choice = envs.reset(seed=0)[0]
    assert (world.data.numpy("observations_0")[:, 0] == vector).all()
    assert (world.data.numpy("observations_1")[:, 0, 0] == choice).all()
    for _ in range(3):
        world.step()
        *_, infos = envs.step(np.zeros(2, np.int64))
    final_vector, final_choice = infos["final_obs"][1]
    assert (world.data.numpy("final_observations_0")[1, 0] == final_vector).all()
    assert world.data.numpy("final_observations_1")[1, 0, 0] == final_choice


def test_nested_keys_are_joined_and_stay_apart() -> None:
    world, envs = viewing(space="nested"), views(2, "nested")
    seen = envs.reset(seed=0)[0]
    names = {"arm_joint_angle": seen["arm"]["joint angle"], "arm_joint_angle_2": seen["arm_joint_angle"][:, None]}
    for name, values in names.items():
        assert (world.data.numpy(f"observations_{name}")[:, 0] == values.astype(np.float32)).all()


def test_keys_without_letters_get_names() -> None:
    assert set(viewing(space="nameless").groups["agent"].observation) == {"part", "_"}


def test_parts_without_numbers_are_left_out() -> None:
    assert viewing(space="empty").groups["agent"].observation == Dict({"x": SPACES["empty"]["x"]})  # type: ignore[index]


def test_text_is_refused_with_what_helps() -> None:
    with pytest.raises(DeclarationError) as caught:
        viewing(space="words")
    message = str(caught.value)
    assert message.startswith(
        "external: tests.adapters.external.views:views: group 'agent': observation['mission'] is Text(1, 5, charset="
    )
    assert message.endswith(
        "Wrap the env in gymnasium.wrappers.FilterObservation(env, ['direction', 'image']), which leaves it out; "
        "docs/external.md#wrappers shows where"
    )


TRANSFORM = (
    "Wrap the env in gymnasium.wrappers.TransformObservation(env, lambda seen: ..., gymnasium.spaces.Box(...)), which "
    "makes numbers of it; docs/external.md#wrappers shows where"
)
FLATTEN = "Wrap the env in gymnasium.wrappers.FlattenObservation(env); docs/external.md#wrappers shows where"


@pytest.mark.parametrize(
    ("space", "part", "advice"),
    [
        ("sentence", " is Text(", FLATTEN),
        ("one of", " is OneOf(", FLATTEN),
        ("letters", "[1] is Text(", "gymnasium.wrappers.FilterObservation(env, [0]), which leaves it out; "),
        ("deep", "['a part']['its name'] is Text(", TRANSFORM),
        ("sequence", " is Sequence(", TRANSFORM),
        ("graph", " is Graph(", TRANSFORM),
        ("many", " is Discrete(16777217); expected at most 16,777,216 choices", TRANSFORM),
        ("more", " is Discrete(2147483649); expected", TRANSFORM),
    ],
)
def test_spaces_that_are_refused_with_what_helps(space: str, part: str, advice: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        viewing(space=space)
    message = str(caught.value)
    assert message.startswith(f"external: tests.adapters.external.views:views: group 'agent': observation{part}")
    assert advice in message


def _count(seen: Any) -> np.ndarray:
    return np.array([len(str(seen))], np.float32)


@pytest.mark.parametrize(
    ("space", "wrapper"),
    [
        ("sentence", FlattenObservation),
        ("one of", FlattenObservation),
        ("letters", lambda env: FilterObservation(env, [0])),
        ("sequence", lambda env: TransformObservation(env, _count, Box(0.0, 99.0, (1,), np.float32))),
        ("graph", lambda env: TransformObservation(env, _count, Box(0.0, 99.0, (1,), np.float32))),
        ("deep", lambda env: TransformObservation(env, _count, Box(0.0, 99.0, (1,), np.float32))),
    ],
)
def test_the_lines_that_messages_give_help(space: str, wrapper: Any) -> None:
    gymnasium.register("Own-v0", entry_point=lambda: Views(space, heads=False, masks=False, number=0))
    try:
        environment = get_environment("external")(id="Own-v0", options={"wrappers": [wrapper]})
        world = World(environment, 2, "cpu")
        world.reset()
        world.step()
    finally:
        gymnasium.registry.pop("Own-v0")


@pytest.mark.heavy
@pytest.mark.long
def test_pictures_have_their_channels_first() -> None:
    world, envs = viewing(space="picture"), views(2, "picture")
    assert world.groups["agent"].observation == Box(0, 255, (3, 24, 20), np.uint8)
    seen = np.moveaxis(envs.reset(seed=0)[0], -1, 1)
    assert (world.data.numpy("observations").reshape(2, 3, 24, 20) == seen).all()
    config = {
        "name": "external",
        "env": {"library": "tests.adapters.external.views:views", "options": {"space": "picture"}},
        "trainer": {"num_envs": 2, "num_steps": 4, "total_env_steps": 8, "device": "cpu"},
        "policy": {"agent": {"model": {"type": "multi_input", "channels": [2, 2], "branch_size": 4}}},
    }
    config["policy"]["agent"]["num_minibatches"] = 1  # type: ignore[index]
    trainer = Trainer(config_from_dict(config))
    trainer.train(None)
    (policy,) = trainer.policies.values()
    assert policy.model.actor_layers[0].branches[0][0][0].in_channels == 3
    pictures = envs.reset(seed=0)[0]
    channels_first = np.moveaxis(pictures, -1, 1)
    assert (policy.act(pictures, greedy=True) == policy.act(channels_first, greedy=True)).all()


# ---- masks -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["SAME_STEP", "NEXT_STEP", "DISABLED"])
@pytest.mark.parametrize("options", [{"masks": True}, {"space": "masked"}])
def test_masks_follow_what_is_seen(mode: str, options: dict[str, Any]) -> None:
    world = viewing(mode=mode, **options)
    steps = [0, 1, 2, *([3, 0] if mode == "NEXT_STEP" else [0]), 1]
    for step in steps:
        allowed = world.data.numpy("action_mask")[:, 0]
        assert [np.flatnonzero(row).tolist() for row in allowed] == [sorted({step, env}) for env in range(2)]
        world["actions"] = 1
        world.step()


def test_a_mask_is_no_part_of_the_observation() -> None:
    world = viewing(space="masked")
    assert world.groups["agent"].observation == Box(0.0, 9.0, (1,), np.float32)


def test_masks_of_several_heads() -> None:
    world = viewing(masks=True, heads=True)
    assert world.data.numpy("action_mask")[:, 0].astype(int).tolist() == [[1, 0, 0, 0, 1, 0], [1, 1, 0, 0, 1, 0]]


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("options", [{"masks": True}, {"space": "masked"}])
def test_learners_take_legal_actions_only(options: dict[str, Any]) -> None:
    trainer = Trainer(
        config_from_dict(
            {
                "name": "external",
                "env": {"library": "tests.adapters.external.views:views", "options": options},
                "trainer": {"num_envs": 2, "num_steps": 30, "total_env_steps": 60, "device": "cpu"},
                "policy": {"agent": {"model": {"hidden_sizes": [4]}, "num_minibatches": 1}},
            }
        )
    )
    trainer.train(None)
    world = trainer.world
    allowed, taken = world["rollout_action_mask_agent"], world["rollout_actions_agent"].long()
    assert allowed.gather(-1, taken).all() and not allowed.all()
