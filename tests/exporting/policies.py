"""Policies of every kind, as exported, and what plays them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space

from warpworld.environment import Group
from warpworld.exporting import FORMATS
from warpworld.policies import Policy
from warpworld.trainers.algorithms import get_algorithm

INFINITE = np.inf
FLOATS = Box(-INFINITE, INFINITE, (4,))
PICTURE = Box(0, 255, (3, 20, 24), np.uint8)
PIXELS = Box(0.0, 1.0, (2, 40), np.float16)
MIXED = Dict(
    camera=PICTURE,
    flags=MultiBinary(4),
    imu=Box(-5.0, 5.0, (3,)),
    kinds=MultiDiscrete([2, 3], start=[-1, 4]),
    line=PIXELS,
    one=Discrete(4, start=2),
)
UNEVEN = Box(np.array([[-2.0, 0.0]], np.float32), np.array([[2.0, INFINITE]], np.float32))

Kind = tuple[Space, Space, dict[str, Any]]  # of what is seen and done, and the model
KINDS: dict[str, Kind] = {
    "mlp": (FLOATS, Discrete(3, start=5), {}),
    "relu, normaliser, mask": (FLOATS, MultiDiscrete([3, 2]), {"activation": "relu", "normalise_observations": True}),
    "gaussian": (FLOATS, UNEVEN, {}),
    "bytes": (PICTURE, MultiBinary(3), {"type": "multi_input"}),
    "pixels": (PIXELS, Discrete(2), {"type": "multi_input", "activation": "tanh"}),
    "choices": (MultiDiscrete([2, 3]), Discrete(2), {}),
    "lstm": (FLOATS, Discrete(3), {"recurrent": "lstm", "recurrent_size": 16}),
    "gru": (FLOATS, Box(-1.0, 1.0, (2,)), {"recurrent": "gru", "recurrent_size": 16, "normalise_observations": True}),
    "mixed": (
        MIXED,
        MultiDiscrete([3, 2]),
        {"type": "multi_input", "recurrent": "lstm", "recurrent_size": 16, "normalise_observations": True},
    ),
}
for value_kind, like in {"dqn": "mlp", "dqn of several heads, mask": "relu, normaliser, mask"}.items():
    KINDS[value_kind] = KINDS[like]
KINDS["dqn of stacks"] = (PICTURE, Discrete(3), {"type": "multi_input"})
SMALL = {"hidden_sizes": [8]}
MASKED = ("relu, normaliser, mask", "mixed", "dqn of several heads, mask")


def policy_of(kind: str) -> Policy:
    """With larger weights than a new one's, so that what is seen decides, and a normaliser that has seen something."""
    observation, action, model = KINDS[kind]
    group = Group("own", 1, observation, action)
    algorithm = get_algorithm("dqn" if kind.startswith("dqn") else "ppo")
    stack = {"frame_stack": 3} if "stacks" in kind else {}
    settings = algorithm.Settings(groups=("own",), model={"type": "mlp", **SMALL, **model}, **stack)
    policy = algorithm.build_policy(settings, group, torch.Generator().manual_seed(2), None)
    draws = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in policy.parameters():
            noise = torch.randn(weight.shape, generator=draws)
            weight.mul_(1.5).add_(noise * (0.1 * (weight.dim() == 1) + weight.abs().mean()))
    if policy.normaliser is not None:
        numbers = len(policy.normaliser.mean)
        policy.normaliser.update(0.5 + 0.5 * torch.randn(50, numbers, generator=draws))
    policy.needs_mask = kind in MASKED
    return policy


def opened(path: Path) -> Any:
    """What runs a file, without our own code for ONNX."""
    if path.suffix == ".pt2":
        return FORMATS["pt2"].open(path.read_bytes())
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(None, inputs), strict=True))


def seen(space: Space, count: int, seed: int) -> Any:
    """Observations of several agents, stacked; a dict for a Dict."""
    space.seed(seed)
    drawn = [space.sample() for _ in range(count)]
    if isinstance(space, Dict):
        return {key: np.stack([one[key] for one in drawn]) for key in space.spaces}
    return np.stack(drawn)


def inputs_of(observations: Any) -> dict[str, np.ndarray]:
    """The same as a file takes them."""
    if isinstance(observations, dict):
        return {f"observations_{key}": values for key, values in observations.items()}
    return {"observations": observations}
