"""What is recorded: every step, also the last of an episode, of the trajectory that an unwatched world takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from tests.cases import often
from tests.report.recorded_worlds import BadDraw, Drawn, Masked, Plain, config_of, run_of
from warpworld.config import load_config
from warpworld.drawing import Discs, Drawing, Image, Mark, Rectangles, Segments, Text
from warpworld.drawing.palette import colour_table, rgb
from warpworld.errors import DeclarationError, RunError, StoreError
from warpworld.report import recording as recordings
from warpworld.report.pictures import CAPTION, write_gif
from warpworld.report.recording import record
from warpworld.trainers.building import build_world
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.evaluate import load_policies
from warpworld.world import World

RANDOM = {"left": None, "right": None}
VIEW = (0.0, 0.0, 1.0, 1.0)


def test_every_step_is_recorded_and_the_last_one_is_not_that_of_the_next_episode() -> None:
    recorded = record(config_of(Drawn), RANDOM, episodes=2, about="at random")
    frames = recorded.frames
    assert (recorded.title, recorded.about) == ("tests.report.recorded_worlds:Drawn", "at random")
    assert recorded.drawn
    assert recorded.episodes == 2
    assert [frame.timestep for frame in frames] == [0, 1, 2, 3] * 2
    assert [frame.episode for frame in frames] == [1] * 4 + [2] * 4
    assert [frame.end for frame in frames] == ["", "", "", "terminated", "", "", "", "truncated"]
    starts = np.array([0.0, 10.0, 20.0])
    for i, frame in enumerate(frames):
        x = starts + 100.0 * (i // 4) + i % 4
        discs, text = frame.drawing.marks
        assert isinstance(discs, Discs)
        assert isinstance(text, Text)
        assert discs.x.tolist() == x.tolist()
        assert frame.rewards.tolist() == (x if i % 4 else 0.0 * x).tolist()
        assert text.text == f"{i % 4} {frame.rewards[0]:g} [7, 8]"
        expected = sum((starts + 100.0 * (i // 4) + step for step in range(1, i % 4 + 1)), np.zeros(3))
        assert frame.returns.tolist() == expected.tolist()
    assert recorded.group_returns(frames[3]) == {"left": 21.0, "right": 66.0}


def test_rewards_that_do_not_count_are_left_out() -> None:
    frames = record(config_of(Masked), {"agent": None}, episodes=2).frames
    assert [frame.rewards.tolist() for frame in frames[1:4]] == [[1.0, 1.0], [2.0, 2.0], [3.0, 0.0]]
    assert frames[3].returns.tolist() == frames[7].returns.tolist() == [6.0, 3.0]


SMALL_PLANS = ("env.plans=box", "env.res=16", "env.subsample=2")
FIGHT = (*SMALL_PLANS, "env.fire_cone=60", "env.cooldown=2", "env.damage=0.5", "env.kills_to_win=2")
REPLAYED: dict[str, tuple[str, ...]] = {
    "tag_gridworld": (),
    "tag_continuous": (),
    "cartpole": (),
    "deathmatch": FIGHT,
    "waypoint": (*SMALL_PLANS, "env.goal_radius=0.8"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", often(["tag_gridworld", "waypoint"], REPLAYED))
def test_the_trajectory_is_that_of_an_unwatched_world(name: str) -> None:
    config = load_config(name, ["trainer.device=cpu", "env.episode_length=30", *REPLAYED[name]])
    world = build_world(config, num_envs=1, seed=5)
    actors = [Actor(world, group) for entry in config.policy.values() for group in entry.groups]
    world.reset()
    frames = record(config, dict.fromkeys(config.policy), episodes=3, seed=5).frames
    drawn = [frame for frame in frames if frame.timestep or frame is frames[0]]
    starts = [frame for frame in frames if frame.timestep == 0]
    assert _looks(world) == _marks(drawn[0].drawing)
    for frame in drawn[1:]:
        for actor in actors:
            actor.act()
        world.step()
        assert frame.end == ("terminated" if world["terminated"] else "truncated" if world["truncated"] else "")
        assert frame.rewards.tolist() == world["rewards"][0].tolist()
        if not frame.end:
            assert _looks(world) == _marks(frame.drawing)
        elif frame is not drawn[-1]:
            assert _looks(world, start=True) == _marks(starts[frame.episode].drawing)


def _looks(world: World, start: bool = False) -> list[Any]:
    """What ``draw`` makes of the arrays that stand in a world."""
    arrays = {name: world[name][0].numpy() for name in world.data if world.data.array(name).per != "world"}
    if start:
        arrays["terminated"] = arrays["truncated"] = np.zeros((), bool)
        arrays["agent_terminated"] = np.zeros(world.num_agents, bool)
    drawing = world.environment.draw(arrays)
    assert drawing is not None
    return _marks(drawing)


def _marks(drawing: Drawing) -> list[Any]:
    return [
        (mark.kind, {name: getattr(mark, name).tolist() for name in mark.columns}, _pixels(mark))
        for mark in drawing.marks
    ]


def _pixels(mark: Mark) -> bytes:
    """Those of an image."""
    return mark.pixels.tobytes() if isinstance(mark, Image) else b""


@pytest.mark.long
def test_a_deathmatch_as_a_gif(tmp_path: Path) -> None:
    """Every frame, for as long as a step takes, with the bars of health in the fighters' colours."""
    config = load_config("deathmatch", ["trainer.device=cpu", "env.episode_length=40", *FIGHT])
    recorded = record(config, dict.fromkeys(config.policy), episodes=2, seed=3)
    fired = [mark for frame in recorded.frames for mark in frame.drawing.marks if isinstance(mark, Segments)]
    assert any(len(mark.x) for mark in fired if mark.outline == "alarm")
    first = recorded.frames[0].drawing
    left, bottom, right, top = first.view
    with Pillow.open(write_gif(recorded, tmp_path / "fight.gif")) as gif:
        assert gif.n_frames == len(recorded.frames)
        durations = []
        for i in range(gif.n_frames):
            gif.seek(i)
            durations.append(gif.info["duration"])
        assert sorted(set(durations)) == [100, 1100]
        gif.seek(0)
        image = gif.convert("RGB")
    colours = {name: rgb(light) for name, (light, _) in colour_table(recorded.groups).items()}
    for group in ("player", "rival"):
        (bar,) = (
            mark for mark in first.marks if isinstance(mark, Rectangles) and mark.fill == group and mark.width == 0.5
        )
        x, y = float(bar.x[0] + 0.1), float(bar.y[0] + bar.height[0] / 2)
        height = image.height - CAPTION
        pixel = image.getpixel(
            (int((x - left) / (right - left) * image.width), int((top - y) / (top - bottom) * height))
        )
        assert np.abs(np.array(pixel) - colours[group]).max() < 24  # a GIF has few colours


