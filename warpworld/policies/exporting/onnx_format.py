"""ONNX: for ONNX Runtime, in C, C++, C#, Java, JavaScript and Python, and for whatever else reads it."""

from __future__ import annotations

import importlib

import numpy as np
import torch
from torch.export import ExportedProgram

from warpworld.errors import ExportError
from warpworld.policies.exporting.interface import Interface
from warpworld.policies.exporting.traced_graph import quiet

PACKAGES = ("onnx", "onnxscript", "onnxruntime")


def check_packages() -> None:
    """Refuse to begin where something is not installed.

    Raises:
        ExportError: it names the package.
    """
    for package in PACKAGES:
        try:
            importlib.import_module(package)
        except ImportError as error:
            raise ExportError(
                f"format 'onnx' needs {package}, which cannot be imported: pip install {' '.join(PACKAGES)}; "
                "format 'pt2' needs nothing but torch"
            ) from error


def write(program: ExportedProgram, interface: Interface) -> bytes:
    """The contents of the file."""
    inputs, outputs = ([port.name for port in ports] for ports in (interface.inputs, interface.outputs))
    with quiet():
        written = torch.onnx.export(
            program,
            input_names=inputs,
            output_names=outputs,
            dynamic_shapes=({name: {0: "batch"} for name in inputs},),
            dynamo=True,
            verbose=False,
        )
    assert written is not None
    for node in written.model.graph:
        node.metadata_props.clear()  # how the exporter came to each node
    return written.model_proto.SerializeToString()


class Runner:
    """Runs a file by ONNX Runtime, on one core."""

    def __init__(self, data: bytes) -> None:
        import onnxruntime

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self._names = [output.name for output in self._session.get_outputs()]

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs by name, from inputs by name."""
        return dict(zip(self._names, self._session.run(None, inputs), strict=True))
