"""A run's settings, and reading them from YAML and overrides."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SerializeAsAny, SkipValidation, TypeAdapter

from warpworld.config.algorithm_settings import DEFAULT, algorithms_of, drop_settings_of_former, settings_of
from warpworld.config.document import Document
from warpworld.config.encodable import check_encodable
from warpworld.config.errors import known, validated
from warpworld.config.evaluations import check_evaluations, check_stop_when
from warpworld.config.keys import KeyPath, dotted
from warpworld.config.keys_of_others import refuse_keys_of_others
from warpworld.config.loggers import check_loggers
from warpworld.config.named_classes import algorithm_class, model_class
from warpworld.config.sections import (
    LearnerConfig,
    ModelConfig,
    PolicyConfig,
    RandomConfig,
    SavingConfig,
    Section,
    SelfPlayConfig,
    Sizes,
    TrainerConfig,
)
from warpworld.config.self_play import absolute_runs, check_self_play, with_absolute_runs
from warpworld.config.settings import RANDOMIZE, checked_model_settings, checked_params
from warpworld.config.short_keys import with_full_keys
from warpworld.config.types import AnySchedule, Text
from warpworld.config.yaml_dialect import dump_yaml
from warpworld.environment import Array, Environment, Group, get_environment, names_file, placed_groups
from warpworld.errors import ConfigError, DeclarationError, suggest
from warpworld.files import read_file, reason
from warpworld.importing import absolute_target, title_of
from warpworld.near_names import nearest
from warpworld.packaged import packaged_configs

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")


class RunConfig(Section):
    """Everything that determines a run. Made by ``load_config`` or ``config_from_dict``, never changed afterwards."""

    name: Text = Field(description="which environment")
    env: dict[str, Any] = Field(default={}, description="the environment's parameters")
    trainer: TrainerConfig = Field(description="how much is simulated, where and from which seed")
    schedules: dict[str, AnySchedule] = Field(
        default={}, description="world arrays of the environment that are set before every rollout, by name"
    )
    # an entry is checked by its algorithm's own settings, see _policies
    policy: Annotated[dict[str, SerializeAsAny[SkipValidation[PolicyConfig]]], Field(min_length=1)] = Field(
        description="one entry per policy"
    )
    saving: SavingConfig = Field(default=SavingConfig(), description="what the run saves")

    @property
    def title(self) -> str:
        """Name of the environment for people, without the folders where that is a file."""
        return title_of(self.name)

    def to_dict(self) -> dict[str, Any]:
        """Plain nested dicts, with every default filled in."""
        return self.model_dump()

    def to_yaml(self) -> str:
        """YAML text that ``load_config`` reads back equal."""
        return dump_yaml(self.to_dict())


def load_config(source: str | Path, overrides: Iterable[str] = ()) -> RunConfig:
    """Read, override and check a run's configuration.

    Args:
        source: path of a YAML file, or name of a packaged config such as "tag_gridworld".
        overrides: ``a.b=value`` each, the value in YAML. A key may be short where it has one meaning; ``policy.*.key``
            is one of every policy that has it.

    Raises:
        ConfigError: of one or two lines: where, which key, what was given, what was expected.
    """
    document, folder = _read(source)
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


def full_overrides(source: str | Path, overrides: Iterable[str]) -> list[str]:
    """The overrides of a configuration with every key in full; arguments and errors as ``load_config``'s."""
    document, folder = _read(source)
    return with_full_keys(document, overrides, folder)


def _read(source: str | Path) -> tuple[Document, Path]:
    """The document, and the folder that files named in it are relative to."""
    path, packaged = Path(source), packaged_configs()
    if path.suffix in {".py", ".cu"}:
        near = f", such as {path.with_suffix('.yaml')}" if path.with_suffix(".yaml").is_file() else ""
        raise ConfigError(
            f"'{source}' is an environment's code, expected a YAML file{near} or a name of `warpworld list`"
        )
    try:
        if str(source) in packaged and not path.is_file():
            return Document.parse(packaged[str(source)].read_bytes(), f"packaged config '{source}'"), Path()
        return Document.parse(read_file(path), str(source)), path.parent
    except FileNotFoundError as error:
        stem = path.name.removesuffix(".yaml").removesuffix(".yml")
        hint = _hint_at_file(path.parent, stem) or suggest(stem, packaged)
        raise ConfigError(
            f"no file '{source}', and no packaged config of that name."
            + (f"{hint} All: warpworld list" if hint else f" {known(packaged)}")
        ) from error
    except IsADirectoryError as error:
        if (path / "config.yaml").is_file():
            raise ConfigError(
                f"'{source}' is a run folder, expected a config. To continue the run: warpworld train --resume "
                f"{source}; to repeat it: warpworld train {path / 'config.yaml'}"
            ) from error
        raise ConfigError(f"'{source}' is a folder, expected a YAML file or a name of `warpworld list`") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"config '{source}' cannot be read: {reason(error)}") from error


