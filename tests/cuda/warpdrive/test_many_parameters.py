"""A kernel of 130 parameters in WarpDrive's spellings binds without a list, and its arrays are those of its names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, make_dataclass
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from tests.cuda.warpdrive.warpdrive_worlds import WarpDriveEnvironment, state
from warpworld import Array, Group, Kernel, World
from warpworld.errors import BindError

NUMBERS = 61
NAMES = [f"stock_{i}" for i in range(NUMBERS)]
PARAMETERS = [
    *(f"{'int' if i % 3 == 0 else 'float'}* {name}_arr" for i, name in enumerate(NAMES)),
    *(f"{'int' if i % 3 == 0 else 'float'} kRate{i}" for i in range(NUMBERS)),
    *("float* obs_arr", "int* sampled_actions", "float* rewards_arr", "int* _done_", "int* _timestep_"),
    *("bool* agent_mask_arr", "int n_agents", "int kEpisodeLength"),
]
BODY = """
  const int env = getEnvID(blockIdx.x), here = env * n_agents + getAgentID(threadIdx.x, blockIdx.x, blockDim.x);
  if (threadIdx.x == 0) _timestep_[env] += 1;
  __sync_env_threads();
  obs_arr[here] = 0.5f;
  rewards_arr[here] = sampled_actions[here];
  agent_mask_arr[here] = threadIdx.x != 1;
  if (threadIdx.x == 0 && _timestep_[env] == kEpisodeLength) _done_[env] = 1;
"""
ADDED = "".join(f"  stock_{i}_arr[here] += kRate{i};\n" for i in range(NUMBERS))
PLACES = "".join(f"  {parameter},\n" for parameter in PARAMETERS).rstrip(",\n")

Params = make_dataclass(
    "Params",
    [
        ("episode_length", int, field(default=3)),
        *(
            (f"rate_{i}", int if i % 3 == 0 else float, field(default=i if i % 3 == 0 else i / 4))
            for i in range(NUMBERS)
        ),
    ],
    frozen=True,
)


class Stocks(WarpDriveEnvironment):
    """Each rate is added to its stock."""

    Params = Params
    source = "stocks.cu"

    def groups(self) -> list[Group]:
        return [Group("trader", 3, Box(0.0, 1.0, (1,)), Discrete(2))]

    def arrays(self) -> list[Array]:
        kinds = ("int32", "float32", "float32")
        return [*(state(name, kinds[i % 3], 0) for i, name in enumerate(NAMES)), *self.ends()]

    def phases(self) -> Sequence[str | Kernel]:
        return ["CudaStocksStep", "warpdrive_end_episodes"]

    def resets(self) -> list[Kernel]:
        return []


@pytest.fixture
def stocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[Stocks]:
    """The environment, with its kernel file in a folder of its own."""
    assert len(PARAMETERS) == 130
    path = tmp_path / "stocks.cu"
    path.write_text(f'extern "C" __global__ void CudaStocksStep(\n{PLACES}) {{{BODY}{ADDED}}}\n')
    monkeypatch.setattr(Stocks, "source", str(path))
    return Stocks


def test_each_parameter_is_the_array_of_its_name(stocks: type[Stocks]) -> None:
    world = World(stocks(), 2)
    world.reset()
    world["actions"][:] = 1
    for _ in range(2):
        world.step()
    rates = [i if i % 3 == 0 else i / 4 for i in range(NUMBERS)]
    for name, rate in zip(NAMES, rates, strict=True):
        assert (world[name].cpu().numpy() == np.float32(2 * rate)).all(), name
    assert world["env_timestep"].tolist() == [2, 2] and (world["rewards"] == 1).all()
    assert (world["observations"] == 0.5).all()
    assert world["agent_mask"].tolist() == [[True, False, True]] * 2  # an array on request
    world.step()
    assert world["truncated"].all() and world["env_timestep"].tolist() == [0, 0]


def test_those_that_are_not_declared_are_named_at_once(stocks: type[Stocks], tmp_path: Path) -> None:
    class Few(stocks):  # type: ignore[misc, valid-type]
        def arrays(self) -> list[Array]:
            return [array for array in super().arrays() if array.name not in ("stock_7", "stock_60", "done")]

    with pytest.raises(BindError) as caught:
        World(Few(), 2, device="cpu")
    first, *lines, last = str(caught.value).splitlines()
    assert first == f"{tmp_path}/stocks.cu:1: kernel 'CudaStocksStep': 3 of its 130 parameters cannot be bound:"
    assert [line.partition(": ")[0] for line in lines] == [f"  {tmp_path}/stocks.cu:{2 + i}" for i in (7, 60, 125)]
    assert last.endswith(
        'Kernel("CudaStocksStep", arguments={"stock_7_arr": "stock_17", "stock_60_arr": "stock_0", "_done_": ...})'
    )
