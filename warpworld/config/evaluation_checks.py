"""Whether the evaluations that a configuration asks for can be played, and what is to end the run."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

from warpworld.config.documents import Document, KeyPath, dotted, known
from warpworld.config.sections import SECONDS
from warpworld.config.self_play import check_opponents, sides_with_opponent
from warpworld.errors import ConfigError, suggest

if TYPE_CHECKING:
    from warpworld.config.run_config import RunConfig

_OPPONENTS: KeyPath = ("saving", "eval_opponents")
_STOP_WHEN: KeyPath = ("trainer", "stop_when")
_ENV: KeyPath = ("saving", "eval_env")
MOST_EXAMPLES = 2


def check_stop_when(document: Document) -> None:
    """Refuse one number for all, with an example of the configuration's own policies.

    Raises:
        ConfigError: ``trainer.stop_when`` is no section.
    """
    trainer, policies = document.data.get("trainer"), document.data.get("policy")
    given = trainer.get("stop_when") if isinstance(trainer, dict) else None
    if given is None or isinstance(given, dict) or not isinstance(policies, dict) or not policies:
        return
    score = f"{given:g}" if isinstance(given, (int, float)) and not isinstance(given, bool) else "3"
    scores = [f"{dotted(_STOP_WHEN)}.{name}={score}" for name in list(policies)[:MOST_EXAMPLES]]
    examples = " or ".join([*scores, f"{dotted(_STOP_WHEN)}.{SECONDS}=600"])
    raise ConfigError(
        f"{document.where(_STOP_WHEN)}: {dotted(_STOP_WHEN)} is {json.dumps(given)}, expected a score for a policy or "
        f"a time, such as {examples}"
    )


def check_evaluations(config: RunConfig, scripts: Collection[str], document: Document) -> None:
    """Refuse settings of evaluations that mean nothing together.

    Raises:
        ConfigError: names the key, what was given and what was expected.
    """
    _check_time(config, document)
    _check_policies(config, document)
    trainer, saving = config.trainer, config.saving
    scores = trainer.stop_scores
    keys = {
        _STOP_WHEN: scores,
        ("trainer", "patience"): trainer.patience,
        _OPPONENTS: saving.eval_opponents,
        _ENV: saving.eval_env,
    }
    asked = [key for key, value in keys.items() if value]
    if asked and saving.eval_every is None:
        inner = [(*asked[0], name) for name in scores]
        raise ConfigError(
            f"{document.where(*inner, asked[0], asked[0][:1])}: {dotted(asked[0])} needs evaluations, and "
            "saving.eval_every is null; set saving.eval_every=20 to evaluate every 20 iterations"
        )
    where = document.where(_OPPONENTS, _OPPONENTS[:1])
    check_opponents(saving.eval_opponents, scripts, _OPPONENTS, where)
    for name in trained_policies(config) if saving.eval_opponents else ():
        sides_with_opponent(config, name, _OPPONENTS, where)


def _check_time(config: RunConfig, document: Document) -> None:
    """Check that the seconds after which a run ends are more than none, and no policy's score."""
    seconds = config.trainer.stop_seconds
    if seconds is None:
        return
    key = (*_STOP_WHEN, SECONDS)
    where = document.where(key, _STOP_WHEN, _STOP_WHEN[:1])
    if seconds <= 0:
        raise ConfigError(f"{where}: {dotted(key)} is {seconds:g}, expected more than 0")
    if SECONDS in config.policy:
        raise ConfigError(
            f"{where}: {dotted(key)} is a time of training, but a policy is named '{SECONDS}'; give the policy another "
            "name"
        )


def _check_policies(config: RunConfig, document: Document) -> None:
    """Check that the scores that end a run are those of policies that learn."""
    trained = trained_policies(config)
    for name in config.trainer.stop_scores:
        if name not in trained:
            where = document.where((*_STOP_WHEN, name), _STOP_WHEN, _STOP_WHEN[:1])
            keys = [*trained, SECONDS]
            raise ConfigError(
                f"{where}: {dotted(_STOP_WHEN)}: no policy '{name}' is trained.{suggest(name, keys)} {known(keys)}"
            )


def trained_policies(config: RunConfig) -> list[str]:
    """The policies that are trained, which are those that are evaluated."""
    return [name for name, entry in config.policy.items() if entry.train]
