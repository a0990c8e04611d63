"""From a YAML file and ``a.b=c`` overrides to a frozen, checked ``RunConfig``."""

from __future__ import annotations

import dataclasses
import importlib.resources
import json
import re
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import NotRequired, Required, TypedDict

from warpworld.config_errors import known, validated
from warpworld.config_file import Document, KeyPath, dotted, dump_yaml
from warpworld.environment import Environment, Group, get_environment, placed_groups
from warpworld.errors import ConfigError, DeclarationError, suggest

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_LARGEST = 2**63 - 1
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_WORDS = {"yes": True, "on": True, "no": False, "off": False}


def _read_word(given: Any) -> Any:
    return _WORDS.get(given.lower(), given) if isinstance(given, str) else given


Flag = Annotated[bool, BeforeValidator(_read_word)]
Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=_LARGEST)]
Seed = Annotated[int, Field(ge=0, le=_LARGEST)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class TrainerConfig(_Section):
    """The ``trainer`` section: how much is simulated, where and from which seed."""

    num_envs: Count = Field(description="envs that step together")
    num_steps: Count = Field(description="steps of every env between two updates")
    total_env_steps: Count = Field(description="length of the run, in env steps (num_envs of them pass per world step)")
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="where envs and policies run: auto, cpu or cuda"
    )
    seed: Seed = Field(default=1, description="same seed, same run")
    num_workers: Count | None = Field(
        default=None, description="threads that step the envs on cpu; null takes every core"
    )


class ModelConfig(_Section):
    """The ``model`` of a policy."""

    type: Literal["mlp"] = Field(default="mlp", description="kind of network: mlp")
    hidden_sizes: tuple[Count, ...] = Field(default=(64, 64), description="width of each hidden layer")
    activation: Literal["tanh", "relu"] = Field(default="tanh", description="between the layers: tanh or relu")


class PolicyConfig(_Section):
    """One entry of the ``policy`` section; learning settings carry CleanRL's names and formulas."""

    groups: tuple[str, ...] = Field(
        default=(), description="agent groups that it plays; left out: the group of its own name"
    )
    train: Flag = Field(default=True, description="false keeps its weights as they are")
    algorithm: Literal["ppo"] = Field(default="ppo", description="how it learns: ppo")
    model: ModelConfig = Field(default=ModelConfig(), description="its network")
    learning_rate: Positive = Field(default=2.5e-4, description="step size of Adam")
    anneal_lr: Flag = Field(default=True, description="lower the learning rate linearly to 0 over the run")
    gamma: Fraction = Field(default=0.99, description="discount per step")
    gae_lambda: Fraction = Field(default=0.95, description="lambda of generalised advantage estimation")
    update_epochs: Count = Field(default=4, description="passes over a rollout")
    num_minibatches: Count = Field(default=4, description="parts of a rollout, one gradient step each")
    clip_coef: Positive = Field(default=0.2, description="how far the probability ratio may move from 1")
    clip_vloss: Flag = Field(default=True, description="clip the value loss in the same way")
    norm_adv: Flag = Field(default=True, description="normalise advantages per minibatch")
    ent_coef: NotNegative = Field(default=0.01, description="weight of the entropy bonus")
    vf_coef: NotNegative = Field(default=0.5, description="weight of the value loss")
    max_grad_norm: Positive = Field(default=0.5, description="longest gradient; longer ones are scaled down")
    target_kl: Positive | None = Field(
        default=None, description="stop a rollout's epochs above this KL divergence; null never stops"
    )


class SavingConfig(_Section):
    """The ``saving`` section: what a run leaves behind."""

    directory: Text = Field(default="runs", description="folder that run folders are made in")
    log_every: Count = Field(default=1, description="iterations between two lines of metrics")
    checkpoint_every: Count = Field(default=50, description="iterations between two checkpoints")


