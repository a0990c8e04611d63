"""A run's environment with other parameters, in which policies are played that were trained without these."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from gymnasium.spaces import Dict, Space

from warpworld.config.documents import Document
from warpworld.config.environment_section import with_environment
from warpworld.config.run_config import RunConfig
from warpworld.config.settings import RANDOMIZE
from warpworld.environment import placed_groups
from warpworld.errors import ConfigError


def with_env(config: RunConfig, env: Mapping[str, Any], source: str = "env") -> RunConfig:
    """A run's configuration with other parameters of its environment, for its policies to be played in.

    Args:
        config: the run's.
        env: parameters that replace those of the run.
        source: what errors call them.

    Raises:
        ConfigError: the environment refuses one, or the policies could not play in it.
    """
    if not env:
        return config
    merged = {**config.env, **env}
    document = Document(source, {"name": config.name, "env": merged})
    changed, _, _ = with_environment(config.model_copy(update={"env": merged}), document, Path())
    check_playable(config, changed, [f"env.{name}={value}" for name, value in env.items()], source)
    check_in_force(changed, env, source)
    return changed


def check_in_force(played: RunConfig, names: Collection[str], source: str) -> None:
    """Refuse a value for a parameter that is drawn at each reset, in whose place it would never stand.

    Args:
        played: the configuration with the value.
        names: parameters of the environment that were given.
        source: what the message calls them.

    Raises:
        ConfigError: names the parameter, and how to stop drawing it.
    """
    drawn = played.env.get(RANDOMIZE) or {}
    for name in names:
        if name in drawn:
            raise ConfigError(
                f"{source}: env.{name} is drawn from {list(drawn[name])} at each reset, so that the value given for it "
                f"has no effect; leave it out of env.{RANDOMIZE} too, such as by env.{RANDOMIZE}={{}}"
            )


def evaluated_env(config: RunConfig, document: Document) -> RunConfig:
    """The configuration with ``saving.eval_env`` checked, and files in it that hold from anywhere.

    Raises:
        ConfigError: as ``with_env``.
    """
    given = config.saving.eval_env
    where = document.where(*(("saving", "eval_env", name) for name in given), ("saving", "eval_env"))
    try:
        changed = with_env(config, given)
    except ConfigError as error:
        text = str(error).removeprefix("env: ")
        raise ConfigError(f"{where}: saving.eval_env: {text}") from error
    kept = {name: changed.env[name] for name in given}
    return config.model_copy(update={"saving": config.saving.model_copy(update={"eval_env": kept})})


def check_playable(trained: RunConfig, played: RunConfig, settings: Collection[str], source: str) -> None:
    """Refuse settings with which agents observe or do something else than their policies were trained for.

    Args:
        trained: the run's configuration.
        played: the one in which its policies are to play.
        settings: by which they differ, as ``key=value`` each, for the message.
        source: what the message calls them.

    Raises:
        ConfigError: groups have other names, observations or actions.
    """
    before, now = (placed_groups(config.make_environment()) for config in (trained, played))
    given = f"{source}: {', '.join(settings)}"
    if set(before) != set(now):
        raise ConfigError(
            f"{given}: there are the groups {', '.join(now)} then, and the run trained {', '.join(before)}; expected "
            "settings that keep the groups"
        )
    for name, group in now.items():
        for what, one, other in (
            ("observes", before[name].observation, group.observation),
            ("acts by", before[name].action, group.action),
        ):
            if one != other:
                own, theirs = _differing(one, other)
                raise ConfigError(
                    f"{given}: '{name}' {what} {theirs} then, and its networks were trained for {own}; expected "
                    "settings that keep observations and actions as they are"
                )


def _differing(one: Space[Any], other: Space[Any]) -> tuple[str, str]:
    """Texts of two spaces that differ: of Dicts, only the parts that do."""
    if isinstance(one, Dict) and isinstance(other, Dict):
        names = [name for name in {**one.spaces, **other.spaces} if one.spaces.get(name) != other.spaces.get(name)]
        return _parts(one, names), _parts(other, names)
    return str(one), str(other)


def _parts(space: Dict, names: Collection[str]) -> str:
    return ", ".join(f"{name} {space.spaces[name]}" if name in space.spaces else f"no {name}" for name in names)
