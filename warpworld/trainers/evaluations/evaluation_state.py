"""State of a run's evaluations: the best weights of each policy, and whether the training may end."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from torch import Tensor

from warpworld.config import TrainerConfig
from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.text import shown
from warpworld.trainers.state import check_weights


@dataclass(frozen=True)
class Best:
    """A policy at its best evaluation.

    Attributes:
        score: that it reached.
        iteration: after which.
        env_steps: done by then.
        weights: on the host.
    """

    score: float
    iteration: int
    env_steps: int
    weights: Mapping[str, Tensor] = field(repr=False)


@dataclass
class EvaluationState:
    """Results of the evaluations so far.

    Attributes:
        best: of each policy that was evaluated, by name.
        latest: each policy's latest score.
        without_progress: evaluations since the latest in which a policy beat its best.
    """

    best: dict[str, Best] = field(default_factory=dict)
    latest: dict[str, float] = field(default_factory=dict)
    without_progress: int = 0

    def take(self, found: Mapping[str, Best]) -> bool:
        """Take in an evaluation: each policy as it is now. Whether one beat its best, or is the first of its name."""
        self.latest = {name: now.score for name, now in found.items()}
        better = {
            name: now for name, now in found.items() if name not in self.best or now.score > self.best[name].score
        }
        self.best |= better
        self.without_progress = 0 if better else self.without_progress + 1
        return bool(better)

    def ending(self, trainer: TrainerConfig) -> str:
        """Reason to end the training here, by scores or by ``patience``; "" if it continues."""
        wanted = trainer.stop_scores
        if wanted and all(self.latest.get(name, -math.inf) >= score for name, score in wanted.items()):
            reached = ", ".join(f"{name} {shown(self.latest[name])}" for name in wanted)
            return f"trainer.stop_when is reached: {reached}"
        if trainer.patience is not None and self.without_progress >= trainer.patience:
            many = f"{self.without_progress} evaluation{'s' * (self.without_progress != 1)}"
            return f"no new best score in {many} (trainer.patience)"
        return ""

    def state_dict(self) -> dict[str, Any]:
        """Numbers, texts and tensors, as a checkpoint holds them."""
        return asdict(self)


def read_evaluation_state(saved: Any, policies: Mapping[str, Policy | None], names: Sequence[str]) -> EvaluationState:
    """Read and check what ``state_dict`` returned.

    Args:
        saved: see above.
        policies: of the run, by name.
        names: of those that are evaluated.

    Raises:
        RunError: it is not what it should be, or weights have other shapes.
    """
    if not (
        isinstance(saved, Mapping)
        and _are_numbers(saved.get("latest"), names)
        and _is_count(saved.get("without_progress"))
        and isinstance(saved.get("best"), Mapping)
        and all(name in names and _is_best(best) for name, best in saved["best"].items())
    ):
        raise RunError(
            f"the saved evaluations are {reprlib.repr(saved)}, expected the best and the latest scores of "
            f"{', '.join(names)}: something other than warpworld wrote or changed them; remove that checkpoint to "
            "continue from an older one"
        )
    for name, best in saved["best"].items():
        check_weights({name: policies[name]}, {name: best["weights"]})
    best_of = {name: Best(**best) for name, best in saved["best"].items()}
    return EvaluationState(best_of, dict(saved["latest"]), saved["without_progress"])


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _are_numbers(values: Any, names: Sequence[str]) -> bool:
    return isinstance(values, Mapping) and all(key in names and type(value) is float for key, value in values.items())


def _is_best(best: Any) -> bool:
    keys = {"score", "iteration", "env_steps", "weights"}
    return (
        isinstance(best, Mapping)
        and best.keys() == keys
        and type(best["score"]) is float
        and _is_count(best["iteration"])
        and _is_count(best["env_steps"])
    )
