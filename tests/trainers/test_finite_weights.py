"""No checkpoint holds weights that are not finite."""

from __future__ import annotations

import math

import pytest
import torch

from tests.trainers.in_turn import trained
from warpworld.errors import TrainingError
from warpworld.trainers.state import check_finite_weights


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_single_weight_that_is_not_finite_is_refused(bad: float) -> None:
    """An infinite one is no better than NaN: it becomes that in the next update."""
    policies = trained().policies
    check_finite_weights({**policies, "random": None})
    name, weight = list(policies["both"].named_parameters())[-1]  # type: ignore[union-attr]
    with torch.no_grad():
        weight.view(-1)[-1] = bad
    with pytest.raises(TrainingError, match=rf"policy 'both': {name} holds numbers that are not finite"):
        check_finite_weights(policies)
