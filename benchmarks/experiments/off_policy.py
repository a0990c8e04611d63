"""Small problems learnt off-policy: what greedy episodes earn after a training of known length."""

from __future__ import annotations

import dataclasses

from warpworld.trainers.play import play

from .experiment import Experiment, Figures, Trained
from .greedy import EPISODES, Wanted, learns


def _stays_at_chance() -> Experiment:
    """Recall with four cues: 1 for the right one, -1 for another, so that a guess earns -0.5."""
    claim = "without a memory the return stays that of a guess, -0.5"

    def holds(figures: Figures) -> bool:
        reached = figures["agent_greedy_return"]
        return reached is not None and abs(reached + 0.5) <= 0.1

    return dataclasses.replace(learns("recall_dqn", claim, Wanted({"agent": -0.6}, 120)), holds=holds)


def _judge_both(trained: Trained) -> Figures:
    """What each side earns against random actions, beside what random actions earn there."""

    def returns(*learnt: str) -> dict[str, float]:
        players = {name: policy if name in learnt else None for name, policy in trained.policies.items()}
        played = play(trained.config, players, EPISODES, seed=1, greedy=True)
        return {name: float(values.mean()) for name, values in played.returns.items()}

    at_random = returns()
    return {
        "tagger": returns("tagger")["tagger"],
        "random_tagger": at_random["tagger"],
        "runner": returns("runner")["runner"],
        "random_runner": at_random["runner"],
        "seconds": trained.seconds,
    }


def _both_hold(figures: Figures) -> bool:
    tagger, runner = (figures[name] - figures[f"random_{name}"] for name in ("tagger", "runner"))  # type: ignore[operator]
    return tagger > 0 and runner > 0 and figures["seconds"] <= 300  # type: ignore[operator]


OFF_POLICY = (
    learns("cartpole_dqn", "greedy episodes of 475 steps of 500 within 60 s by DQN", Wanted({"agent": 475.0}, 60)),
    learns("pendulum_sac", "greedy episodes of -160 by SAC", Wanted({"agent": -160.0}, 120)),
    learns("pendulum_td3", "greedy episodes of -170 by TD3", Wanted({"agent": -170.0}, 120)),
    learns("pendulum_ddpg", "greedy episodes of -180 by DDPG", Wanted({"agent": -180.0}, 120)),
    learns("recall_r2d2", "what was seen 20 steps ago is named, 0.95 of 1, within 120 s", Wanted({"agent": 0.95}, 120)),
    _stays_at_chance(),
    Experiment(
        name="tag_gridworld_dqn",
        claim="both sides learnt by DQN earn more against random actions than random actions do, within 5 minutes",
        changes={},
        curves={
            "charts/tagger/episodic_return": "taggers' mean return while exploring",
            "charts/runner/episodic_return": "runner's mean return while exploring",
        },
        judge=_judge_both,
        holds=_both_hold,
    ),
    # Figure 3 of Young and Tian 2019: means of about 10 and 50.5 after 5 million frames, while exploring
    learns("minatar_breakout_dqn", "greedy episodes of 10 within 20 minutes by DQN", Wanted({"agent": 10.0}, 1200)),
    learns("minatar_freeway_dqn", "greedy episodes of 50.5 within 20 minutes", Wanted({"agent": 50.5}, 1200)),
)
