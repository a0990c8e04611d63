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

CHECKPOINTS = 8  # that are examined, beside the beginning
NAME = "fighter"  # of the policy

log = logging.getLogger(__name__)


def run_arm(arm: Arm, seed: int, minutes: float) -> dict[str, Any]:
    """Train an arm and examine it; the time of examinations is not that of the training.

    Returns:
        wall time and env steps of the training, the counts of a random agent (``random``), the curve (for each
        checkpoint its seconds, env steps and counts), and, where it can play by them, the counts by the mended rules
        that all arms have in common (``common``) and those of a random agent (``common_random``).
    """
    trainer = Trainer(arm.config(seed))
    policy = cast(Policy, trainer.policies[NAME])
    kept = _train(trainer, policy, 60 * minutes)
    log.info("%s: %s env steps in %.0f s", arm.name, f"{trainer.env_steps:,}", trainer.seconds)
    curve = []
    for seconds, env_steps, weights in kept:
        policy.load_state_dict(weights)
        curve.append({"seconds": seconds, "env_steps": env_steps, **examine(arm.params, policy).as_dict()})
    results: dict[str, Any] = {"wall_seconds": round(trainer.seconds, 1), "env_steps": trainer.env_steps}
    results |= {"random": examine(arm.params, None).as_dict(), "curve": curve, "common": None, "common_random": None}
    if arm.has_published_actions:
        results["common"] = examine(COMMON.params, policy).as_dict()
        results["common_random"] = examine(COMMON.params, None).as_dict()
    return results


def _train(trainer: Trainer, policy: Policy, seconds: float) -> list[tuple[float, int, dict[str, Any]]]:
    """Train for some time; returns seconds, env steps and weights at the beginning and at each checkpoint.

    The seconds are those that a core has worked for this process, and no wall time: who else wants the core does not
    matter then. As all is done by one thread, both are the same where nobody does.
    """
    kept: list[tuple[float, int, dict[str, Any]]] = []
    began = time.process_time()
    reached = -1  # which checkpoint was the latest; where iterations are long, not all are met

    def follow(_: dict[str, Any] | None = None) -> None:
        nonlocal reached
        worked = time.process_time() - began
        due = min(int(CHECKPOINTS * worked / seconds), CHECKPOINTS)
        if due > reached:
            reached = due
            kept.append((round(worked, 1), trainer.env_steps, copy.deepcopy(policy.state_dict())))

    follow()
    trainer.train(None, follow, stop=lambda: reached == CHECKPOINTS)
    return kept
