"""A pruner that ends no trial before some have been trained to their ends."""

from __future__ import annotations

import optuna
from optuna.pruners import BasePruner
from optuna.trial import FrozenTrial, TrialState

STARTUP_TRIALS = 5  # as many as Optuna's median pruner waits for


class AfterStartup(BasePruner):
    """Asks another pruner once ``STARTUP_TRIALS`` trials are complete.

    Successive halving compares a trial with those before it alone. Without this, it would end the second trial if the
    first was slightly better at that time.

    Args:
        pruner: it takes in every report from the first trial on, so that later trials are compared with all.
    """

    def __init__(self, pruner: BasePruner) -> None:
        self._pruner = pruner

    def prune(self, study: optuna.Study, trial: FrozenTrial) -> bool:
        """Whether the trial is to end now."""
        is_behind = self._pruner.prune(study, trial)
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return is_behind and len(complete) >= STARTUP_TRIALS
