"""Envs that opponents play in, and checks of the ``self_play`` sections."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gymnasium.spaces import Box

from warpworld.config.documents import Document, KeyPath, dotted, known
from warpworld.config.sections import LearnerConfig, PolicyConfig, ScriptConfig, SelfPlayConfig
from warpworld.environment import Group, Script
from warpworld.errors import ConfigError, suggest
from warpworld.packaged import PRETRAINED

if TYPE_CHECKING:
    from warpworld.config.run_config import RunConfig

RANDOM = "random"


def self_play_entries(config: RunConfig) -> dict[str, SelfPlayConfig]:
    """The ``self_play`` sections by policy, with the groups that opponents play filled in."""
    found = {}
    for name, entry in config.policy.items():
        if isinstance(entry, LearnerConfig) and entry.self_play is not None:
            own = entry.self_play
            found[name] = own if own.groups else own.model_copy(update={"groups": entry.groups})
    return found


def opponents_envs(entries: Mapping[str, SelfPlayConfig], num_envs: int) -> dict[str, range]:
    """The envs in which each policy's opponents play: the last ones, one range behind the other."""
    first = max(0.0, 1.0 - sum(entry.share for entry in entries.values()))
    edges = itertools.accumulate((entry.share for entry in entries.values()), initial=first)
    starts = [min(num_envs, int(edge * num_envs + 0.5)) for edge in edges]
    return {name: range(*ends) for name, ends in zip(entries, itertools.pairwise(starts), strict=True)}


