"""What is learnt, by which algorithms, with which settings, and what its score is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from warpworld.config import RunConfig
from warpworld.environment import get_environment
from warpworld.policies import Policy
from warpworld.trainers.collecting.players import Player, Scripted
from warpworld.trainers.play import play, play_groups

from ..experiments.experiment import EPISODES, Experiment, Figures, Trained, merge
from ..experiments.skirmish import WON

ON_POLICY, OFF_POLICY = ("ppo", "mappo"), ("vdn", "qmix")
ALGORITHMS = (*ON_POLICY, *OFF_POLICY)
EXAMINED_WITH = 1  # the seed of the episodes that are played at the end

Players = Mapping[str, Policy | None]


@dataclass(frozen=True)
class Task:
    """What is learnt.

    Attributes:
        name: of the packaged config whose environment, rollouts and opponents all algorithms share.
        policy: that the algorithms train.
        env_steps: of a training.
        settings: of PPO and MAPPO, those of the packaged config.
        gamma: discount of all algorithms.
        measures: what the score is.
        score: of policies by name, of which None acts at random.
        curve: the metric that the picture shows.
        has_floats: whether observations are other than flags and counts, which need no normalisation.
        changes: sections merged over the packaged config.
        off_policy_changes: more of them, for VDN and QMIX.
    """

    name: str
    policy: str
    env_steps: int
    settings: Mapping[str, Any]
    gamma: float
    measures: str
    score: Callable[[RunConfig, Players], float]
    curve: str
    has_floats: bool = True
    changes: Mapping[str, Any] = field(default_factory=dict)
    off_policy_changes: Mapping[str, Any] = field(default_factory=dict)

    def experiment(self, algorithm: str) -> Experiment:
        """The training by one of ``ALGORITHMS``."""

        def judge(trained: Trained) -> Figures:
            return {"score": self.score(trained.config, trained.policies), **trained.times}

        return Experiment(self.name, "", self._changes(algorithm), {self.curve: self.measures}, judge, lambda _: True)

    def _changes(self, algorithm: str) -> dict[str, Any]:
        changes: dict[str, Any] = copy.deepcopy(dict(self.changes))
        merge(changes, {"trainer": {"total_env_steps": self.env_steps}})
        settings = dict(self.settings)
        if algorithm in OFF_POLICY:
            changes["trainer"] |= {"num_envs": 64, "num_steps": 5}
            changes["saving"] = {"log_every": 50}
            settings = _of_replay(algorithm, self.env_steps, self.has_floats)
            merge(changes, self.off_policy_changes)
        entry = {"algorithm": algorithm, "gamma": self.gamma, **settings}
        merge(changes, {"policy": {self.policy: entry}})
        return changes


def _of_replay(algorithm: str, env_steps: int, has_floats: bool) -> dict[str, Any]:
    """The settings of VDN and QMIX, whose exploration spans a fifth of the training; only floats are normalised."""
    return {
        "model": {"activation": "relu", "normalise_observations": has_floats},
        "learning_rate": {"vdn": 1e-3, "qmix": 5e-4}[algorithm],  # see docs/teams.md
        "exploration": [[0, 1.0], [env_steps // 5, 0.05]],
        "batch_size": 256,
        "updates": 8,
        "n_step": 10,
        "target_every": None,
        "tau": 0.05,  # in so few updates a slower target would keep the values that networks begin with
    }


def _mean_return(policy: str) -> Callable[[RunConfig, Players], float]:
    def score(config: RunConfig, players: Players) -> float:
        return float(play(config, players, EPISODES, seed=EXAMINED_WITH).returns[policy].mean())

    return score


def _wins(config: RunConfig, players: Players) -> float:
    """The share of fights that allies win against the script."""
    enemy = Scripted("attack", get_environment(config.name)().scripts()["attack"])
    sides: dict[str, Player] = {"ally": players["ally"], "enemy": enemy}
    returns = play_groups(config, sides, EPISODES, seed=EXAMINED_WITH)["ally"][:, 0]
    return float((returns > WON).double().mean())


def _by_return(name: str, policy: str, env_steps: int, settings: Mapping[str, Any], **more: Any) -> Task:
    """A task whose score is the mean return of the policy's agents."""
    curve = f"charts/{policy}/episodic_return"
    given = {"gamma": 0.99, "measures": "mean return", "score": _mean_return(policy), "curve": curve, **more}
    return Task(name, policy, env_steps, settings, **given)


_ALL = (
    _by_return("particles_spread", "agent", 600_000, {"learning_rate": 2e-3}, gamma=0.95),
    _by_return("foraging", "player", 1_000_000, {"learning_rate": 2e-3, "num_minibatches": 8}),
    _by_return(
        "overcooked",
        "cook",
        1_500_000,
        {"learning_rate": 1e-3, "num_minibatches": 8},
        has_floats=False,
        changes={
            "trainer": {"num_envs": 128, "num_steps": 100},
            "env": {"start": "fixed"},
            "schedules": {"shaping": [[0, 1.0], [750_000, 0.0]]},
        },
    ),
    Task(
        name="skirmish",
        policy="ally",
        env_steps=600_000,
        settings={"learning_rate": 1e-3, "num_minibatches": 8},
        gamma=0.99,
        measures="share of fights won",
        score=_wins,
        curve="league/enemy/win_rate/script",
        off_policy_changes={"policy": {"enemy": {"self_play": {"match_every": 64}}}},  # as many steps as PPO's
    ),
)
TASKS = {task.name: task for task in _ALL}
