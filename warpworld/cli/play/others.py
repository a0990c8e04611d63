"""Players of the agents that the person does not play. A policy's source is found here, and only here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.config import ScriptConfig, check_playable
from warpworld.environment import placed_groups
from warpworld.errors import RunError, suggest
from warpworld.runs import Run, Which, found_folder
from warpworld.trainers import acts_greedily, load_policies
from warpworld.trainers.collecting import Scripted

if TYPE_CHECKING:
    from warpworld.config import RunConfig
    from warpworld.environment import Environment
    from warpworld.trainers.collecting import Player

AT_RANDOM = "random"  # a source besides run folders and an environment's scripts


@dataclass(frozen=True)
class Other:
    """Player of a group.

    Attributes:
        player: a policy, a script, or None, which acts at random.
        greedy: whether it takes the likeliest actions instead of drawing them.
        about: who it is, for the page.
    """

    player: Player = None
    greedy: bool = False
    about: str = "random actions"


def find_others(
    config: RunConfig, source: str | None, greedy: bool = False, checkpoint: Which = None
) -> dict[str, Other]:
    """A player for each group of an environment, by the group's name.

    Args:
        config: of the environment.
        source: a run folder, whose policies play; the name of one of the environment's scripts; or "random". None
            takes the scripts that the configuration names, else the environment's first one, else random actions.
        greedy: whether policies take the likeliest actions.
        checkpoint: of a run.

    Raises:
        RunError: there is no such run, checkpoint or script, or its policies were trained in another environment.
        ConfigError: its policies observe or do something else.
    """
    environment = config.make_environment()
    scripts = environment.scripts()
    if source is None:
        return _by_default(config, environment)
    if source == AT_RANDOM:
        return {group: Other() for group in placed_groups(environment)}
    if source in scripts and not Path(source).is_dir():
        return {group: _script(environment, source) for group in placed_groups(environment)}
    if not Path(source).is_dir() and (hint := suggest(source, [*scripts, AT_RANDOM])):
        raise RunError(f"--policy {source} is no run folder and no script of {environment.name}.{hint}")
    return _of_run(config, source, greedy, checkpoint)


def _by_default(config: RunConfig, environment: Environment) -> dict[str, Other]:
    entries = {group: entry for entry in config.policy.values() for group in entry.groups}
    first = next(iter(environment.scripts()), None)
    found = {}
    for group in placed_groups(environment):
        entry = entries.get(group)
        name = entry.script if isinstance(entry, ScriptConfig) else first
        found[group] = Other() if name is None else _script(environment, name)
    return found


def _script(environment: Environment, name: str) -> Other:
    return Other(Scripted(name, environment.scripts()[name]), about=f"script '{name}'")


def _of_run(config: RunConfig, source: str, greedy: bool, checkpoint: Which) -> dict[str, Other]:
    """The players of a run, each for the groups that it was trained for."""
    run = Run.open(found_folder(source))
    environment = config.make_environment()
    if type(run.config.make_environment()) is not type(environment):
        raise RunError(
            f"--policy {source}: its policies were trained in '{run.config.name}', expected a run of '{config.name}'"
        )
    check_playable(run.config, config, [source], "--policy")
    found: dict[str, Other] = {}
    for name, policy in load_policies(run, checkpoint).items():
        entry, other = run.config.policy[name], Other()
        if policy is not None:
            likeliest = greedy or acts_greedily(run.config, name)
            how = "likeliest actions" if likeliest else "actions drawn"
            other = Other(policy, likeliest, f"policy '{name}' of {source}, {how}")
        elif isinstance(entry, ScriptConfig):
            other = _script(environment, entry.script)
        found |= dict.fromkeys(entry.groups, other)
    return found