def slots_of(envs: range, slots: int) -> list[range]:
    """A range of envs in contiguous parts whose sizes differ by one at most."""
    edges = [envs.start + len(envs) * i // slots for i in range(slots + 1)]
    return [range(*pair) for pair in itertools.pairwise(edges)]


def whose_envs(config: RunConfig) -> dict[str, str]:
    """The envs that a policy's mean return while training is of, in words; empty where no opponents play.

    A policy has no return in envs in which its opponents play all of its groups, and meets others' opponents in theirs.
    """
    num_envs, entries = config.trainer.num_envs, self_play_entries(config)
    counts = {name: len(envs) for name, envs in opponents_envs(entries, num_envs).items()}
    found = {}
    for name, policy in config.policy.items() if entries else ():
        own = counts.get(name, 0)
        is_left_out = name in entries and set(policy.groups) <= set(entries[name].groups)
        met = sum(counts.values()) - own * is_left_out
        envs = f"{num_envs - own:,} of {num_envs:,} envs" if own and is_left_out else f"all {num_envs:,} envs"
        found[name] = f"{envs}, {met:,} with opponents" if met else f"{envs}, none with opponents"
    return found


def sides_of(config: RunConfig, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The groups that a policy plays in a game against an opponent, and those that the opponent plays.

    The opponent plays all groups of other policies. Where there are none it plays those that ``self_play`` leaves to
    opponents, or else all groups but the first; the second part is empty where that leaves nothing.
    """
    own = config.policy[name].groups
    others = tuple(group for entry in config.policy.values() for group in entry.groups if group not in own)
    if others:
        return own, others
    entry = self_play_entries(config).get(name)
    theirs = entry.groups if entry is not None else own[1:]
    return tuple(group for group in own if group not in theirs), tuple(theirs)


def sides_with_opponent(
    config: RunConfig, name: str, path: KeyPath, where: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sides of a game of a policy that is to meet opponents; see ``sides_of``.

    Args:
        config: the run's.
        name: of the policy.
        path: of the key that names the opponents.
        where: the key stands, for messages.

    Raises:
        ConfigError: there is no group for an opponent.
    """
    own, theirs = sides_of(config, name)
    if not theirs:
        raise ConfigError(
            f"{where}: {dotted(path)}: policy '{name}' plays the only group, '{own[0]}', so that there is no group for "
            "an opponent; leave opponents out"
        )
    return own, theirs


def is_run(opponent: str, scripts: Container[str]) -> bool:
    """Whether an opponent is a policy of another run: whatever else could be a folder."""
    if opponent == RANDOM or opponent in scripts:
        return False
    return opponent.startswith(PRETRAINED) or any(sign in opponent for sign in "/#.") or Path(opponent).is_dir()


def absolute_runs(opponents: Iterable[str], scripts: Container[str]) -> tuple[str, ...]:
    """Opponents with paths of runs that hold from anywhere; they are relative to the working folder."""
    return tuple(
        os.path.abspath(text) if is_run(text, scripts) and not text.startswith(PRETRAINED) else text
        for text in opponents
    )


def with_absolute_runs(policies: Mapping[str, PolicyConfig], scripts: Container[str]) -> dict[str, PolicyConfig]:
    """The policies, with paths of runs among their opponents that hold from anywhere."""
    found = dict(policies)
    for name, entry in policies.items():
        if isinstance(entry, LearnerConfig) and entry.self_play is not None:
            named = absolute_runs(entry.self_play.opponents, scripts)
            own = entry.self_play.model_copy(update={"opponents": named})
            found[name] = entry.model_copy(update={"self_play": own})
    return found


def check_scripts(config: RunConfig, scripts: Mapping[str, Script], document: Document) -> None:
    """Refuse policies whose script the environment does not have; raises ConfigError, which names the nearest."""
    for name, entry in config.policy.items():
        if isinstance(entry, ScriptConfig) and entry.script not in scripts:
            key = ("policy", name, "script")
            there = f"{suggest(entry.script, scripts)} {known(scripts)}" if scripts else " It has none"
            raise ConfigError(
                f"{document.where(key, key[:2])}: {dotted(key)}: {config.title} has no script '{entry.script}'.{there}"
            )


def check_self_play(
    config: RunConfig, groups: Mapping[str, Group], scripts: Mapping[str, Script], document: Document
) -> None:
    """Refuse ``self_play`` sections that cannot be played, or in which no policy would learn.

    Raises:
        ConfigError: names the key, what was given and what was expected.
    """
    entries = self_play_entries(config)
    for name, entry in entries.items():
        key = ("policy", name, "self_play")
        where = document.where(key, key[:2])
        if not config.policy[name].train:
            raise ConfigError(f"{where}: {dotted(key)}: policy '{name}' is not trained, so that it has no past selves")
        _check_groups(config, name, entry, groups, document)
        _check_opponents(entry, key, scripts, document)
    if not entries:
        return
    total = sum(entry.share for entry in entries.values())
    if total > 1 + 1e-9:
        keys = [("policy", name, "self_play", "share") for name in entries]
        raise ConfigError(
            f"{document.where(*keys, ('policy',))}: the shares of self_play add up to {total:g} "
            f"({', '.join(f'{name} {entry.share:g}' for name, entry in entries.items())}), expected 1 at most"
        )
    for (name, envs), entry in zip(
        opponents_envs(entries, config.trainer.num_envs).items(), entries.values(), strict=True
    ):
        if len(envs) < entry.slots:
            key = ("policy", name, "self_play")
            raise ConfigError(
                f"{document.where((*key, 'slots'), (*key, 'share'), key, key[:2])}: {dotted(key)}: {entry.slots} slots "
                f"in {len(envs)} envs (share {entry.share:g} of {config.trainer.num_envs}), expected an env for each; "
                "ask for fewer slots, a larger share or more envs"
            )
    _check_learning(config, entries, groups, document)


def _check_groups(
    config: RunConfig, name: str, entry: SelfPlayConfig, groups: Mapping[str, Group], document: Document
) -> None:
    key: KeyPath = ("policy", name, "self_play", "groups")
    where, own = document.where(key, key[:3], key[:2]), config.policy[name].groups
    for group in entry.groups:
        if group not in own:
            raise ConfigError(
                f"{where}: {dotted(key)}: '{group}' is not a group of policy '{name}'."
                f"{suggest(group, own)} {known(own)}"
            )
        if isinstance(groups[group].action, Box):
            raise ConfigError(
                f"{where}: {dotted(key)}: group '{group}' acts in a Box, expected Discrete or MultiDiscrete: opponents "
                "with deviations of their own cannot share a group with the current policy"
            )
    if len(set(entry.groups)) < len(entry.groups):
        raise ConfigError(f"{where}: {dotted(key)} names a group twice")


def _check_opponents(entry: SelfPlayConfig, key: KeyPath, scripts: Mapping[str, Script], document: Document) -> None:
    where = document.where((*key, "opponents"), key, key[:2])
    check_opponents(entry.opponents, scripts, (*key, "opponents"), where)
    if entry.pool_size == 0 and not entry.opponents:
        raise ConfigError(
            f"{where}: {dotted(key)}: pool_size is 0 and there are no opponents, expected at least one opponent"
        )


def check_opponents(opponents: Sequence[str], scripts: Collection[str], path: KeyPath, where: str) -> None:
    """Refuse opponents that do not exist, or that are named twice.

    Args:
        opponents: as the configuration names them.
        scripts: of the environment.
        path: of their key.
        where: the key stands, for messages.

    Raises:
        ConfigError: names the opponent.
    """
    for opponent in opponents:
        if opponent != RANDOM and opponent not in scripts and not is_run(opponent, scripts):
            hint = suggest(opponent, [*scripts, RANDOM])
            raise ConfigError(
                f"{where}: {dotted(path)}: '{opponent}' is neither a script of the environment nor a run folder.{hint} "
                f"{known([*scripts, RANDOM, 'RUN', 'RUN#NAME'])}"
            )
    if len(set(opponents)) < len(opponents):
        raise ConfigError(f"{where}: {dotted(path)} names an opponent twice")


def _check_learning(
    config: RunConfig, entries: Mapping[str, SelfPlayConfig], groups: Mapping[str, Group], document: Document
) -> None:
    """Check that some policy learns in every range of envs, and every trained policy in at least one."""
    trained = {name: entry for name, entry in config.policy.items() if entry.train}
    for name, entry in entries.items():
        key = ("policy", name, "self_play", "groups")
        learning = [group for other in trained.values() for group in other.groups if group not in entry.groups]
        if not learning:
            rest = [group for group in groups if group not in entry.groups]
            who = f"besides them only {', '.join(rest)} play, which are not trained" if rest else "these are all groups"
            raise ConfigError(
                f"{document.where(key, key[:3], key[:2])}: {dotted(key)}: opponents play {', '.join(entry.groups)}, "
                f"and {who}: no policy would learn there; leave a group of a trained policy without opponents"
            )
    ranges = opponents_envs(entries, config.trainer.num_envs)
    alone = min(envs.start for envs in ranges.values()) > 0
    for name, policy in trained.items():
        elsewhere = [e for e in entries.values() if any(group not in e.groups for group in policy.groups)]
        if not alone and not elsewhere:
            raise ConfigError(
                f"{document.where(('policy', name, 'self_play', 'share'), ('policy', name))}: policy '{name}' would "
                "never learn: opponents play all its groups in all envs; lower the share"
            )
