"""A matchmaker's state as a checkpoint holds it, checked before any of it is used."""

from __future__ import annotations

import dataclasses
import math
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from warpworld.errors import RunError
from warpworld.trainers.league.episode_counts import EpisodeCounts
from warpworld.trainers.league.matchmaker import MatchmakerState
from warpworld.trainers.league.opponents import KINDS, Opponent, Weights
from warpworld.trainers.league.weights import read_weights

_FIELDS: dict[str, type] = {
    **{"name": str, "kind": str, "iteration": int, "rating": float, "games": int, "met": float, "won": float},
    **{"file": str, "digest": str},
}


def saved_state(state: MatchmakerState) -> dict[str, Any]:
    """A matchmaker's state for a checkpoint: tensors, numbers, texts, and lists and dicts of these."""
    return {
        "rating": state.rating,
        "opponents": [opponent.record() for opponent in state.opponents.values()],
        "retired": sorted(state.retired),
        "matches": list(state.matches),
        "generator": state.generator.get_state(),
        "tallies": [dataclasses.asdict(counts) for counts in (state.counts, state.judged)],
    }


def read_saved_state(policy: str, saved: Any, known: Mapping[str, Weights], folder: Path | None) -> MatchmakerState:
    """Read and check what ``saved_state`` returned, with the opponents' weights.

    Args:
        policy: whose opponents they are, for messages.
        saved: what the checkpoint holds.
        known: weights at hand, by SHA-256.
        folder: where the run keeps the others'; None where there is no run.

    Raises:
        RunError: it is not what it should be, or an opponent's file is missing or was changed.
    """
    where = f"the saved league of policy '{policy}'"
    # keys and rating
    if not isinstance(saved, Mapping) or not {"rating", "opponents", "retired", "matches", "generator"} <= saved.keys():
        raise RunError(f"{where} is {reprlib.repr(saved)}, expected rating, opponents, retired, matches and generator")
    if not isinstance(saved["rating"], float) or not math.isfinite(saved["rating"]):
        raise RunError(f"{where} has rating {saved['rating']!r}, expected a finite number")
    # opponents, with their weights
    opponents = {}
    for record in saved["opponents"]:
        opponent = _opponent(record, where)
        if opponent.digest:
            opponent.weights = _weights(opponent, known, folder, where)
        opponents[opponent.name] = opponent
    # names that must be opponents'
    for key in ("retired", "matches"):
        strangers = [name for name in saved[key] if name not in opponents]
        if strangers:
            raise RunError(f"{where}: {key} names '{strangers[0]}', which is none of its opponents")
    # state of random numbers
    generator = torch.Generator()
    try:
        generator.set_state(saved["generator"])
    except (RuntimeError, TypeError, AttributeError) as error:
        raise RunError(f"{where} has generator {reprlib.repr(saved['generator'])}, expected its state") from error
    retired, matches = set(saved["retired"]), list(saved["matches"])
    return MatchmakerState(saved["rating"], opponents, retired, matches, generator, *_counts(saved, where))


def _counts(saved: Mapping[str, Any], where: str) -> list[EpisodeCounts]:
    records = saved.get("tallies", [{}, {}])  # runs that began without them continue
    names = [each.name for each in dataclasses.fields(EpisodeCounts)]
    right = isinstance(records, list) and len(records) == 2 and all(isinstance(record, dict) for record in records)
    if not right or not all(key in names and type(n) is int and n >= 0 for r in records for key, n in r.items()):
        raise RunError(f"{where} has tallies {reprlib.repr(records)}, expected two of {', '.join(names)}, numbers")
    return [EpisodeCounts(**record) for record in records]


def _opponent(record: Any, where: str) -> Opponent:
    right = (
        isinstance(record, Mapping)
        and record.keys() == _FIELDS.keys()
        and all(type(record[name]) is kind for name, kind in _FIELDS.items())
        and record["kind"] in KINDS
        and all(math.isfinite(record[name]) for name in ("rating", "met", "won"))
        and bool(record["digest"]) == (record["kind"] in ("past", "frozen"))
        and Path(record["file"]).name == record["file"]
    )
    if not right:
        raise RunError(f"{where} has opponent {reprlib.repr(record)}, expected one that warpworld wrote")
    return Opponent(**record)


def _weights(opponent: Opponent, known: Mapping[str, Weights], folder: Path | None, where: str) -> Weights:
    if opponent.digest in known:
        return known[opponent.digest]
    if folder is None:
        raise RunError(
            f"{where} has opponent '{opponent.name}', whose weights are in a file of the run's folder; resume the run"
        )
    return read_weights(folder / opponent.file, opponent.digest)
