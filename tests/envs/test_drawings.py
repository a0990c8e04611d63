"""What the packaged environments look like, from arrays written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpworld.drawing import (
    Arrowheads,
    Discs,
    Drawing,
    Image,
    Polygon,
    Rectangles,
    Segments,
    Text,
    Wedges,
    check_colours,
)
from warpworld.drawing.palette import colour_table
from warpworld.environment import Environment, environment_names, get_environment, placed_groups


def drawing(name: str, arrays: dict[str, Any], **params: Any) -> Drawing:
    environment = get_environment(name)(**params)
    ended = {"terminated": np.bool_(False), "truncated": np.bool_(False)}
    drawn = environment.draw({key: np.asarray(value) for key, value in {**ended, **arrays}.items()})
    assert drawn is not None
    check_colours(drawn, colour_table(placed_groups(environment)))
    return drawn


def marks(drawn: Drawing, kind: type[Any], **wanted: Any) -> list[Any]:
    found = [mark for mark in drawn.marks if isinstance(mark, kind)]
    return [mark for mark in found if all(getattr(mark, name) == value for name, value in wanted.items())]


def test_every_packaged_environment_draws_itself() -> None:
    for name in environment_names():
        cls = get_environment(name)
        if cls.__module__.startswith("warpworld.envs."):
            assert cls.draw is not Environment.draw, name


GRID = {"num_taggers": 3, "grid_length": 10}


def test_tag_gridworld() -> None:
    drawn = drawing("tag_gridworld", {"loc_x": [1, 2, 3, 9], "loc_y": [4, 5, 6, 0]}, **GRID)
    (runner,), (taggers,) = marks(drawn, Discs, fill="runner"), marks(drawn, Discs, fill="tagger")
    assert (runner.x.tolist(), runner.y.tolist()) == ([9.0], [0.0])
    assert (taggers.x.tolist(), taggers.y.tolist()) == ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert marks(drawn, Discs, outline="alarm") == []


def test_taggers_in_one_cell_are_all_seen() -> None:
    drawn = drawing("tag_gridworld", {"loc_x": [2, 2, 7, 2], "loc_y": [5, 5, 5, 5], "terminated": True}, **GRID)
    (taggers,) = marks(drawn, Discs, fill="tagger")
    assert np.hypot(taggers.x[0] - taggers.x[1], taggers.y[0] - taggers.y[1]) >= 0.3
    assert np.abs(taggers.x - [2, 2, 7]).max() < 0.3
    assert np.abs(taggers.y - 5).max() < 0.3
    (ring,) = marks(drawn, Discs, outline="alarm")
    assert (ring.x.tolist(), ring.y.tolist()) == ([2.0], [5.0])


def test_battle() -> None:
    side = 12 + 2 * 6  # the map has a margin as wide as a view
    arrays = {"place": [7 * side + 8, -1, 9 * side + 16, 10 * side + 15], "hp": [10.0, 0.0, 5.0, 0.0]}
    drawn = drawing("battle", arrays, army_size=2, map_size=12)
    (red,), (blue,) = marks(drawn, Discs, fill="red"), marks(drawn, Discs, fill="blue")
    assert (red.x.tolist(), red.y.tolist()) == ([2.5], [1.5])
    assert (blue.x.tolist(), blue.y.tolist()) == ([10.5, 9.5], [3.5, 4.5])
    assert red.radius[0] > blue.radius[0] > blue.radius[1] > 0


def test_epidemic() -> None:
    arrays = {
        "people": [[0.5, 0.2, 0.2, 0.1], [1.0, 0.0, 0.0, 0.0], [0.0] * 4],
        "strictness": [10, 1, 0],
        "unemployment": [20.0, 5.0, 0.0],
        "subsidy": 3,
    }
    drawn = drawing("epidemic", arrays, regions=2)
    (dead,), (infected,) = marks(drawn, Rectangles, fill="ink"), marks(drawn, Rectangles, fill="alarm")
    assert (dead.height.tolist(), infected.height.tolist()) == (pytest.approx([0.1, 0.0]), pytest.approx([0.2, 0.0]))
    assert infected.y.tolist() == pytest.approx(dead.height.tolist())
    (strict,), (jobless,) = marks(drawn, Rectangles, fill="region"), marks(drawn, Rectangles, fill="government")
    assert strict.height[0] / strict.height[1] == pytest.approx(10.0)
    assert jobless.height.tolist() == pytest.approx([0.2, 0.05])
    assert [mark.text for mark in marks(drawn, Text)] == ["subsidy 3 of 19"]


def test_tag_continuous() -> None:
    arrays = {
        "loc_x": [1.0, 2.0, 3.0, 4.0],
        "loc_y": [5.0, 6.0, 7.0, 8.0],
        "direction": [0.5, 1.5, 2.5, 3.5],
        "still_in_the_game": [1, 0, 1, 0],
        "agent_terminated": [False, True, False, False],
    }
    drawn = drawing("tag_continuous", arrays, num_taggers=1, num_runners=3, tagging_distance=0.1, grid_length=20.0)
    (taggers,), (runners,) = marks(drawn, Arrowheads, fill="tagger"), marks(drawn, Arrowheads, fill="runner")
    assert (taggers.x.tolist(), taggers.y.tolist(), taggers.direction.tolist()) == ([1.0], [5.0], [0.5])
    assert (runners.x.tolist(), runners.y.tolist(), runners.direction.tolist()) == ([3.0], [7.0], [2.5])
    (reach,) = marks(drawn, Discs, fill="tagger")
    assert (reach.x.tolist(), reach.radius.tolist()) == ([1.0], [2.0])
    (tags,) = marks(drawn, Discs, outline="alarm")
    assert (tags.x.tolist(), tags.y.tolist()) == ([2.0], [6.0])


@pytest.mark.parametrize(("position", "angle"), [(0.0, 0.0), (1.0, 0.2), (-2.0, -0.1)])
def test_cartpole(position: float, angle: float) -> None:
    drawn = drawing("cartpole", {"state": [[position, 0.0, angle, 0.0]]})
    (pole,) = marks(drawn, Polygon)
    foot, top = np.stack([pole.x, pole.y], -1)[:2].mean(0), np.stack([pole.x, pole.y], -1)[2:].mean(0)
    assert foot[0] == pytest.approx(position)
    assert top - foot == pytest.approx([np.sin(angle), np.cos(angle)])  # positive angles lean to the right


@pytest.mark.parametrize(("angle", "torque"), [(0.0, 0.0), (0.5, 2.0), (-2.0, -1.0)])
def test_pendulum(angle: float, torque: float) -> None:
    drawn = drawing("pendulum", {"state": [[angle, 0.0]], "actions": [[torque]], "timestep": 1})
    (rod,) = marks(drawn, Polygon)
    foot, tip = np.stack([rod.x, rod.y], -1)[[0, 3]].mean(0), np.stack([rod.x, rod.y], -1)[1:3].mean(0)
    assert foot == pytest.approx([0.0, 0.0])
    assert tip == pytest.approx([-np.sin(angle), np.cos(angle)])  # positive angles and torques are counter-clockwise
    (turn,) = marks(drawn, Wedges)
    from_rod = turn.direction[0] - (angle + np.pi / 2)
    assert (from_rod, turn.angle[0]) == pytest.approx((torque * np.pi / 8, abs(torque) * np.pi / 4))


def test_a_pendulum_at_its_start_has_no_torque_of_the_last_episode() -> None:
    drawn = drawing("pendulum", {"state": [[1.0, 0.0]], "actions": [[2.0]], "timestep": 0})
    assert marks(drawn, Wedges)[0].angle[0] == 0.0


def test_chain() -> None:
    drawn = drawing("chain", {"place": 2}, length=5)
    (states,), (end,), (agent,) = (marks(drawn, Discs, fill=fill) for fill in ("ground", None, "agent"))
    assert states.x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert (end.x.tolist(), agent.x.tolist()) == ([4.0], [2.0])


@pytest.mark.parametrize(
    ("timestep", "seen", "named", "full", "middle"),
    [
        (0, [0, 1, 0, 0, 0], None, [("agent", 1)], "21"),
        (20, [0, 0, 0, 0, 0], None, [], "1"),
        (21, [0, 0, 0, 0, 1], None, [], "?"),
        (22, [0, 0, 0, 0, 0], 1, [("agent", 1)], "+1"),
        (22, [0, 0, 0, 0, 0], 3, [("alarm", 3)], "-1"),
    ],
)
def test_recall(timestep: int, seen: list[int], named: int | None, full: list[tuple[str, int]], middle: str) -> None:
    arrays = {"cue": 1, "timestep": timestep, "observations": [seen], "actions": [[named or 0]]}
    arrays |= {"terminated": named is not None, "rewards": [0.0 if named is None else 1.0 if named == 1 else -1.0]}
    drawn = drawing("recall", arrays)
    places, ring = marks(drawn, Discs, fill="ground")[0], marks(drawn, Discs, outline="ink")[0]
    at = {(round(x, 6), round(y, 6)): cue for cue, (x, y) in enumerate(zip(places.x, places.y, strict=True))}
    assert len(at) == 4 and (ring.x[0], ring.y[0]) == pytest.approx((1.0, 0.0))
    discs = [disc for fill in ("agent", "alarm") for disc in marks(drawn, Discs, fill=fill)]
    assert [(disc.fill, at[round(disc.x[0], 6), round(disc.y[0], 6)]) for disc in discs] == full
    assert [text.text for text in marks(drawn, Text)] == [middle]


def test_coins() -> None:
    heads, tails = [1, 0], [0, 1]
    before = drawing("coins", {"observations": np.zeros((2, 4))})
    assert marks(before, Text) == [] and marks(before, Discs, fill=None) == []
    for hider, winner in ((heads, -0.9), (tails, 0.9)):
        drawn = drawing("coins", {"observations": [[*heads, *hider], [*hider, *heads]]})
        assert [text.text for text in marks(drawn, Text)] == ["H", "HT"[hider == tails], "="]
        assert len(marks(drawn, Segments)) == (hider == tails)
        assert [ring.x[0] for ring in marks(drawn, Discs, fill=None)] == [winner]


@pytest.mark.parametrize(
    ("name", "lit", "fills"),
    [
        ("minatar_asterix", [(0, 5, 5), (1, 2, 3), (2, 2, 2), (3, 4, 9)], ["#e0b13c", "muted", "#d1603d", "agent"]),
        ("minatar_breakout", [(0, 9, 4), (1, 3, 2), (2, 4, 1), (3, 1, 7)], ["#d1603d", "muted", "ink", "agent"]),
        ("minatar_freeway", [(0, 9, 4), (1, 2, 6), (6, 2, 5)], ["ink", "#d1603d", "agent"]),
        ("minatar_seaquest", [(0, 3, 4), (5, 2, 6), (7, 9, 0)], ["#4f8fc0", "#5b8c5a", "agent"]),
        ("minatar_space_invaders", [(0, 9, 4), (1, 2, 6), (4, 8, 4)], ["ink", "#5b8c5a", "agent"]),
    ],
)
def test_minatar_s_screens(name: str, lit: list[tuple[int, int, int]], fills: list[str]) -> None:
    """A rectangle for each cell that is lit, at its column and row from the top, the first channel on top."""
    screen = np.zeros((1, *get_environment(name)().groups()[0].observation.shape), bool)  # type: ignore[misc]
    for channel, y, x in lit:
        screen[0, channel, y, x] = True
    drawn = drawing(name, {"observations": screen})
    ground, *cells = [mark for mark in marks(drawn, Rectangles) if len(mark.x)]
    assert (ground.fill, ground.width[0]) == ("ground", 10.0) and drawn.view[1] > drawn.view[3]
    assert [cell.fill for cell in cells] == fills
    middles = [(cell.x[0] + cell.width[0] / 2, cell.y[0] + cell.height[0] / 2) for cell in cells]
    assert middles == [pytest.approx((x + 0.5, y + 0.5)) for _, y, x in reversed(lit)]


def test_explorer_shows_what_has_been_seen_and_what_is_seen() -> None:
    """In a box of 5 m, whose first wall is its lower one: texels 10 to 19, and the one at the corner after it."""
    environment = get_environment("explorer")(plans="box", res=8, subsample=2)
    walls = environment.params.plan_set["plan_walls"]
    seen = np.zeros(32 * environment.params.seen_words, dtype=np.uint8)
    seen[[*range(10, 20), 99, 100]] = 1
    arrays = {
        "plan": 0,
        "positions": [[2.0, 3.0]],
        "angles": [90.0],
        "seen": np.packbits(seen, bitorder="little").view(np.uint32),
        "observations_rgb": np.linspace(0.0, 1.0, 12).reshape(1, 3, 4),
        "observations_depth": np.full((1, 1, 4), 0.5),
    }
    drawn = drawing("explorer", arrays, plans="box", res=8, subsample=2)
    (stretches,) = marks(drawn, Segments, outline="explorer")
    first, second = walls[0], walls[1]
    along = (first[2:] - first[:2]) / 100.0
    starts = [first[:2] + 10 * along, first[:2] + 99 * along, second[:2]]
    ends = [first[:2] + 20 * along, first[2:], second[:2] + (second[2:] - second[:2]) / 100.0]
    assert np.stack([stretches.x, stretches.y], 1) == pytest.approx(np.array(starts), abs=1e-5)
    assert np.stack([stretches.to_x, stretches.to_y], 1) == pytest.approx(np.array(ends), abs=1e-5)
    (wedge,) = marks(drawn, Wedges)
    assert (wedge.x[0], wedge.y[0], wedge.direction[0]) == pytest.approx((2.0, 3.0, np.pi / 2))
    assert wedge.angle[0] == pytest.approx(np.radians(130.0))
    colours, nearness = marks(drawn, Image)[-2:]
    assert nearness.pixels.tolist() == [[[127] * 3] * 4]
    assert colours.pixels[0, -1].tolist() == [int(255 * (k / 11) ** (1 / 2.2)) for k in (3, 7, 11)]
    assert colours.y[0] > nearness.y[0] > drawn.view[1]


@pytest.mark.parametrize("name", ["waypoint", "point_goal"])
@pytest.mark.parametrize(("goal_radius", "drawn_radius"), [(0.5, 0.5), (0.05, 0.12)])
@pytest.mark.parametrize("reached", [False, True])
def test_goals_are_rings_and_full_discs_where_they_are_reached(
    name: str, goal_radius: float, drawn_radius: float, reached: bool
) -> None:
    """However small a goal is, it is seen."""
    arrays = {
        "plan": 0,
        "positions": [[2.0, 3.0]],
        "angles": [-90.0],
        "goal": [[4.5, 1.5]],
        "terminated": reached,
        "observations_rgb": np.full((1, 3, 4), 0.25),
        "observations_depth": np.linspace(0.0, 1.0, 4).reshape(1, 1, 4),
    }
    drawn = drawing(name, arrays, plans="box", res=8, subsample=2, goal_radius=goal_radius)
    around, goal = marks(drawn, Discs, outline="alarm")
    for ring, radius in ((around, 2.0 * drawn_radius), (goal, drawn_radius)):
        assert (ring.x.tolist(), ring.y.tolist()) == ([4.5], [1.5])
        assert ring.radius[0] == pytest.approx(radius)
    assert (around.fill, goal.fill) == (None, "alarm" if reached else None)
    (body,) = marks(drawn, Discs, fill="walker")
    assert (body.x.tolist(), body.y.tolist()) == ([2.0], [3.0])
    (wedge,) = marks(drawn, Wedges)
    assert (wedge.x[0], wedge.y[0], wedge.direction[0]) == pytest.approx((2.0, 3.0, -np.pi / 2))
    assert wedge.angle[0] == pytest.approx(np.radians(130.0))
    listed = list(drawn.marks)
    assert listed.index(goal) < listed.index(body)  # the agent walks over it
    colours, nearness = marks(drawn, Image)[-2:]
    assert colours.pixels.tolist() == [[[int(255 * 0.25 ** (1 / 2.2))] * 3] * 4]
    assert nearness.pixels[0, :, 0].tolist() == [0, 85, 170, 255]


def test_deathmatch_shows_shots_health_and_four_views() -> None:
    """Six agents: 0 hits 3, who is killed and is elsewhere already, and 4 misses."""
    position = np.stack([np.linspace(1.5, 5.5, 6), np.linspace(2.0, 5.0, 6)], 1)
    arrays = {
        "plan": 0,
        "positions": position,
        "angles": np.linspace(-150.0, 150.0, 6),
        "health": [1.0, 0.25, 1.0, 1.0, 0.5, 0.75],
        "shot": [3, -2, -2, -2, -1, -2],
        "shot_from": position,
        "shot_to": np.where(np.arange(6)[:, None] == 0, [[3.0, 4.0]], [[6.0, 1.5]]),
        "agent_terminated": np.arange(6) == 3,
        "observations_rgb": np.zeros((6, 3, 4)),
        "observations_depth": np.arange(6.0).reshape(6, 1, 1).repeat(4, 2) / 5.0,
    }
    drawn = drawing("deathmatch", arrays, plans="box", res=8, subsample=2, players=2, rivals=4)
    (hits,), (misses,) = marks(drawn, Segments, outline="alarm"), marks(drawn, Segments, outline="muted")
    assert (hits.x, hits.y, hits.to_x, hits.to_y) == (*position[0], 3.0, 4.0)
    assert (misses.x, misses.y, misses.to_x, misses.to_y) == (*position[4], 6.0, 1.5)
    assert hits.line_width > misses.line_width
    (killed,) = marks(drawn, Discs, outline="alarm")
    assert (killed.x, killed.y) == (3.0, 4.0)
    (frames,) = marks(drawn, Rectangles, outline="ink")
    bars = [bar for group in ("player", "rival") for bar in marks(drawn, Rectangles, fill=group)]
    bars = [bar for bar in bars if bar.height == frames.height[0]]
    assert [bar.width[0] / frames.width[0] for bar in bars] == pytest.approx([1.0, 0.25, 1.0, 1.0, 0.5, 0.75])
    assert (frames.y > position[:, 1]).all()
    views = marks(drawn, Image)[-8:]
    assert [int(view.pixels[0, 0, 0]) for view in views[1::2]] == [0, 51, 102, 153]
    assert len(marks(drawn, Image)) == 9  # and the floor
    assert len(marks(drawn, Wedges)) == 6


def test_particles() -> None:
    arrays = {"position": [[0.5, 0.25], [-1.0, 1.5]], "landmark": [[0.0, 0.1], [0.2, 0.3]], "goal": 1}
    drawn = drawing("particles_push", arrays)
    (adversary,), (agent,) = marks(drawn, Discs, fill="adversary"), marks(drawn, Discs, fill="agent")
    assert (adversary.x.tolist(), adversary.y.tolist()) == ([0.5], [0.25])
    assert (agent.x.tolist(), agent.y.tolist(), agent.radius.tolist()) == ([-1.0], [1.5], [0.05])
    (goal,), (other,) = marks(drawn, Discs, fill="ink"), marks(drawn, Discs, fill="muted")
    assert (goal.x.tolist(), other.x.tolist()) == ([0.2], [0.0])


def test_hanabi() -> None:
    """Two hands of two cards, one of which hints have shown; a firework, two discards and the tokens."""
    arrays = {
        "deck": [0, 4, 2, 3, 1, 5, 0, 0, 1, 3, 3, 4],
        "hands": [[0, 1], [2, 12]],
        "known_colors": [[3, 130], [3, 0]],
        "known_ranks": [[7, 130], [7, 0]],
        "fireworks": [1, 0],
        "discards": [0, 2, 0, 0, 0, 1],
        **{"to_move": 1, "information": 2, "lives": 1, "dealt": 12, "score": 1},
    }
    params = dict(colors=2, ranks=3, hand_size=2, max_information_tokens=3, max_life_tokens=1)
    drawn = drawing("hanabi", arrays, **params)
    texts = [text.text for text in marks(drawn, Text) if text.text]
    assert texts == ["0", "1", "2", "Y2", "1", "3", "1", "22", "3", "deck 0, score 1"]
    (next_player,) = marks(drawn, Discs, fill="player")
    assert next_player.y == 1.6
    tokens, lives = marks(drawn, Discs, fill="ink"), marks(drawn, Discs, fill="alarm")
    assert (len(tokens[0].x), len(lives[0].x)) == (2, 1)


def test_coin_game() -> None:
    """Red and blue on two cells, a blue coin on a third."""
    drawn = drawing("coin_game", {"x": [0, 2], "y": [1, 2], "coin": [1, 0], "is_red": False})
    (red,), (blue,) = (marks(drawn, Discs, fill=colour) for colour in ("red", "blue"))
    assert (red.x, red.y, blue.x, blue.y) == (0.5, 1.5, 2.5, 2.5)
    (coin,) = marks(drawn, Discs, outline="blue")
    assert (coin.x, coin.y) == (1.5, 0.5)


def test_switch_riddle() -> None:
    """The second of three prisoners is in the room, whose light is on; the first has been there."""
    drawn = drawing("switch_riddle", {"room": 1, "light": True, "been": np.array([True, False, False])})
    (been,), (light,) = marks(drawn, Discs, fill="prisoner"), marks(drawn, Discs, fill="alarm")
    assert been.x.tolist() == [0.5] and light.x == 1.5
    (frame,) = marks(drawn, Rectangles)
    assert frame.x == 1.05


def test_particles_crypto() -> None:
    """Alice has said 3; Eve has named the message and Bob has not."""
    drawn = drawing("particles_crypto", {"message": 1, "key": 0, "words": [1, 0, 3]})
    assert {text.text for text in marks(drawn, Text)} == {"1", "0", "3", "message 1", "key 0"}
    (right,) = marks(drawn, Discs, outline="ink")
    (eve,) = marks(drawn, Discs, fill="eve")
    assert (right.x, right.y) == (eve.x, eve.y)


def test_particles_world_comm() -> None:
    """An obstacle, two meals, and two forests below the agents."""
    places = np.arange(10).reshape(5, 2) / 10
    drawn = drawing("particles_world_comm", {"position": np.zeros((6, 2)), "landmark": places})
    (forests,), (food,) = marks(drawn, Discs, fill="grid"), marks(drawn, Discs, fill="ink")
    np.testing.assert_allclose([forests.x, food.x], [[0.6, 0.8], [0.2, 0.4]])
    assert drawn.marks.index(forests) == 1
    (obstacle,) = marks(drawn, Discs, fill="muted")
    assert (obstacle.x, obstacle.y) == (0.0, 0.1)
