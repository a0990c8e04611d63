"""The ``policy`` section: entries checked by their algorithms' settings, and by their models'."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import TypeAdapter

from warpworld.config.algorithm_settings import default_algorithm, settings_of
from warpworld.config.documents import Document, KeyPath, dotted, validated
from warpworld.config.keys_of_others import refuse_keys_of_others
from warpworld.config.named_classes import algorithm_class, model_class
from warpworld.config.run_config import RunConfig
from warpworld.config.sections import (
    CurriculumConfig,
    LearnerConfig,
    ModelConfig,
    PolicyConfig,
    PopulationConfig,
    SavingConfig,
    Section,
    SelfPlayConfig,
    TrainerConfig,
)
from warpworld.config.settings import checked_model_settings
from warpworld.errors import ConfigError


def fill_sections(data: dict[str, Any]) -> None:
    """Read empty sections as such, and give each policy that names no groups the group of its own name."""
    for key in ("env", "trainer", "schedules", "policy", "saving"):
        if key in data and data[key] is None:
            data[key] = {}
    policies = data.get("policy")
    if isinstance(policies, dict):
        for name, entry in policies.items():
            policies[name] = entry = {} if entry is None else entry
            if isinstance(entry, dict):
                entry.setdefault("groups", [name])
                entry.setdefault("algorithm", default_algorithm(entry))
                if entry.get("model", ...) is None:
                    entry["model"] = {}


def checked_policies(document: Document) -> dict[str, PolicyConfig]:
    """The entries of the ``policy`` section, each checked by its algorithm's settings.

    Raises:
        ConfigError: an entry is no section, or its algorithm or a setting is wrong.
    """
    found: dict[str, PolicyConfig] = {}
    for name, entry in document.data["policy"].items():
        key = ("policy", name)
        if not isinstance(entry, dict):
            shown = "empty" if entry is None else repr(entry)
            raise ConfigError(
                f"{document.where(key)}: {dotted(key)} is {shown}, expected a section of indented 'key: value' lines"
            )
        where = f"{document.where((*key, 'algorithm'), key)}: {dotted((*key, 'algorithm'))}"
        algorithm = entry["algorithm"]
        if not isinstance(algorithm, str):
            raise ConfigError(f"{where} is {algorithm!r}, expected a name such as ppo, or module:Class")
        try:
            settings = settings_of(algorithm)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from error
        refuse_keys_of_others(entry, settings, key, document)
        found[name] = validated(TypeAdapter(settings), entry, document, key, partial(keys_at, document.data))
    return found


def with_model_settings(policies: Mapping[str, Any], document: Document) -> dict[str, Any]:
    """The policies, their models' own settings checked and their defaults filled in.

    Raises:
        ConfigError: a model is unknown, or one of its settings is wrong.
    """
    found = dict(policies)
    for name, entry in policies.items():
        if not isinstance(entry, LearnerConfig):
            continue
        key, model = ("policy", name, "model"), entry.model
        try:
            cls = model_class(model.type, algorithm_class(entry.algorithm).needs_critic)
        except ConfigError as error:
            where = document.where((*key, "type"), key, key[:2])
            raise ConfigError(f"{where}: {dotted((*key, 'type'))}: {error}") from error
        own = ModelConfig.model_fields
        settings = checked_model_settings(cls, model.settings, document, key, also={n: own[n].description for n in own})
        chosen = ModelConfig(**{key: getattr(model, key) for key in own}, **settings)
        found[name] = entry.model_copy(update={"model": chosen})
    return found


def keys_at(data: Mapping[str, Any], path: KeyPath) -> dict[str, str]:
    """The keys that the section at ``path`` of ``data`` may have, with their descriptions."""
    sections: dict[str, type[Section]] = {
        "trainer": TrainerConfig,
        "saving": SavingConfig,
        "curriculum": CurriculumConfig,
    }
    if path[:1] != ("policy",):
        section: type[Section] = sections[str(path[0])] if path else RunConfig
    elif path[2:] == ("model",):
        section = ModelConfig
    elif path[2:] == ("self_play",):
        section = SelfPlayConfig
    elif path[2:] == ("population",):
        section = PopulationConfig
    else:
        section = settings_of(data["policy"][path[1]]["algorithm"])
    return {name: field.description or "" for name, field in section.model_fields.items()}
