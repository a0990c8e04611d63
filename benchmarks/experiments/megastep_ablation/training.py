"""Training an arm for a given time, and examining who it was on the way."""

from __future__ import annotations

import copy
import logging
from typing import Any

import torch

from warpworld.policies import Policy
from warpworld.trainers.trainer import Trainer, build_policies, fuse_policies

from .arms import COMMON, Arm
from .exam import examine

CHECKPOINTS = 8  # that are examined, beside the beginning
NAME = "fighter"  # of the policy

log = logging.getLogger(__name__)


def run_arm(arm: Arm, seed: int, minutes: float) -> dict[str, Any]:
    """Train an arm and examine it; the time of examinations is not that of the training.

    Returns:
        seconds and env steps of the training, the counts of a random agent (``random``), the curve (for each
        checkpoint its seconds, env steps and counts), and, where it can play by them, the counts by the mended rules
        that all arms have in common (``common``) and those of a random agent (``common_random``).
    """
    trainer = Trainer(arm.config(seed))
    kept = _train(trainer, 60 * minutes)
    log.info("%s: %s env steps in %.0f s", arm.name, f"{trainer.env_steps:,}", trainer.seconds)
    curve = []
    for seconds, env_steps, weights in kept:
        policy = _policy(trainer, weights)
        curve.append({"seconds": seconds, "env_steps": env_steps, **examine(arm.params, policy).as_dict()})
    results: dict[str, Any] = {"seconds": round(trainer.seconds, 1), "env_steps": trainer.env_steps}
    results |= {"random": examine(arm.params, None).as_dict(), "curve": curve, "common": None, "common_random": None}
    if arm.has_published_actions:
        results["common"] = examine(COMMON.params, policy).as_dict()
        results["common_random"] = examine(COMMON.params, None).as_dict()
    return results


def _train(trainer: Trainer, seconds: float) -> list[tuple[float, int, dict[str, Any]]]:
    """Train for some time; returns seconds, env steps and weights at the beginning and at each checkpoint."""
    kept: list[tuple[float, int, dict[str, Any]]] = []
    reached = -1  # which checkpoint was the latest; where iterations are long, not all are met

    def follow(_: dict[str, Any] | None = None) -> None:
        nonlocal reached
        due = min(int(CHECKPOINTS * trainer.seconds / seconds), CHECKPOINTS)
        if due > reached:
            reached = due
            weights = copy.deepcopy(_learnt(trainer).state_dict())
            kept.append((round(trainer.seconds, 1), trainer.env_steps, weights))

    follow()
    trainer.train(None, follow, stop=lambda: trainer.seconds >= seconds)
    return kept


def _learnt(trainer: Trainer) -> Policy:
    policy = trainer.policies[NAME]
    assert policy is not None
    return policy


def _policy(trainer: Trainer, weights: dict[str, Any]) -> Policy:
    policies = build_policies(trainer.config, trainer.world, torch.Generator())
    policy = policies[NAME]
    assert policy is not None
    policy.load_state_dict(weights)
    fuse_policies(policies)
    return policy
