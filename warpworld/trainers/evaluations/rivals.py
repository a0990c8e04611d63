"""The opponents that evaluations are played against: scripts, random actions, and frozen policies of other runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from warpworld.config import RANDOM, RunConfig, is_run
from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.trainers.building import build_policies, fuse_policies
from warpworld.trainers.collecting import Player, Scripted
from warpworld.trainers.initial_weights import load_named_weights
from warpworld.trainers.league import copied, digest_of, is_held, packed, read_weights


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


def build_rivals(config: RunConfig, names: set[str], device: torch.device) -> list[Rival]:
    """The opponents of a run's evaluations; those of other runs have no weights yet.

    Args:
        config: the run's settings.
        names: of the policies that they replace.
        device: where they play.

    Raises:
        RunError: another run's policy would replace one that acts at random.
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
            if config.trainer.fused:
                fuse_policies(rival.policies, precision=config.trainer.precision)
        found.append(rival)
    return found


def _check_played(text: str, names: set[str], policies: Mapping[str, Policy]) -> None:
    unknown = sorted(names - policies.keys())
    if unknown:
        raise RunError(
            f"saving.eval_opponents has '{text}', but policy '{unknown[0]}', which it would replace, acts at random, "
            "so its network is unknown; name a script or random instead"
        )


def read_rivals(rivals: list[Rival]) -> None:
    """Take the weights of other runs' policies from their latest checkpoints.

    Raises:
        RunError: there is no such run, checkpoint or policy, or its weights have other shapes.
    """
    for number, rival in enumerate(rivals):
        for name, policy in rival.policies.items():
            load_named_weights(policy, name, rival.source, f"saving.eval_opponents has '{rival.source}'")
            rival.files[name] = _file(number, name), digest_of(packed(copied(policy)))


def files_of(rivals: list[Rival], folder: Path | None) -> dict[str, bytes]:
    """Files of a run's ``league`` folder for them, by name, without those that ``folder`` holds already."""
    return {
        file: packed(copied(rival.policies[name]))
        for rival in rivals
        for name, (file, digest) in rival.files.items()
        if folder is None or not is_held(folder / file, digest)
    }


def read_files(rivals: list[Rival], saved: Any, folder: Path) -> None:
    """Take the weights that ``files_of`` gave from a run's folder.

    Args:
        rivals: take them.
        saved: SHA-256 of each file, by opponent and policy, as a checkpoint holds them.
        folder: where the files lie.

    Raises:
        RunError: a file is missing or was changed, or its weights have other shapes.
    """
    for number, rival in enumerate(rivals):
        for name, policy in rival.policies.items():
            file, digest = _file(number, name), _digest(saved, rival.source, name)
            try:
                policy.load_state_dict(read_weights(folder / file, digest))
            except RuntimeError as error:
                raise RunError(f"'{folder / file}' does not fit policy '{name}': {error}") from error
            rival.files[name] = file, digest


def _file(number: int, policy: str) -> str:
    return f"evaluation-{number}-{policy}.pt"


def _digest(saved: Any, source: str, policy: str) -> str:
    """The SHA-256 that a checkpoint holds of an opponent's file."""
    of_rival = saved.get(source) if isinstance(saved, Mapping) else None
    digest = of_rival.get(policy) if isinstance(of_rival, Mapping) else None
    if not isinstance(digest, str):
        raise RunError(
            f"the saved evaluations have no SHA-256 of the weights of opponent '{source}' in place of policy "
            f"'{policy}'; remove that checkpoint to continue from an older one"
        )
    return digest
