"""Policies of every kind, as exported, and what plays them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from warpworld import EntityBox, EntityList
from warpworld.environment import Group
from warpworld.policies import Policy
from warpworld.policies.exporting import FORMATS
from warpworld.trainers.algorithms import get_algorithm

INFINITE = np.inf
FLOATS = Box(-INFINITE, INFINITE, (4,))
PICTURE = Box(0, 255, (3, 20, 24), np.uint8)
PIXELS = Box(0.0, 1.0, (2, 40), np.float16)
ENTITIES = EntityBox(-4.0, 4.0, 19, [EntityList("agents", 2, 3, 4, mask=1), EntityList("doors", 15, 2, 2, mask=None)])
MIXED = Dict(
    camera=PICTURE,
    flags=MultiBinary(4),
    imu=Box(-5.0, 5.0, (3,)),
    kinds=MultiDiscrete([2, 3], start=[-1, 4]),
    line=PIXELS,
    one=Discrete(4, start=2),
)
BOUNDED = Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 9.0], np.float32))
HYBRID = Dict({"go": Discrete(3, start=2), "arm": Tuple([BOUNDED, MultiBinary(2)])})
UNEVEN = Box(np.array([[-2.0, 0.0]], np.float32), np.array([[2.0, INFINITE]], np.float32))


@dataclass(frozen=True)
class Kind:
    """What is seen, what is done, and how that is learnt.

    Attributes:
        observation, action: the spaces.
        model: its settings.
        masked: whether actions are.
        algorithm: by name.
        settings: its own.
    """

    observation: Space
    action: Space
    model: Mapping[str, Any] = field(default_factory=dict)
    masked: bool = False
    algorithm: str = "ppo"
    settings: Mapping[str, Any] = field(default_factory=dict)


CHOICES = MultiDiscrete([3, 2])
PIXELS_MODEL = {"type": "multi_input"}
NORMALISED = {"normalise_observations": True}
LSTM, GRU = ({"recurrent": cell, "recurrent_size": 16} for cell in ("lstm", "gru"))
KINDS = {
    "mlp": Kind(FLOATS, Discrete(3, start=5)),
    "relu, normaliser, mask": Kind(FLOATS, CHOICES, {"activation": "relu", **NORMALISED}, masked=True),
    "gaussian": Kind(FLOATS, UNEVEN),
    "bytes": Kind(PICTURE, MultiBinary(3), PIXELS_MODEL),
    "pixels": Kind(PIXELS, Discrete(2), {"activation": "tanh", **PIXELS_MODEL}),
    "impala": Kind(PICTURE, Discrete(3), {"type": "impala", "channels": [4, 6], "branch_size": 16}),
    "impala, lstm": Kind(MIXED, Discrete(3), {"type": "impala", "channels": [4], **LSTM}),
    "entities": Kind(ENTITIES, CHOICES, {"type": "entities", "entity_size": 8}, masked=True),
    "choices": Kind(MultiDiscrete([2, 3]), Discrete(2)),
    "lstm": Kind(FLOATS, Discrete(3), LSTM),
    "gru": Kind(FLOATS, Box(-1.0, 1.0, (2,)), {**GRU, **NORMALISED}),
    "two lstms": Kind(FLOATS, Discrete(3), {**LSTM, "recurrent_layers": 2}),
    "mingru": Kind(FLOATS, Discrete(3), {**LSTM, "recurrent": "mingru", "recurrent_layers": 2}),
    "transformer": Kind(
        FLOATS, Discrete(3), {**LSTM, "recurrent": "transformer", "recurrent_layers": 2, "recurrent_window": 3}
    ),
    "state of one's own": Kind(FLOATS, Discrete(3), {"type": "tests.policies.stateful_models:Recent"}),
    "mixed": Kind(MIXED, CHOICES, {**PIXELS_MODEL, **LSTM, **NORMALISED}, masked=True),
    "dqn, mask": Kind(FLOATS, CHOICES, NORMALISED, masked=True, algorithm="dqn"),
    "dqn, stack": Kind(PICTURE, Discrete(3), PIXELS_MODEL, algorithm="dqn", settings={"frame_stack": 3}),
    "qmix, mask": Kind(FLOATS, CHOICES, NORMALISED, masked=True, algorithm="qmix"),
    "qmix, gru, mask": Kind(FLOATS, CHOICES, GRU, masked=True, algorithm="qmix"),
    "mappo, mask": Kind(FLOATS, CHOICES, NORMALISED, masked=True, algorithm="mappo"),
    "mappo, lstm": Kind(FLOATS, Discrete(3), LSTM, algorithm="mappo"),
    "hybrid, mask": Kind(FLOATS, HYBRID, NORMALISED, masked=True),
    "hybrid, gru": Kind(FLOATS, HYBRID, GRU),
    "sac": Kind(FLOATS, BOUNDED, algorithm="sac"),
    "ddpg": Kind(FLOATS, BOUNDED, NORMALISED, algorithm="ddpg"),
}


def policy_of(kind: str) -> Policy:
    """With larger weights than a new one's, so that what is seen decides, and a normaliser that has seen something."""
    known = KINDS[kind]
    algorithm = get_algorithm(known.algorithm)
    of_mlp = {} if ":" in known.model.get("type", "") else {"hidden_sizes": [8]}  # a model of one's own has none
    model = {"type": "mlp", **of_mlp, **known.model}
    settings = algorithm.Settings(groups=("own",), model=model, **known.settings)
    group = Group("own", 1, known.observation, known.action)
    policy = algorithm.build_policy(settings, group, torch.Generator().manual_seed(2), None)
    draws = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in policy.parameters():
            noise = torch.randn(weight.shape, generator=draws)
            weight.mul_(1.5).add_(noise * (0.1 * (weight.dim() == 1) + weight.abs().mean()))
    if policy.normaliser is not None:
        numbers = len(policy.normaliser.mean)
        policy.normaliser.update(0.5 + 0.5 * torch.randn(50, numbers, generator=draws))
    policy.needs_mask = known.masked
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
