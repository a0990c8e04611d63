"""Opponents' weights as files of the run folder, each known by its SHA-256."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import torch

from warpworld.errors import RunError
from warpworld.files import read_file, reason
from warpworld.policies import Policy
from warpworld.runs.tensors import load_tensors
from warpworld.trainers.league.opponents import Weights

FOLDER = "league"


def copied(policy: Policy) -> Weights:
    """A policy's weights on the host, which later updates leave alone."""
    return {name: weight.detach().to("cpu", copy=True).contiguous() for name, weight in policy.state_dict().items()}


def packed(weights: Weights) -> bytes:
    """The file's contents; the same weights give the same bytes."""
    file = io.BytesIO()
    torch.save(dict(weights), file)
    return file.getvalue()


def digest_of(data: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def is_held(path: Path, digest: str) -> bool:
    """Whether a file is there and is the one of this SHA-256."""
    try:
        return digest_of(read_file(path)) == digest
    except OSError:
        return False


def read_weights(path: Path, digest: str) -> Weights:
    """The weights in a file, which must be the one that the checkpoint speaks of.

    Raises:
        RunError: it cannot be read, has another SHA-256, or holds no weights.
    """
    advice = "put the file back as the run wrote it, or start a new run"
    # bytes of the file
    try:
        data = read_file(path)
    except OSError as error:
        raise RunError(
            f"'{path}' cannot be read ({reason(error)}), an opponent whose weights the checkpoint needs; {advice}"
        ) from error
    # their digest, before anything of them is loaded
    found = digest_of(data)
    if found != digest:
        raise RunError(
            f"'{path}' has SHA-256 {found}, expected {digest}, as in the checkpoint: it was changed or cut off "
            f"after the run wrote it; {advice}"
        )
    # the weights in them
    try:
        weights = load_tensors(io.BytesIO(data), old=True)
    except ValueError as error:
        raise RunError(f"'{path}' holds no weights ({reason(error)}); {advice}") from error
    if not isinstance(weights, dict) or not all(isinstance(weight, torch.Tensor) for weight in weights.values()):
        raise RunError(f"'{path}' holds no weights; {advice}")
    return weights