def _hint_at_file(folder: Path, stem: str) -> str:
    """The YAML file of a folder that may be meant; nothing where no name is near."""
    files = {file.stem: file for file in sorted(folder.glob("*.yaml"))}
    near = nearest(stem, files)
    return f" Did you mean '{files[near]}'?" if near else ""


def _overridden(document: Document, overrides: Iterable[str], folder: Path) -> RunConfig:
    former = algorithms_of(document)
    for text in with_full_keys(document, overrides, folder):
        _refuse_new_policy(document, text)
        document.override(text)
    drop_settings_of_former(document, former)
    return _build(document, folder)


def _refuse_new_policy(document: Document, text: str) -> None:
    """A misspelt policy name in an override would make a new policy; say so before it does."""
    path = [key.strip() for key in text.partition("=")[0].split(".")]
    policies = document.data.get("policy")
    if len(path) > 2 and path[0] == "policy" and isinstance(policies, dict) and path[1] not in policies:
        hint = suggest(path[1], policies)
        raise ConfigError(f"command line, {text}: no policy '{path[1]}' in {document.source}.{hint} {known(policies)}")


def _build(document: Document, folder: Path) -> RunConfig:
    check_encodable(document.data, document)
    _fill_sections(document.data)
    check_stop_when(document)
    config: RunConfig = validated(TypeAdapter(RunConfig), document.data, document, (), partial(_keys_at, document.data))
    config = config.model_copy(update={"policy": _policies(document)})
    name_origin = document.where(("name",))
    base = Path() if ("name",) in document.overrides else folder
    config = config.model_copy(update={"name": absolute_target(config.name, base)})
    check_encodable({"name": config.name}, document)
    try:
        cls = get_environment(config.name)
    except (DeclarationError, ValueError) as error:
        raise ConfigError(f"{name_origin}: name: {error}") from error
    params = checked_params(cls, _with_absolute_files(cls, config.env, document, folder), document)
    config = config.model_copy(update={"env": params})
    environment, groups = _environment(cls, config.env, document)
    _check_schedules(environment, config, document)
    _check_policies(config, groups, document)
    scripts = environment.scripts()
    config = config.model_copy(update={"policy": with_absolute_runs(config.policy, scripts)})
    met = absolute_runs(config.saving.eval_opponents, scripts)
    config = config.model_copy(update={"saving": config.saving.model_copy(update={"eval_opponents": met})})
    check_self_play(config, groups, scripts, document)
    check_evaluations(config, scripts, document)
    check_loggers(config.saving, document)
    _check_sizes(config, groups, document)
    check_encodable(config.to_dict(), document)  # other paths are absolute now, too
    return config.model_copy(update={"policy": _with_models(config.policy, document)})


def _with_absolute_files(
    cls: type[Environment], params: Mapping[str, Any], document: Document, folder: Path
) -> dict[str, Any]:
    """The parameters, with files and folders that hold from anywhere."""
    found = dict(params)
    for name in cls.file_params:
        given = params.get(name)
        if isinstance(given, str) and names_file(given):
            typed = {("env",), ("env", name)} & document.overrides.keys()
            base = Path() if typed else folder
            found[name] = os.path.abspath(base / given)
    return found


def _keys_at(data: Mapping[str, Any], path: KeyPath) -> dict[str, str]:
    """The keys that the section at ``path`` of ``data`` may have, with their descriptions."""
    sections: dict[str, type[Section]] = {"trainer": TrainerConfig, "saving": SavingConfig}
    if path[:1] != ("policy",):
        section: type[Section] = sections[str(path[0])] if path else RunConfig
    elif path[2:] == ("model",):
        section = ModelConfig
    elif path[2:] == ("self_play",):
        section = SelfPlayConfig
    else:
        section = settings_of(data["policy"][path[1]]["algorithm"])
    return {name: field.description or "" for name, field in section.model_fields.items()}


def _policies(document: Document) -> dict[str, PolicyConfig]:
    """The entries of the ``policy`` section, each checked by its algorithm's settings."""
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
        if algorithm != "random":
            refuse_keys_of_others(entry, key, document)
        found[name] = validated(TypeAdapter(settings), entry, document, key, partial(_keys_at, document.data))
    return found


def _fill_sections(data: dict[str, Any]) -> None:
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
                entry.setdefault("algorithm", DEFAULT)
                if entry.get("model", ...) is None:
                    entry["model"] = {}


# --- what the environment and the models say --------------------------------------------------------------------------


def _environment(
    cls: type[Environment], params: dict[str, Any], document: Document
) -> tuple[Environment, dict[str, Group]]:
    """The environment with these parameters and its groups; whether these make sense is its own affair."""
    try:
        environment = cls(**params)
        return environment, placed_groups(environment)
    except (DeclarationError, ValueError) as error:
        where = document.where(*_named(str(error), params), ("env",))
        raise ConfigError(f"{where}: env: {error}") from error


def _named(text: str, params: Mapping[str, Any]) -> list[KeyPath]:
    """The parameters that a text names; their ranges first, if it names these."""
    names = [name for name in params if re.search(rf"\b{re.escape(name)}\b", text)]
    given = params.get(RANDOMIZE)
    drawn = given if isinstance(given, dict) else {}
    ranges: list[KeyPath] = [("env", RANDOMIZE, name) for name in drawn if str(name) in text]
    plain: list[KeyPath] = [("env", name) for name in names]
    return [*ranges, ("env", RANDOMIZE), *plain] if RANDOMIZE in names else [*plain, *ranges]


