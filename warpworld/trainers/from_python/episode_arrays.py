"""Episodes as named arrays, and as an npz file: what `warpworld rollout` and `warpworld play` write."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from warpworld.environment import Group
from warpworld.trainers.from_python.episodes import Episode

KINDS = ("observations", "actions", "rewards", "terminated", "truncated", "agent_mask", "action_mask")


def arrays_of_group(episode: Episode, group: str) -> dict[str, np.ndarray]:
    """Arrays of a group by their paths, such as ``observations`` or ``observations/position``."""
    kept = {kind: getattr(episode, kind) for kind in KINDS}
    return {
        path: array for kind, groups in kept.items() if group in groups for path, array in _leaves(kind, groups[group])
    }


def _leaves(name: str, nested: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Each array in dicts and tuples, with the path that leads to it."""
    if isinstance(nested, Mapping):
        for key, part in nested.items():
            yield from _leaves(f"{name}/{key}", part)
    elif isinstance(nested, tuple):
        for i, part in enumerate(nested):
            yield from _leaves(f"{name}/{i}", part)
    else:
        yield name, nested


def npz_of(episodes: Sequence[Episode], groups: Sequence[Group], about: Mapping[str, Any]) -> bytes:
    """Bytes of an npz file with an array ``GROUP/KIND`` for each group and kind, episodes one after the other.

    ``lengths`` (episodes,) has each one's steps, and observations one more each; ``about`` is JSON text.
    """
    arrays: dict[str, np.ndarray] = {
        "about": np.array(json.dumps(about)),
        "lengths": np.array([len(episode) for episode in episodes]),
        "envs": np.array([episode.env for episode in episodes]),
    }
    for group in groups:
        parts = [arrays_of_group(episode, group.name) for episode in episodes]
        arrays |= {f"{group.name}/{path}": np.concatenate([part[path] for part in parts]) for path in parts[0]}
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # of names that are no identifiers
    return file.getvalue()
