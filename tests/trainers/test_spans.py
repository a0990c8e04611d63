"""The spans of an iteration whose rollout and update are CUDA graphs."""

from __future__ import annotations

import pytest

from warpworld.config.endless_config import load_endless
from warpworld.trainers.spans import CHECKS, ENV_STEP, NORMALISER, OTHER, PASSES, ROLLOUT, UPDATE, Span, recording
from warpworld.trainers.timing import timed_iterations
from warpworld.trainers.trainer import Trainer

WHOLE = {Span(OTHER), Span(ROLLOUT), Span(CHECKS), Span(UPDATE, "agent")}


class Seen:
    """Names of spans, each with its policy."""

    def __init__(self) -> None:
        self.entered: set[Span] = set()

    def enter(self, span: Span) -> None:
        self.entered.add(span)

    def leave(self) -> None:
        pass


def entered(config: str, *overrides: str) -> set[Span]:
    small = ["trainer.num_envs=8", "policy.agent.model.hidden_sizes=[8, 8]"]
    trainer = Trainer(load_endless(config, ["trainer.device=cuda", *small, *overrides]))
    timed_iterations(trainer, 0.0, 6)  # which capture
    seen = Seen()
    with recording(seen):
        timed_iterations(trainer, 0.0)
    return seen.entered


@pytest.mark.long
@pytest.mark.cuda_backend
def test_a_graph_is_no_span_but_of_what_is_around_it() -> None:
    assert entered("cartpole") == WHOLE
    found = entered("cartpole_dqn", "policy.agent.updates=1")
    assert found - WHOLE <= {Span(NORMALISER)} and found >= WHOLE


@pytest.mark.long
@pytest.mark.cuda_backend
def test_without_graphs_there_are_spans_within() -> None:
    assert entered("cartpole", "trainer.graph_steps=0") > {*WHOLE, Span(PASSES), Span(ENV_STEP)}
