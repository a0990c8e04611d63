"""Traces a policy as the graph that files are written from."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.export import Dim, ExportedProgram

from warpworld.errors import ExportError
from warpworld.policies import Policy, author_of
from warpworld.policies.exporting.interface import Interface
from warpworld.policies.exporting.portable import PortablePolicy

EXAMPLES = 3  # agents that the policy is traced with; of 0 and 1 torch would make graphs for these alone


def traced(policy: Policy, interface: Interface) -> ExportedProgram:
    """A policy's graph, from one dict of inputs to one of outputs, for batches of any size.

    Raises:
        ExportError: its model cannot be traced.
    """
    inputs = {
        port.name: torch.zeros((EXAMPLES, *port.shape), dtype=getattr(torch, port.dtype)) for port in interface.inputs
    }
    batch = Dim("batch")
    try:
        with quiet():
            program = torch.export.export(
                PortablePolicy(policy), (inputs,), dynamic_shapes=({name: {0: batch} for name in inputs},), strict=False
            )
    except Exception as error:  # a model's own code may raise anything
        raise cannot(policy, "be exported", error) from error
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)  # lines and paths of the sources on this machine
    return program


def cannot(policy: Policy, what: str, error: Exception) -> ExportError:
    """Error for a policy's model on which torch fails, with the first line of torch's message."""
    root: BaseException = error
    while root.__cause__ is not None:
        root = root.__cause__
    lines = str(root).strip().splitlines()
    reason = ": ".join([type(root).__name__, *lines[:1]])
    return ExportError(f"model {model_name(policy)} cannot {what}: {reason}")


def model_name(policy: Policy) -> str:
    """The class of a policy's model, and of its encoder where that is a module of its own, for messages."""
    encoder = getattr(policy.model, "encoder", None)
    behind = f" with encoder '{type(encoder).__name__}'" if isinstance(encoder, nn.Module) else ""
    return f"'{type(author_of(policy.model)).__name__}'{behind}"


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress what torch's exporters log and warn for their own developers."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
