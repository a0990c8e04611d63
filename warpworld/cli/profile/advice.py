"""Advice on a config, given where its time goes."""

from __future__ import annotations

from collections.abc import Iterator

from warpworld.cli.profile.profile import Profile
from warpworld.config import LearnerConfig, RunConfig
from warpworld.trainers.spans import ACT_AND_STEP, ENV_STEP, GRADIENT, LOSS, PASSES, POLICY, SAMPLING, STEP

MUCH = 0.4  # share of an iteration
SOME = 0.15
FEW_ROWS = 1024  # of a product, below which calls cost more than arithmetic
GOOD = 0.5  # share of a plain product's speed


def advice(profile: Profile, config: RunConfig) -> list[str]:
    """Sentences, the most promising first; none where nothing stands out."""
    of_parts = [*_of_memory(profile, config), *_of_rollouts(profile, config), *_of_updates(profile, config)]
    return [*of_parts, *_of_graphs(profile, config)]


def _of_memory(profile: Profile, config: RunConfig) -> Iterator[str]:
    for name, entry in _learners(config):
        cell = entry.model.recurrent
        share = profile.share((POLICY, GRADIENT, LOSS, PASSES), name)
        if cell in ("lstm", "gru") and share > MUCH:
            yield (
                f"{name}: its {cell} goes from step to step and takes part in {share:.0%} of the time; "
                "model.recurrent=mingru has gates that need no loop"
            )


def _of_rollouts(profile: Profile, config: RunConfig) -> Iterator[str]:
    if profile.share((ENV_STEP,)) > MUCH:
        yield (
            f"the env step takes {profile.share((ENV_STEP,)):.0%}: its kernel is the place to look at; "
            "`warpworld tune` tries other numbers of envs and workers"
        )
    if profile.share((ACT_AND_STEP,)) > MUCH:
        yield (
            f"policies, sampling and env step take {profile.share((ACT_AND_STEP,)):.0%}, in one call of C++ a rollout: "
            "`warpworld tune` tries other numbers of envs and workers; trainer.fused=false times them apart, with "
            "networks by torch"
        )
    acting, envs = profile.share((POLICY, SAMPLING)), config.trainer.num_envs
    if acting > MUCH and envs < FEW_ROWS:
        yield (
            f"policies and sampling take {acting:.0%}, on {envs} envs at a time: more envs and fewer steps make the "
            "same rows in larger products; `warpworld tune --keep-batch` finds how many"
        )


def _of_updates(profile: Profile, config: RunConfig) -> Iterator[str]:
    for name, entry in _learners(config):
        share, speed = profile.share((GRADIENT, LOSS), name), profile.of_peak((GRADIENT, LOSS), name)
        if share > MUCH and speed < GOOD and name not in profile.fused and profile.device == "cpu":
            yield (
                f"{name}: torch computes its gradient, {share:.0%} of the time, at {speed:.0%} of a plain product's "
                "speed; `warpworld train` logs why it has no fused kernels"
            )
        if profile.share((STEP,), name) > SOME and getattr(entry, "num_minibatches", 1) > 1:
            steps = profile.share((STEP,), name)
            yield f"{name}: the optimiser takes {steps:.0%}; fewer num_minibatches need fewer steps"


def _of_graphs(profile: Profile, config: RunConfig) -> Iterator[str]:
    if profile.device == "cuda" and config.trainer.graph_steps:
        yield (
            "a CUDA graph is one part: what it does of a rollout is in `rollout`, of an update in `update` or "
            "`gradient`; trainer.graph_steps=0 times the parts within"
        )


def _learners(config: RunConfig) -> Iterator[tuple[str, LearnerConfig]]:
    for name, entry in config.policy.items():
        if isinstance(entry, LearnerConfig) and entry.train:
            yield name, entry
