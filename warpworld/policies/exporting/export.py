"""``warpworld.export_policy``: one file with a policy in it, and a JSON file that describes its tensors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from warpworld.errors import ExportError
from warpworld.files import reason, replace_text, replacing
from warpworld.policies import Policy
from warpworld.policies.exporting.comparing import Comparison, compare
from warpworld.policies.exporting.formats import FORMATS, format_of
from warpworld.policies.exporting.interface import Interface
from warpworld.policies.exporting.traced_graph import cannot, traced
from warpworld.version import __version__


@dataclass(frozen=True)
class Exported:
    """A file that was written.

    Attributes:
        path: of the file; ``<path>.json`` describes it.
        size: in bytes.
        interface: the tensors that it takes and gives.
        comparison: with the policy.
    """

    path: Path
    size: int
    interface: Interface
    comparison: Comparison


def export_policy(policy: Policy, path: str | Path, notes: Mapping[str, Any] | None = None) -> Exported:
    """Write a policy to a file that runs without warpworld, with a JSON description beside it.

    The file takes raw observations and returns greedy actions, for batches of any size. Its outputs are compared with
    the policy's before anything is written.

    Args:
        policy: from ``load_policy`` or a Trainer.
        path: the file, ``.onnx`` or ``.pt2``. Its folder is created if it does not exist.
        notes: further entries of the JSON, such as the run that the policy comes from.

    Raises:
        ExportError: the ending is unknown, a package is missing, torch cannot trace the model, the traced model differs
            from the policy, or the file cannot be written.
    """
    # the format, and the packages that it needs
    path = Path(path)
    name = format_of(path)
    form, interface = FORMATS[name], Interface.of(policy)
    form.check_packages()
    # contents of the file
    program = traced(policy, interface)
    try:
        data = form.write(program, interface)
    except Exception as error:
        raise cannot(policy, f"be written as {name}", error) from error
    # comparison of the file with the policy
    try:
        comparison = compare(policy, interface, form.open(data))
    except ExportError:
        raise
    except Exception as error:
        raise cannot(policy, f"be run as {name}", error) from error
    # the files, once they are known to be right
    exported = Exported(path, len(data), interface, comparison)
    _save(exported, data, name, notes or {})
    return exported


def _save(exported: Exported, data: bytes, name: str, notes: Mapping[str, Any]) -> None:
    ports, path = exported.interface, exported.path
    description = {
        "format": name,
        **notes,
        "inputs": [port.described() for port in ports.inputs],
        "outputs": [port.described() for port in ports.outputs],
        "warpworld": __version__,
        "torch": str(torch.__version__),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"folder '{path.parent}' cannot be made: {reason(error)}") from error
    try:
        with replacing(path) as file:
            file.write(data)
        replace_text(path.with_name(f"{path.name}.json"), json.dumps(description, indent=1) + "\n")
    except OSError as error:
        raise ExportError(f"'{path}' cannot be written: {reason(error)}") from error