def _with_models(policies: Mapping[str, Any], document: Document) -> dict[str, Any]:
    """The policies, their models' own settings checked and their defaults filled in."""
    found = dict(policies)
    for name, entry in policies.items():
        if isinstance(entry, RandomConfig):
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


# --- what only holds between sections -------------------------------------------------------------------------------


def _check_schedules(environment: Environment, config: RunConfig, document: Document) -> None:
    """Check that each schedule sets a floating-point array that all envs share, within its bounds."""
    if not config.schedules:
        return
    declared = {array.name: array for array in environment.arrays()}
    shared = [name for name, array in declared.items() if _can_be_set(array)]
    for name, schedule in config.schedules.items():
        where = f"{document.where(('schedules', name), ('schedules',))}: schedules.{name}"
        if name not in shared:
            why = f"is not a floating-point array of {config.title} that all envs share"
            raise ConfigError(f"{where}: {why}.{suggest(name, shared)} {known(shared) if shared else 'It has none'}")
        low, high = declared[name].bounds or (-math.inf, math.inf)
        for value in [schedule] if isinstance(schedule, float) else [value for _, value in schedule]:
            if not low <= value <= high:
                raise ConfigError(f"{where} gives {value:g}, expected {low:g} to {high:g}, the array's bounds")


def _can_be_set(array: Array) -> bool:
    return array.per == "world" and array.dtype.startswith("float") and not array.read_only


def _check_policies(config: RunConfig, groups: dict[str, Group], document: Document) -> None:
    """Check that exactly one policy plays each group, and that a policy's groups have the same spaces."""
    served: dict[str, str] = {}
    for name, policy in config.policy.items():
        key = ("policy", name, "groups")
        where = document.where(key, key[:2])
        if not _NAME.match(name):
            raise ConfigError(f"{where}: policy name '{name}': expected letters, digits, - and _, a letter first")
        if not policy.groups:
            raise ConfigError(f"{where}: {dotted(key)} is empty, expected at least one of {', '.join(groups)}")
        for group in policy.groups:
            if group not in groups:
                hint = suggest(group, groups)
                raise ConfigError(
                    f"{where}: {dotted(key)}: {config.title} has no group '{group}'.{hint} {known(groups)}"
                )
            if group in served:
                by = f"policies '{served[group]}' and '{name}'" if served[group] != name else f"policy '{name}' twice"
                raise ConfigError(
                    f"{where}: {dotted(key)}: group '{group}' is played by {by}, expected exactly one policy"
                )
            served[group] = name
        _check_spaces(name, [groups[group] for group in policy.groups], where)
    for group in groups:
        if group not in served:
            raise ConfigError(
                f"{document.where(('policy',))}: no policy plays group '{group}' of {config.title}: "
                f"add an entry policy.{group}, or name it in the groups of another policy"
            )


def _check_spaces(name: str, groups: list[Group], where: str) -> None:
    first = groups[0]
    for other in groups[1:]:
        for kind in ("observation", "action"):
            spaces = getattr(first, kind), getattr(other, kind)
            if spaces[0] != spaces[1]:
                raise ConfigError(
                    f"{where}: policy '{name}' plays groups '{first.name}' and '{other.name}', whose {kind} spaces "
                    f"differ ({spaces[0]} and {spaces[1]}): give each a policy of its own"
                )


def _check_sizes(config: RunConfig, groups: dict[str, Group], document: Document) -> None:
    """The run holds at least one iteration, and each algorithm's settings go with its sizes."""
    trainer = config.trainer
    per_rollout = trainer.num_envs * trainer.num_steps
    rollout = f"num_envs {trainer.num_envs} x num_steps {trainer.num_steps}"
    sizes = [("trainer", key) for key in ("total_env_steps", "num_envs", "num_steps")]
    if trainer.total_env_steps < per_rollout:
        raise ConfigError(
            f"{document.where(*sizes)}: trainer.total_env_steps is {trainer.total_env_steps}, "
            f"expected at least one rollout: {rollout} = {per_rollout}"
        )
    for name, policy in config.policy.items():
        if not isinstance(policy, LearnerConfig):
            continue
        for fault in policy.misfits(groups[policy.groups[0]]):
            where = document.where(*(("policy", name, *key.split(".")) for key in fault.keys), ("policy", name))
            raise ConfigError(f"{where}: policy.{name}.{fault.text}")
        if not policy.train:
            continue
        agents = sum(groups[group].size for group in policy.groups)
        for fault in policy.faults(Sizes(trainer.num_envs, trainer.num_steps, agents)):
            first, *others = [("policy", name, *key.split(".")) for key in fault.keys]
            where = document.where(first, *others, *(sizes[1:] if fault.of_sizes else ()), ("policy", name))
            raise ConfigError(f"{where}: policy.{name}.{fault.text}")
