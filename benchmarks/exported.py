"""What a call of a policy costs in torch, and of the files that it is exported to, on one core."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete

import warpworld
from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.policies import Policy, build_policy
from warpworld.policies.exporting import FORMATS

from .adapters import Call, System, measured
from .rows import AdapterRow

NAME = "export"
BATCHES = (1, 80, 1024)
VECTOR, PICTURE = Box(-1.0, 1.0, (4,)), Box(0, 255, (1, 84, 84), np.uint8)
POLICIES = {
    "mlp, 2 x 64": (VECTOR, ModelConfig(type="mlp")),
    "mlp, lstm of 128": (VECTOR, ModelConfig(type="mlp", recurrent="lstm")),
    "multi_input, 84 x 84 bytes": (PICTURE, ModelConfig(type="multi_input")),
}
FILES = {"ONNX Runtime": ("onnx", "onnxruntime"), "torch, pt2": ("pt2", "torch")}


def acting(policy: Policy, seen: np.ndarray) -> Call:
    """The policy itself, as ``load_policy`` gives it."""
    state = {"state": np.zeros((len(seen), policy.state_size), np.float32)} if policy.state_size else {}
    return lambda: policy.act(seen, greedy=True, **state)


def network(policy: Policy, seen: np.ndarray) -> Call:
    """The policy's network alone, from a tensor to outputs."""
    assert policy.spaces is not None
    observed = policy.spaces.observed(seen, torch.device("cpu"))
    state = torch.zeros(len(seen), policy.state_size) if policy.state_size else None
    return torch.no_grad()(lambda: policy.outputs_and_state(observed, state))


def in_a_file(policy: Policy, seen: np.ndarray, name: str) -> Call:
    """A file of the policy, in what runs it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"policy.{name}"
        warpworld.export_policy(policy, path)
        run = FORMATS[name].open(path.read_bytes())
    inputs = {"observations": seen}
    if policy.state_size:
        inputs["state"] = np.zeros((len(seen), policy.state_size), np.float32)
    return lambda: run(inputs)


def systems(space: Box, model: ModelConfig) -> list[System]:
    """A policy with these, and its files."""
    policy = build_policy(model, Group("own", 1, space, Discrete(2)), torch.Generator().manual_seed(0))

    def seen(batch: int) -> np.ndarray:
        return np.stack([space.sample() for _ in range(batch)])

    found = [
        System("torch, policy.act", lambda batch: acting(policy, seen(batch))),
        System("torch, network alone", lambda batch: network(policy, seen(batch))),
    ]
    for system, (name, package) in FILES.items():
        found.append(System(system, lambda batch, name=name: in_a_file(policy, seen(batch), name), package))  # type: ignore[misc]
    return found


def rows(seconds: float) -> Iterator[AdapterRow]:
    """Every policy in every batch."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for name, (space, model) in POLICIES.items():
        found = [system for system in systems(space, model) if importlib.util.find_spec(system.package) is not None]
        for batch in BATCHES:
            for system in found:
                yield measured(name, system, batch, seconds)
    torch.set_num_threads(threads)
