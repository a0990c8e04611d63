"""Lists of entities within an observation: what cannot be declared, and what others see of them."""

from __future__ import annotations

import copy
import pickle

import pytest
from gymnasium.spaces import Box

from warpworld import EntityBox, EntityList
from warpworld.environment import get_environment, part_of
from warpworld.errors import DeclarationError

BOXES = EntityList("boxes", 3, 2, 4)


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ([], "lists is empty, expected at least one EntityList; declare a Box instead"),
        ([EntityList("a", 0, 0, 4)], "entity list 'a': 0 rows of 4 features, expected at least 1 of each"),
        ([EntityList("a", -1, 1, 4)], "entity list 'a' begins at number -1, expected 0 or more: lists lie in order"),
        (
            [BOXES, EntityList("a", 10, 1, 1)],
            "entity list 'a' begins at number 10, expected 11 or more: lists lie in order",
        ),
        ([EntityList("a", 9, 1, 4)], "entity list 'a' ends at number 13, but the observation has 12 numbers"),
        ([EntityList("a", 0, 1, 4, 4)], "entity list 'a': mask 4, expected a number of a row, 0 to 3, or None"),
        (
            [EntityList("a", 0, 3, 4)],
            "lists hold all numbers of the observation, expected some about the agent itself",
        ),
    ],
)
def test_what_is_no_list(lists: list[EntityList], words: str) -> None:
    with pytest.raises(DeclarationError) as refusal:
        EntityBox(-1.0, 1.0, 12, lists)
    assert str(refusal.value) == words


def test_others_see_a_box() -> None:
    space = EntityBox(-1.0, 1.0, 12, [BOXES])
    assert space == Box(-1.0, 1.0, (12,))
    assert part_of(space).shape == (12,)  # type: ignore[union-attr]
    for copied in (copy.deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert copied == space
        assert copied.lists == (BOXES,)


@pytest.mark.parametrize("hiders", [1, 3])
def test_hide_and_seek_lists_agents_and_boxes(hiders: int) -> None:
    """Where its kernel writes them: a flag, 0 where the entity is out of sight, and zeros behind it."""
    from warpworld.world import World

    environment = get_environment("hide_and_seek")(hiders=hiders, boxes=3, doors=2)
    world = World(environment, 20, "cpu", seed=1)
    world.reset()
    for _ in range(40):
        world.step()
    seen = world["observations"]
    observation = environment.groups()[0].observation
    assert isinstance(observation, EntityBox)
    agents, boxes = observation.lists
    in_sight = world["in_sight"]
    assert (agents.rows, boxes.rows) == (hiders + 1, 3)
    rows = seen[..., boxes.first : boxes.end].unflatten(-1, (boxes.rows, boxes.features))
    assert (rows[..., 0] > 0.5).equal(in_sight[..., hiders + 2 :])
    assert 0 < in_sight[..., hiders + 2 :].float().mean() < 1
    rows = seen[..., agents.first : agents.end].unflatten(-1, (agents.rows, agents.features))
    assert ((rows[..., 0] > 0.5).sum(-1)).equal(in_sight[..., : hiders + 2].sum(-1))
    assert not rows[rows[..., 0] < 0.5].any()