def test_seeds_and_greedy_actions() -> None:
    config = load_config("tag_gridworld", ["trainer.device=cpu"])

    def trajectory(seed: int) -> list[Any]:
        return [_marks(frame.drawing) for frame in record(config, {"tagger": None, "runner": None}, seed=seed).frames]

    assert trajectory(1) == trajectory(1)
    assert trajectory(1) != trajectory(2)


@pytest.mark.long
def test_greedy_takes_the_likeliest_action(tmp_path: Path) -> None:
    run = run_of(Plain, tmp_path)
    policies = load_policies(run)
    greedy = [record(run.config, policies, episodes=2, seed=seed, greedy=True) for seed in (0, 1)]
    shown = [[_actions(frame.drawing) for frame in found.frames[1:]] for found in greedy]
    assert shown[0] == shown[1]  # the env draws nothing, so nothing depends on the seed
    drawn = [record(run.config, policies, episodes=20, seed=seed) for seed in (0, 1)]
    assert [_actions(f.drawing) for f in drawn[0].frames] != [_actions(f.drawing) for f in drawn[1].frames]


def _actions(drawing: Drawing) -> bytes:
    """The pixels below the label "actions"."""
    labels = [i for i, mark in enumerate(drawing.marks) if isinstance(mark, Text) and mark.text.startswith("actions")]
    image = next(mark for mark in drawing.marks[labels[0] :] if isinstance(mark, Image))
    return image.pixels.tobytes()


def test_an_env_without_draw_shows_its_arrays() -> None:
    recorded = record(config_of(Plain), RANDOM, episodes=1)
    assert not recorded.drawn
    marks = recorded.frames[-1].drawing.marks
    texts = [mark.text for mark in marks if isinstance(mark, Text)]
    for label in ("observations  3 x 1", "x  3", "rewards  3", "episodes = 0", "table  2", "0 to 23"):
        assert label in texts
    assert not any(text.startswith(("terminated", "watched", "clock")) for text in texts)
    image = marks[next(i for i, mark in enumerate(marks) if isinstance(mark, Text) and mark.text == "x  3") + 2]
    assert isinstance(image, Image)
    assert image.pixels.shape == (1, 3, 3)
    assert image.pixels[0, 2].tolist() == [0x2F, 0x6F, 0xB5]  # 23, the highest value there is, has the full colour
    assert image.pixels[0, 0, 0] > image.pixels[0, 1, 0] > image.pixels[0, 2, 0]


def test_endless_episodes_are_cut(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(recordings, "MAX_FRAMES", 7)
    recorded = record(config_of(Drawn, length=10**6), RANDOM)
    assert [frame.timestep for frame in recorded.frames] == list(range(7))
    assert recorded.frames[-1].end == ""
    assert "stopped after 7 frames; its last episode is not whole" in caplog.text


def mark(**fields: Any) -> list[Mark]:
    return [Discs(0, 0, 1, **fields)]


@pytest.mark.parametrize(
    ("drawings", "kind", "message"),
    [
        ([42], DeclarationError, r"BadDraw: draw\(\) returned int, expected a warpworld.drawing.Drawing"),
        ([mark()], DeclarationError, r"draw\(\) returned list, expected"),
        ([Drawing(VIEW, mark(fill="lef"))], DeclarationError, "Discs: fill='lef' is no colour. Did you mean 'left'?"),
        ([Drawing(VIEW, mark()), None], DeclarationError, r"draw\(\) returned a Drawing at first, and now None"),
        ([Drawing(VIEW, mark()), Drawing(VIEW, mark(fill="red"))], DeclarationError, "fill='red' is no colour"),
        (
            [lambda arrays: arrays["rewrds"]],
            StoreError,
            r"draw\(\): no array 'rewrds'. Did you mean 'rewards'\? Arrays: ",
        ),
        ([lambda arrays: Drawing(VIEW, [Discs(np.nan, 0, 1)])], DeclarationError, r"Discs: x\[0\] is nan"),
    ],
)
def test_bad_drawings_are_refused(
    monkeypatch: pytest.MonkeyPatch, drawings: Sequence[Any], kind: type[Exception], message: str
) -> None:
    monkeypatch.setattr(BadDraw, "drawings", drawings)
    with pytest.raises(kind, match=message):
        record(config_of(BadDraw), RANDOM)


def test_any_checkpoint_can_be_loaded(tmp_path: Path) -> None:
    run = run_of(Plain, tmp_path, checkpoints=(0, 5))
    assert load_policies(run, 0).keys() == {"left", "right"}
    with pytest.raises(RunError, match="no checkpoint of iteration 4, the nearest is 5"):
        load_policies(run, 4)
