"""Games of ALE with states, beside ALE's own vector environment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpworld.adapters.external.atari import AtariGame, checked_options, resized
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError

pytestmark = pytest.mark.cpu_backend


@pytest.mark.long
@pytest.mark.parametrize(
    ("game", "options", "ends"),
    [
        ("breakout", {}, 1),
        ("seaquest", {"episodic_life": True, "reward_clipping": False}, 1),
        ("pong", {"max_num_frames_per_episode": 120, "full_action_space": True, "use_fire_reset": False}, 9),
        ("freeway", {"frameskip": 3, "stack_num": 2, "maxpool": False, "img_height": 60, "img_width": 100}, 0),
    ],
)
def test_frames_rewards_and_ends_are_ale_s(game: str, options: dict[str, Any], ends: int) -> None:
    vector_env = pytest.importorskip("ale_py.vector_env")
    given = {"noop_max": 0, **options}  # which is drawn otherwise
    theirs, ours = (
        vector_env.AtariVectorEnv(game, 1, autoreset_mode="SameStep", **given),
        AtariGame(game, checked_options(given)),
    )
    seen, shown = theirs.reset(seed=3)[0], ours.reset(seed=3)[0]
    actions, found = np.random.default_rng(0), 0
    for _ in range(300):
        assert (seen[0] == shown).all()
        action = int(actions.integers(ours.action_space.n))
        seen, rewards, terminated, truncated, infos = theirs.step(np.array([action]))
        shown, *results, _ = ours.step(action)
        assert results == [rewards[0], terminated[0], truncated[0]]
        if results[1] or results[2]:
            found += 1
            assert (infos["final_obs"][0][:-1] == shown[:-1]).all()
            shown, _ = ours.reset()
    assert found >= ends


@pytest.mark.parametrize("shape", [(84, 84), (105, 80), (60, 100), (1, 1), (210, 160)])
def test_a_smaller_picture_has_the_means_of_areas(shape: tuple[int, int]) -> None:
    frame = np.random.default_rng(0).integers(0, 256, (210, 160)).astype(np.uint8)
    fine = frame.astype(np.float64)
    for axis, count in enumerate(shape):
        lines = np.repeat(fine, count, axis)  # each line in as many as there are of the result
        fine = np.moveaxis(lines, axis, 0).reshape(count, -1, *np.delete(lines.shape, axis)).mean(1)
        fine = np.moveaxis(fine, 0, axis)
    assert np.abs(resized(frame, *shape) - fine).max() <= 0.5 + 1e-4


def test_an_option_that_such_games_lack() -> None:
    pytest.importorskip("ale_py")
    with pytest.raises(DeclarationError) as caught:
        get_environment("external")(library="ale", id="pong", options={"states": True, "frame_skip": 3})
    assert str(caught.value).startswith(
        "external: ale: env.options.frame_skip: games with states have no such option. Did you mean 'frameskip'? "
        "Options: frameskip, stack_num, "
    )
