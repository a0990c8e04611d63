"""Weights of evaluations' opponents: read from other runs, and kept in the run's own folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpworld.errors import RunError
from warpworld.trainers.evaluations.rivals import Rival
from warpworld.trainers.initial_weights import load_named_weights
from warpworld.trainers.league import copied, digest_of, is_held, packed, read_weights


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
