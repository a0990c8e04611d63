"""Actions of any space, and masks of their parts and combinations."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete, MultiDiscrete

from tests.adapters.external.actions import CROSS, RECEIVED, SPACES
from warpworld import World
from warpworld.adapters.external.forms.action_form import ActionForm
from warpworld.adapters.external.forms.action_masks import mask_row
from warpworld.config import config_from_dict
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError
from warpworld.trainers.trainer import Trainer
from warpworld.world.random_actions import RandomActions

pytestmark = pytest.mark.cpu_backend
WHERE = "external: tests.adapters.external.actions:acts: "


def acting(num_envs: int = 2, steps: int = 40, **options: Any) -> World:
    """A world that was stepped with random actions; ``RECEIVED`` has what its library got, and asserted to be legal."""
    environment = get_environment("external")(library="tests.adapters.external.actions:acts", options=options)
    RECEIVED.clear()  # of what tries whether envs have states
    world = World(environment, num_envs, "cpu")
    world.reset()
    actions = RandomActions(world, 0)
    for _ in range(steps):
        actions.draw()
        actions.put(world, slice(None))
        world.step()
    return world


def taken() -> set[str]:
    return {repr(action) for action in RECEIVED}


# ---- spaces ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("space", ["tuple", "dict", "boxes", "whole", "shifted", "mixed", "numbers", "several"])
def test_parts_reach_the_library_in_its_space(space: str) -> None:
    acting(space=space)
    assert len(RECEIVED) == 80 and all(SPACES[space].contains(action) for action in RECEIVED)
    if space in ("dict", "shifted"):
        assert len(taken()) == {"dict": 6, "shifted": 3}[space]  # all that there are


@pytest.mark.parametrize("space", ["text", "sequence", "graph", "one of"])
def test_spaces_that_are_refused(space: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        acting(space=space)
    message = str(caught.value)
    assert message.startswith(f"{WHERE}group 'agent': actions are in {type(SPACES[space]).__name__}(")
    assert message.endswith(
        "; expected Discrete, MultiDiscrete, MultiBinary or a Box, or a Tuple or Dict of such. Wrap the env in "
        "gymnasium.wrappers.TransformAction(env, lambda action: ..., "
        "gymnasium.spaces.MultiDiscrete([...])); docs/external.md#wrappers shows where"
    )


def test_more_choices_than_a_policy_has() -> None:
    with pytest.raises(
        DeclarationError, match=r"actions are in Discrete\(16777217\); expected at most 16,777,216 choices"
    ):
        acting(space="many")


# ---- masks -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("space", "masks", "allowed"),
    [
        ("tuple", "tuple", [6, 1, 1, 0]),
        ("dict", "dict", [0, 0]),
        ("pair", "grid", [[0, 1], [2, 1]]),
        ("pair", "flat grid", [[0, 0], [2, 1]]),
        ("cells", "cross", [[4, 0], [6, 1]]),
        ("pair", "joined", [[0, 1], [2, 1]]),
        ("cells", "joined", [[4, 1], [6, 1]]),
    ],
)
def test_masks_of_parts_and_of_combinations(space: str, masks: str, allowed: Any) -> None:
    acting(space=space, masks=masks)
    flat = np.unique([_numbers(action) for action in RECEIVED], axis=0)
    assert flat.squeeze().tolist() == allowed


def _numbers(action: Any) -> list[int]:
    parts = action.values() if isinstance(action, dict) else action
    if isinstance(action, (dict, tuple)):
        return [number for part in parts for number in _numbers(part)]
    return np.ravel(action).tolist()


@pytest.mark.parametrize(("space", "stored"), [("pair", Discrete(6)), ("cells", Discrete(6))])
def test_combinations_in_an_observation_become_choices(space: str, stored: Discrete) -> None:
    world = acting(space=space, masks="cross", seen=True)
    assert world.groups["agent"].action == stored
    assert (world.data.numpy("action_mask")[0, 0] == CROSS.ravel()).all() and len(taken()) == 2


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("options", [{"space": "pair", "masks": "cross"}, {"space": "tuple", "masks": "tuple"}])
def test_learners_take_legal_combinations_only(options: dict[str, str]) -> None:
    config = {
        "name": "external",
        "env": {"library": "tests.adapters.external.actions:acts", "options": options},
        "trainer": {"num_envs": 2, "num_steps": 20, "total_env_steps": 40, "device": "cpu"},
        "policy": {"agent": {"model": {"hidden_sizes": [4]}, "num_minibatches": 1}},
    }
    trainer = Trainer(config_from_dict(config))
    RECEIVED.clear()
    trainer.train(None)
    assert len(RECEIVED) == 40 and len(taken()) == (2 if options["space"] == "pair" else 1)


@pytest.mark.parametrize(
    ("library", "masks", "stored"),
    [
        ("parallel", "joint", Discrete(6)),
        ("parallel", "parts", MultiDiscrete([3, 2])),
        ("turns", "joint", Discrete(6)),
        ("turns", "parts", MultiDiscrete([3, 2])),
    ],
)
def test_masks_of_agents(library: str, masks: str, stored: Any) -> None:
    """The env asserts that it gets what is legal."""
    pytest.importorskip("pettingzoo")
    params = {"library": "pettingzoo", "id": f"tests.adapters.external.pairs_{library}", "options": {"masks": masks}}
    world = World(get_environment("external")(**params), 2, "cpu")
    world.reset()
    actions = RandomActions(world, 0)
    for _ in range(20):
        actions.draw()
        actions.put(world, slice(None))
        world.step()
    assert next(iter(world.groups.values())).action == stored
    assert (world.data.numpy("rewards").sum(1) > 0).all()


def test_a_mask_that_fits_nothing_is_an_error_where_choices_are_masked() -> None:
    with pytest.raises(DeclarationError) as caught:
        acting(space="pair", masks="wrong")
    assert str(caught.value) == (
        f"{WHERE}env 0: infos['action_mask'] is float64 of shape (7,), expected 5 truth values, one for each choice of "
        "MultiDiscrete([3 2]), or for one of at most 65,536 combinations"
    )


@pytest.mark.parametrize("space", ["box", "cells"])
def test_a_mask_of_numbers_is_named(space: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        world = acting(space=space, masks="wrong")
    assert "action_mask" not in world
    expected = f"{WHERE}infos['action_mask'] is not used: it is no mask for actions in {SPACES[space]}"
    assert expected in [record.getMessage() for record in caplog.records]


def test_a_box_without_masks_stays_one() -> None:
    assert acting(space="cells").groups["agent"].action != MultiDiscrete([3, 2], start=[4, 0])


@pytest.mark.parametrize(
    ("given", "wrong"), [([0.0, -np.inf], "-inf"), ([1.0, 0.5], "0.5"), ([3, 0], "3"), ([np.nan, 1.0], "nan")]
)
def test_a_mask_of_other_numbers_than_0_and_1_is_refused(given: list[float], wrong: str) -> None:
    """Masks that are added to logits would forbid what they allow."""
    with pytest.raises(DeclarationError) as caught:
        mask_row(np.array(given), ActionForm(Discrete(2), "here"), "here: infos['action_mask']")
    assert str(caught.value) == (
        f"here: infos['action_mask'] has {wrong}, expected 2 truth values, one for each choice of Discrete(2)"
    )


# ---- parts of several kinds ------------------------------------------------------------------------------------------
def test_a_part_without_a_head_is_named() -> None:
    with pytest.raises(DeclarationError) as caught:
        acting(space="half")
    assert str(caught.value).startswith(
        f"{WHERE}group 'agent': actions are in {SPACES['half']}, of which a policy has no head for ['words']: "
        f"{SPACES['half']['words']}; expected Discrete, MultiDiscrete, MultiBinary or a Box, or a Tuple or Dict of such"  # type: ignore[index]
    )
