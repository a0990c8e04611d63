"""A training that is cut and resumed, beside one that is not."""

from __future__ import annotations

from pathlib import Path

import torch

from warpworld.config import RunConfig
from warpworld.runs import Run
from warpworld.trainers import Trainer


def assert_a_cut_changes_nothing(config: RunConfig, folder: Path, after: int) -> None:
    """Train twice, once cut after so many iterations and resumed: metrics and the world's store end the same."""
    found = []
    for cut in (False, True):
        run, learner = Run.create(config, folder / str(cut)), Trainer(config)
        if cut:
            learner.train(run, stop=lambda learner=learner: learner.iteration == after)  # type: ignore[misc]
            run.close()
            run, learner = Run.open(run.path), Trainer(config)
            learner.resume(run)
        learner.train(run)
        run.close()
        found.append((run.metrics_path.read_bytes(), learner.world.snapshot()))
    assert found[0][0] == found[1][0]
    assert torch.equal(found[0][1], found[1][1])
