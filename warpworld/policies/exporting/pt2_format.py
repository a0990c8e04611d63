"""The file of ``torch.export``: for torch without warpworld."""

from __future__ import annotations

import io

import numpy as np
import torch
from torch.export import ExportedProgram

from warpworld.policies.exporting.interface import Interface
from warpworld.policies.exporting.traced_graph import quiet


def check_packages() -> None:
    """Do nothing: torch is always installed."""


def write(program: ExportedProgram, interface: Interface) -> bytes:
    """The contents of the file."""
    file = io.BytesIO()
    with quiet():
        torch.export.save(program, file)
    return file.getvalue()


class Runner:
    """Runs a file by torch."""

    def __init__(self, data: bytes) -> None:
        with quiet():
            self._module = torch.export.load(io.BytesIO(data)).module()

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs by name, from inputs by name."""
        with torch.no_grad():
            found = self._module({name: torch.from_numpy(values) for name, values in inputs.items()})
        return {name: values.numpy() for name, values in found.items()}
