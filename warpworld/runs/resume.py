"""Checks of what may change when a run is resumed."""

from __future__ import annotations

import logging
import operator
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from warpworld.config import Document, RunConfig, full_overrides, load_config
from warpworld.errors import ConfigError, RunError
from warpworld.importing import split_file
from warpworld.runs.differences import flat
from warpworld.runs.run import Run

OF_THE_FOLDER = ("saving.directory", "saving.name")  # where a run lies makes no other run
MOST_NAMED = 3  # keys in a message
logger = logging.getLogger(__name__)

# The run so far is valid whatever these are.
FREE_KEYS = (
    "env.state_bytes",
    "trainer.total_env_steps",
    "trainer.device",
    "trainer.num_workers",
    "trainer.envs_per_warp",
    "trainer.precision",
    "trainer.torch_threads",
    "trainer.stop_when",
    "trainer.patience",
    "saving.log_every",
    "saving.checkpoint_every",
    "saving.keep_checkpoints",
    "saving.replay",
    "saving.record_every",
    "saving.eval_every",
    "saving.loggers",
    "saving.wandb",
    "saving.mlflow",
    "saving.tags",
)


def resumed_config(run: Run, overrides: Iterable[str]) -> RunConfig:
    """A run's configuration with overrides for the part of it that is still to come.

    Raises:
        ConfigError: an override is wrong, or of a key that the run so far depends on.
    """
    overrides = full_overrides(run.config_path, overrides)
    for text in overrides:
        key, equals, _ = text.partition("=")
        if equals and not _is_free(key.strip()):
            raise ConfigError(
                f"command line, {text}: a run that is resumed keeps its {key.strip()}; only {', '.join(FREE_KEYS)} "
                f"can change. For another run: warpworld train {run.path / 'config.yaml'} {text}"
            )
    config = load_config(run.path / "config.yaml", overrides)
    _warn_of_changes(load_config(run.path / "config.yaml"), config)
    return config


def check_same_config(run: Run, config: RunConfig) -> None:
    """Refuse to continue a run by another config than its own.

    Raises:
        RunError: names the keys that differ, besides those that may change when a run is resumed.
    """
    before, now = (_flat(each.to_dict()) for each in (run.config, config))
    differ = [key for key in {**before, **now} if not _is_same(key, before, now)]
    if differ:
        named = [f"{key} is {_shown(before, key)} there and {_shown(now, key)} here" for key in differ[:MOST_NAMED]]
        more = [f"{len(differ) - len(named)} more keys differ"] if len(differ) > len(named) else []
        raise RunError(
            f"run '{run.path}' is of another config: {'; '.join([*named, *more])}. Name another folder with --run, "
            f"or continue that run as it is: warpworld train --resume {shlex.quote(str(run.path))}"
        )
    _warn_of_changes(run.config, config)


def _is_same(key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    if _is_free(key) or key in OF_THE_FOLDER:
        return True
    same = _same_environment if key == "name" else operator.eq
    return key in before and key in now and same(before[key], now[key])


def _shown(values: Mapping[str, Any], key: str) -> str:
    return repr(values[key]) if key in values else "absent"


def _is_free(key: str) -> bool:
    """Whether a key, or the section that it stands in, is one of ``FREE_KEYS``."""
    return any(key == free or key.startswith(f"{free}.") for free in FREE_KEYS)


def _warn_of_changes(before: RunConfig, after: RunConfig) -> None:
    if before.trainer.total_env_steps != after.trainer.total_env_steps:
        logger.warning(
            "the budget changes from %s to %s env steps: schedules such as anneal_lr follow the new one from here on",
            f"{before.trainer.total_env_steps:,}",
            f"{after.trainer.total_env_steps:,}",
        )
    for key in ("device", "precision", "torch_threads"):
        if getattr(before.trainer, key) != getattr(after.trainer, key):
            logger.warning("with another trainer.%s the run continues, but not bit for bit as it would have", key)


def check_same_trajectory(saved: str, config: RunConfig) -> None:
    """Refuse to resume with a ``config.yaml`` that was edited in the meantime.

    Keys that only one of the two has are passed over: versions of warpworld or of the environment differ by them.

    Args:
        saved: the configuration that the checkpoint was written with, as YAML.
        config: the present one.

    Raises:
        RunError: a key that the run depends on has another value, or ``saved`` is no YAML.
    """
    try:
        before = _flat(_values(saved, "the configuration in its checkpoint"))
    except ConfigError as error:
        raise RunError(str(error)) from error
    now = _flat(_values(config.to_yaml(), "config.yaml"))
    for key in before.keys() & now.keys():
        if not _is_same(key, before, now):
            raise RunError(
                f"{key} was {before[key]!r} when it was saved and is {now[key]!r} in config.yaml; put it back, "
                "or start a new run with the new value"
            )


def check_counters(state: Mapping[str, Any], config: RunConfig) -> None:
    """Refuse a checkpoint whose iteration is not the one that its env steps make.

    Raises:
        RunError: names both numbers.
    """
    iteration, env_steps = state["iteration"], state["env_steps"]
    each = config.trainer.num_envs * config.trainer.num_steps
    if iteration * each != env_steps:
        raise RunError(
            f"it was saved after {iteration:,} iterations and {env_steps:,} env steps, but an iteration of this run "
            f"has {each:,} env steps: something other than warpworld wrote or changed it; remove that checkpoint to "
            "continue from an older one"
        )


def check_same_environment(saved: str, config: RunConfig) -> None:
    """Refuse a checkpoint that was learnt in another environment.

    Args:
        saved: the configuration that the checkpoint was written with, as YAML.
        config: of the run that it lies in.

    Raises:
        RunError: names both environments, or ``saved`` is no YAML.
    """
    try:
        before = _values(saved, "the configuration in its checkpoint").get("name")
    except ConfigError as error:
        raise RunError(str(error)) from error
    if not isinstance(before, str) or not _same_environment(before, config.name):
        raise RunError(f"it was learnt in the environment {before!r}, and config.yaml names {config.name!r}")


def _same_environment(before: str, now: str) -> bool:
    """Whether both names are the same, or those of one file in two folders: projects are moved."""
    files = split_file(before), split_file(now)
    names = [(Path(path).name, class_name) for path, class_name in files if path]
    return before == now or (len(names) == 2 and names[0] == names[1])


def _values(text: str, source: str) -> dict[str, Any]:
    return Document.parse(text.encode(), source).data


def _flat(data: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by dotted key, without empty sections."""
    return {key: value for key, value in flat(data) if value != {}}
