"""Pictures of envs as they stand."""

from __future__ import annotations

import numpy as np

from tests.adapters.test_vector import agents_world
from tests.adapters.worlds import world
from warpworld.adapters.rules.rendering import frame
from warpworld.adapters.single import Env
from warpworld.adapters.vector import VectorEnv
from warpworld.drawing import Discs, Drawing
from warpworld.drawing.canvas import paint
from warpworld.drawing.palette import colour_table


def test_a_picture_shows_the_env_as_it_stands() -> None:
    env = VectorEnv(world(num_envs=3), render_mode="rgb_array")
    env.reset(seed=2)
    before = env.render()
    for _ in range(4):
        env.step(np.array([0, 1, 1]))
    after = env.render()
    assert len(after) == 3 and all(picture.shape == (124, 400, 3) and picture.dtype == np.uint8 for picture in after)
    assert all((one != other).any() for one, other in zip(before, after, strict=True))
    assert np.array_equal(env.render(envs=[2])[0], after[2])
    drawing = env.world.environment.draw({"state": env.world.data.numpy("state")[1]})
    assert drawing is not None
    colours = {name: light for name, (light, _) in colour_table(env.world.groups).items()}
    assert np.array_equal(after[1], np.asarray(paint(drawing, 400, 124, colours)))


def test_of_an_env_of_its_own() -> None:
    env = Env(world(num_envs=1, autoreset="disabled"), render_mode="rgb_array")
    env.reset()
    assert np.array_equal(env.render(), frame(env.world, 0))


def test_envs_that_draw_nothing_show_their_numbers() -> None:
    plain = agents_world(2, world().groups["agent"].action)
    plain.reset()
    before = frame(plain, 1, size=200)
    plain["observations"] = 5.0
    assert max(before.shape) == 200 and (frame(plain, 1, size=200) != before).any()


def test_tall_pictures_are_not_wider_than_high() -> None:
    tall = agents_world(1, world().groups["agent"].action)
    tall.environment.draw = lambda arrays: Drawing((0, 0, 1, 4), [Discs(0.5, 2, 0.4)])  # type: ignore[method-assign]
    tall.reset()
    picture = frame(tall, 0)
    assert picture.shape == (400, 100, 3) and (picture[200, 50] != picture[10, 50]).any()
