"""Players of evaluations: a run's policies, and opponents, which are scripts, random or policies of other runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from warpworld.config import RANDOM, RunConfig, is_run
from warpworld.environment import Environment
from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.trainers.building import build_policies, fuse_rivals
from warpworld.trainers.collecting import Player, Scripted, player_of


@dataclass
class Rival:
    """An opponent as ``saving.eval_opponents`` names it.

    Attributes:
        name: in the names of metrics.
        source: as in the configuration.
        script: what it plays with, where it is one of the environment's scripts.
        policies: of another run, by the name of the policy whose groups they play; empty for the others.
        files: the files of the run that hold their weights, with SHA-256, by the same names.
    """

    name: str
    source: str
    script: Scripted | None = None
    policies: dict[str, Policy] = field(default_factory=dict)
    files: dict[str, tuple[str, str]] = field(default_factory=dict)

    def player(self, policy: str) -> Player:
        """The player of a group that ``policy`` plays in the run."""
        return self.policies[policy] if self.policies else self.script


def players_of(config: RunConfig, policies: Mapping[str, Policy | None], environment: Environment) -> dict[str, Player]:
    """Players of a run's policies, by name: see ``player_of``."""
    return {name: player_of(policy, config.policy[name], environment) for name, policy in policies.items()}


def build_rivals(config: RunConfig, names: set[str], device: torch.device) -> list[Rival]:
    """The opponents of a run's evaluations; those of other runs have no weights yet.

    Args:
        config: the run's settings.
        names: of the policies that they replace.
        device: where they play.

    Raises:
        RunError: another run's policy would replace one that has no network.
    """
    environment = config.make_environment()
    scripts, found = environment.scripts(), list[Rival]()
    for text in config.saving.eval_opponents:
        short = Path(text).name
        rival = Rival(text if short in [other.name for other in found] else short, text)
        if text in scripts:
            rival.script = Scripted(text, scripts[text])
        elif text != RANDOM and is_run(text, scripts):
            built = build_policies(config, environment, torch.Generator(), device)
            rival.policies = {name: policy for name, policy in built.items() if policy is not None and name in names}
            _check_played(text, names, rival.policies)
            fuse_rivals(config, rival.policies)
        found.append(rival)
    return found


def _check_played(text: str, names: set[str], policies: Mapping[str, Policy]) -> None:
    unknown = sorted(names - policies.keys())
    if unknown:
        raise RunError(
            f"saving.eval_opponents has '{text}', but policy '{unknown[0]}', which it would replace, has no "
            "network, so that of the run is unknown; name a script or random instead"
        )