class RunConfig(_Section):
    """Everything that determines a run. Made by ``load_config`` or ``config_from_dict``, never changed afterwards."""

    name: Text = Field(description="which environment")
    env: dict[str, Any] = Field(default={}, description="the environment's parameters")
    trainer: TrainerConfig = Field(description="how much is simulated, where and from which seed")
    policy: Annotated[dict[str, PolicyConfig], Field(min_length=1)] = Field(description="one entry per policy")
    saving: SavingConfig = Field(default=SavingConfig(), description="what the run leaves behind")

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
        overrides: ``a.b=value`` each, the value in YAML.

    Raises:
        ConfigError: of one or two lines: where, which key, what was given, what was expected.
    """
    document = _read(source)
    for text in overrides:
        _refuse_new_policy(document, text)
        document.override(text)
    return _build(document)


def config_from_dict(data: Mapping[str, Any], source: str = "config") -> RunConfig:
    """Check a configuration that is already in memory: nested mappings as in the YAML file.

    Raises:
        ConfigError: as ``load_config``.
    """
    try:
        return _build(Document(source, json.loads(json.dumps(dict(data)))))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{source}: {error}, expected plain numbers, texts, lists and dicts") from error


def packaged_configs() -> dict[str, Traversable]:
    """The configs that come with warpworld, by name, sorted."""
    try:
        folder = importlib.resources.files("warpworld.configs")
    except ModuleNotFoundError:  # a checkout that is not installed
        folder = Path(__file__).resolve().parent.parent / "configs"
    if not folder.is_dir():
        return {}
    found = {entry.name.removesuffix(".yaml"): entry for entry in folder.iterdir() if entry.name.endswith(".yaml")}
    return dict(sorted(found.items()))


def _read(source: str | Path) -> Document:
    path, packaged = Path(source), packaged_configs()
    try:
        if str(source) in packaged and not path.is_file():
            return Document.parse(packaged[str(source)].read_bytes(), f"packaged config '{source}'")
        return Document.parse(path.read_bytes(), str(source))
    except FileNotFoundError as error:
        hint = suggest(path.name.removesuffix(".yaml").removesuffix(".yml"), packaged)
        raise ConfigError(
            f"no file '{source}', and no packaged config of that name.{hint} {known(packaged)}"
        ) from error
    except IsADirectoryError as error:
        raise ConfigError(f"'{source}' is a folder, expected a YAML file or one of {', '.join(packaged)}") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ConfigError(f"config '{source}' cannot be read: {reason}") from error


def _refuse_new_policy(document: Document, text: str) -> None:
    """A misspelt policy name in an override would make a new policy; say so before it does."""
    path = [key.strip() for key in text.partition("=")[0].split(".")]
    policies = document.data.get("policy")
    if len(path) > 2 and path[0] == "policy" and isinstance(policies, dict) and path[1] not in policies:
        hint = suggest(path[1], policies)
        raise ConfigError(f"command line, {text}: no policy '{path[1]}' in {document.source}.{hint} {known(policies)}")


def _build(document: Document) -> RunConfig:
    _fill_sections(document.data)
    config: RunConfig = validated(TypeAdapter(RunConfig), document.data, document, (), _keys_at)
    name_origin = document.where(("name",))
    try:
        cls = get_environment(config.name)
    except (DeclarationError, ValueError) as error:
        raise ConfigError(f"{name_origin}: name: {error}") from error
    config = config.model_copy(update={"env": _checked_params(cls, config.env, document)})
    groups = _groups(cls, config.env, document)
    _check_policies(config, groups, document)
    _check_sizes(config, groups, document)
    return config


def _keys_at(path: KeyPath) -> dict[str, str]:
    """The keys that the section at ``path`` may have, with their descriptions."""
    sections: dict[str, type[BaseModel]] = {"trainer": TrainerConfig, "saving": SavingConfig, "policy": PolicyConfig}
    section = sections[str(path[0])] if path else RunConfig
    section = ModelConfig if path[2:] == ("model",) else section
    return {name: field.description or "" for name, field in section.model_fields.items()}


def _fill_sections(data: dict[str, Any]) -> None:
    """Read empty sections as such, and give each policy that names no groups the group of its own name."""
    for key in ("env", "trainer", "policy", "saving"):
        if key in data and data[key] is None:
            data[key] = {}
    policies = data.get("policy")
    if isinstance(policies, dict):
        for name, entry in policies.items():
            policies[name] = entry = {} if entry is None else entry
            if isinstance(entry, dict):
                entry.setdefault("groups", [name])
                if entry.get("model", ...) is None:
                    entry["model"] = {}


# --- the environment's parameters -----------------------------------------------------------------------------------


def _checked_params(cls: type[Environment], given: dict[str, Any], document: Document) -> dict[str, Any]:
    """All of the environment's parameters: those given, checked against the annotations, and the others' defaults."""
    fields = [f for f in dataclasses.fields(cls.Params) if f.init]
    try:
        hints = typing.get_type_hints(cls.Params, include_extras=True)
    except NameError as error:
        raise ConfigError(f"environment '{cls.name}': an annotation of Params cannot be resolved: {error}") from error
    missing = dataclasses.MISSING
    defaults = {f.name: f.default if f.default_factory is missing else f.default_factory() for f in fields}
    schema: dict[str, Any] = {}
    for f in fields:
        hint = Flag if hints[f.name] is bool else hints[f.name]
        hint = Optional[hint] if defaults[f.name] is None else hint  # noqa: UP045 (Any knows no | in 3.10)
        schema[f.name] = Required[hint] if defaults[f.name] is missing else NotRequired[hint]
    rules = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)
    kind = with_config(rules)(TypedDict(cls.name, schema))  # type: ignore[operator]
    checked = validated(TypeAdapter(kind), given, document, ("env",), lambda path: dict.fromkeys(schema, ""))
    for name, value in checked.items():
        if value != value:  # nan slips through every comparison that an environment may make
            raise ConfigError(f"{document.where(('env', name))}: env.{name} is nan, expected a number")
    return {name: checked.get(name, defaults[name]) for name in schema}


def _groups(cls: type[Environment], params: dict[str, Any], document: Document) -> dict[str, Group]:
    """The groups that the environment has with these parameters; whether these make sense is its own affair."""
    try:
        return placed_groups(cls(**params))
    except (DeclarationError, ValueError) as error:
        text = str(error)
        named = [("env", name) for name in params if re.search(rf"\b{re.escape(name)}\b", text)]
        raise ConfigError(f"{document.where(*named, ('env',))}: env: {text}") from error


# --- what only holds between sections -------------------------------------------------------------------------------


def _check_policies(config: RunConfig, groups: dict[str, Group], document: Document) -> None:
    """Every group is played by exactly one policy, and one policy's groups have the same spaces."""
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
                    f"{where}: {dotted(key)}: {config.name} has no group '{group}'.{hint} {known(groups)}"
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
                f"{document.where(('policy',))}: no policy plays group '{group}' of {config.name}: "
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
    """The run holds at least one rollout, and rollouts divide into minibatches."""
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
        agents = sum(groups[group].size for group in policy.groups)
        rows = per_rollout * agents
        if policy.train and rows % policy.num_minibatches:
            key = ("policy", name, "num_minibatches")
            raise ConfigError(
                f"{document.where(key, *sizes[1:], key[:2])}: {dotted(key)} is {policy.num_minibatches}, expected a "
                f"divisor of the {rows} rows of a rollout: {rollout} x {agents} agent{'s' * (agents != 1)}"
            )
