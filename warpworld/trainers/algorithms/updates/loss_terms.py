"""Terms of the present loss of an algorithm, as they are asked for in each update."""

from __future__ import annotations

from warpworld.errors import ConfigError
from warpworld.trainers.algorithms.settings import LossTerms
from warpworld.trainers.algorithms.updates.learner import Learner, Terms


def terms_of(learner: Learner) -> Terms:
    """A function that gives the terms of the present loss, of a learner that has some.

    Raises:
        ConfigError: from the function: the learner gives none any more.
    """

    def present() -> LossTerms:
        terms = learner.loss_terms()
        if terms is None:
            raise ConfigError(
                f"{type(learner).__name__}: loss_terms() gives None, but gave terms when the run began; "
                "let it give terms always or never"
            )
        return terms

    return present
