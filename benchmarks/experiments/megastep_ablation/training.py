"""Training an arm for a given time, and examining who it was on the way."""

from __future__ import annotations

import copy
import logging
import time
from typing import Any, cast

from warpworld.policies import Policy
from warpworld.trainers.trainer import Trainer

from .arms import COMMON, Arm
from .exam import examine

CHECKPOINTS = (0, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1)  # shares of the time: most is learnt early
NAME = "fighter"  # of the policy

log = logging.getLogger(__name__)


def run_arm(arm: Arm, seed: int, minutes: float) -> dict[str, Any]:
    """Train an arm and examine it; the time of examinations is not that of the training.

    Returns:
        wall time and env steps of the training, and the curve: for each checkpoint the seconds and env steps until
        then, and counts by the arm's own rules (``own``) and, where it can play by them, by those that all arms have in
        common (``common``; else None). Beside it the counts of a random agent (``random``, ``common_random``).
    """
    trainer = Trainer(arm.config(seed))
    policy = cast(Policy, trainer.policies[NAME])
    kept = _train(trainer, policy, 60 * minutes)
    log.info("%s: %s env steps in %.0f s", arm.name, f"{trainer.env_steps:,}", trainer.seconds)
    curve = []
    for seconds, env_steps, weights in kept:
        policy.load_state_dict(weights)
        curve.append({"seconds": seconds, "env_steps": env_steps, **_examined(arm, policy)})
    random = _examined(arm, None)
    random = {"random": random["own"], "common_random": random["common"]}
    return {"wall_seconds": round(trainer.seconds, 1), "env_steps": trainer.env_steps, **random, "curve": curve}


def _examined(arm: Arm, policy: Policy | None) -> dict[str, Any]:
    common = examine(COMMON.params, policy).as_dict() if arm.has_published_actions else None
    return {"own": examine(arm.params, policy).as_dict(), "common": common}


def _train(trainer: Trainer, policy: Policy, seconds: float) -> list[tuple[float, int, dict[str, Any]]]:
    """Train for some time; returns seconds, env steps and weights at the beginning and at each checkpoint.

    The seconds are those that a core has worked for this process, and no wall time: who else wants the core does not
    matter then. As all is done by one thread, both are the same where nobody does.
    """
    kept: list[tuple[float, int, dict[str, Any]]] = []
    began = time.process_time()
    due = 0  # which checkpoint comes next; where iterations are long, not all are met

    def follow(_: dict[str, Any] | None = None) -> None:
        nonlocal due
        worked = time.process_time() - began
        if worked >= CHECKPOINTS[due] * seconds:
            due = sum(share * seconds <= worked for share in CHECKPOINTS)
            kept.append((round(worked, 1), trainer.env_steps, copy.deepcopy(policy.state_dict())))

    follow()
    trainer.train(None, follow, stop=lambda: due == len(CHECKPOINTS))
    return kept
