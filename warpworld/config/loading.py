"""Reading a run's settings from YAML and overrides."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from warpworld.config.between_sections import check_policies, check_populations, check_schedules, check_sizes
from warpworld.config.curriculum import checked_curriculum
from warpworld.config.documents import Document, check_encodable, validated
from warpworld.config.environment_section import with_environment
from warpworld.config.evaluation_checks import check_evaluations, check_stop_when
from warpworld.config.loggers import check_loggers
from warpworld.config.overrides import apply_overrides
from warpworld.config.played_environment import check_in_force, check_playable, evaluated_env, with_env
from warpworld.config.policy_sections import checked_policies, fill_sections, keys_at, with_model_settings
from warpworld.config.run_config import RunConfig
from warpworld.config.self_play import absolute_runs, check_scripts, check_self_play, with_absolute_runs
from warpworld.config.source import read_source
from warpworld.errors import ConfigError

__all__ = ["check_in_force", "check_playable", "config_from_dict", "load_config", "with_env"]


def load_config(source: str | Path, overrides: Iterable[str] = ()) -> RunConfig:
    """Read, override and check a run's configuration.

    Args:
        source: path of a YAML file, or name of a packaged config such as "tag_gridworld".
        overrides: ``a.b=value`` each, the value in YAML. A key may be short where it has one meaning; ``policy.*.key``
            is one of every policy that has it.

    Raises:
        ConfigError: of one or two lines: where, which key, what was given, what was expected.
    """
    document, folder = read_source(source)
    return _overridden(document, overrides, folder)


def config_from_dict(data: Mapping[str, Any], source: str = "config", overrides: Iterable[str] = ()) -> RunConfig:
    """Check a configuration that is already in memory: nested mappings as in the YAML file.

    Args:
        data: sections by name.
        source: what errors call it.
        overrides: as ``load_config``'s.

    Raises:
        ConfigError: as ``load_config``.
    """
    try:
        plain = json.loads(json.dumps(dict(data)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: {error}, expected plain numbers, texts, lists and dicts") from error
    return _overridden(Document(source, plain), overrides, Path())


def _overridden(document: Document, overrides: Iterable[str], folder: Path) -> RunConfig:
    apply_overrides(document, overrides, folder)
    return _build(document, folder)


def _build(document: Document, folder: Path) -> RunConfig:
    data = document.data
    # sections by their own rules
    check_encodable(data, document)
    fill_sections(data)
    check_stop_when(document)
    config: RunConfig = validated(TypeAdapter(RunConfig), data, document, (), partial(keys_at, data))
    config = config.model_copy(update={"policy": checked_policies(document)})
    # the environment, its parameters and what goes by its groups and arrays
    config, environment, groups = with_environment(config, document, folder)
    check_schedules(environment, config, document)
    curriculum = checked_curriculum(config.curriculum, environment, groups, document)
    config = config.model_copy(update={"curriculum": curriculum})
    check_policies(config, groups, document)
    # opponents and evaluations, with absolute paths of runs
    scripts = environment.scripts()
    config = config.model_copy(update={"policy": with_absolute_runs(config.policy, scripts)})
    met = absolute_runs(config.saving.eval_opponents, scripts)
    config = config.model_copy(update={"saving": config.saving.model_copy(update={"eval_opponents": met})})
    check_populations(config, groups, document)
    check_scripts(config, scripts, document)
    check_self_play(config, groups, scripts, document)
    config = evaluated_env(config, document)
    check_evaluations(config, scripts, document)
    # loggers, sizes, and paths as they are now
    check_loggers(config.saving, document)
    check_sizes(config, groups, document)
    check_encodable(config.to_dict(), document)
    # models
    return config.model_copy(update={"policy": with_model_settings(config.policy, document)})
