"""Base of environments in floor plans: agents that walk through homes and look around with a camera.

Source: megastep (Andy L. Jones, 2020), with its names and defaults where the thing is the same. Unlike there,
contacts are exact and let agents slide along walls, walls are visible at any distance, and envs share plans by
index.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from gymnasium.spaces import Box, Dict

from warpworld.drawing import Drawing
from warpworld.environment import Array, Environment, Kernel, Range, names_file
from warpworld.errors import DeclarationError, PlanError, suggest
from warpworld.eyes.drawing import draw_sight
from warpworld.eyes.plans import PlanSet, box, column, homes, load_any, plan_files
from warpworld.files import reason

PixelDtype = Literal["float32", "float16"]
RAY_THREADS = 64  # of an env, which share the rays of its cameras where threads run in parallel
MAX_RES = 4096
TOYS = {"box": box, "column": column}
FACETS = 8  # of an agent's body
SHARED_BYTES = 48 * 1024  # that the threads of a block may share
OTHER_SHARED_BYTES = 1024  # of them, plus the number below for each agent, are left for other uses
OTHER_SHARED_BYTES_PER_AGENT = 32


@dataclass(frozen=True)
class IndoorParams:
    """Parameters of every environment in floor plans; those below the line follow from the others."""

    res: Annotated[int, Range(1, MAX_RES)] = 64  # rays of a camera
    fov: Annotated[float, Range(above=0, below=180)] = 130.0  # degrees, below 180
    subsample: Annotated[int, Range(1, MAX_RES)] = 1  # neighbouring rays whose mean is a pixel
    fps: Annotated[float, Range(above=0)] = 10.0  # steps a second
    accel: Annotated[float, Range(above=0)] = 5.0  # metres / s^2, of a push
    ang_accel: Annotated[float, Range(above=0)] = 180.0  # degrees / s^2, of a turn
    decay: Annotated[float, Range(0, 1)] = 0.125  # share of the speed that is lost in a step
    plans: str = "homes"  # homes drawn from a seed, the toys box and column, or a file or folder of plans
    num_plans: Annotated[int, Range(1, 2**20)] = 64  # number of homes, or most plans of a folder; envs share them
    min_rooms: int = 6  # fewest rooms of a home
    max_rooms: int = 20  # most rooms of a home
    plan_seed: int = 0  # seed of the homes and of the stripes on walls
    dtype: PixelDtype = "float32"  # of what cameras show; float16 takes half the memory
    # ----
    pixels: int = field(init=False, default=0)  # of an observation
    tan_half_fov: float = field(init=False, default=0.0)
    most_walls: int = field(init=False, default=0)  # of any plan, rounded up, so that few values need a build

    _plan_set: ClassVar[PlanSet]  # of the instance, but no parameter

    def __post_init__(self) -> None:
        if self.res % self.subsample:
            raise DeclarationError(f"res={self.res}: expected a multiple of subsample={self.subsample}")
        self._follow("pixels", self.res // self.subsample)
        self._follow("tan_half_fov", math.tan(math.radians(self.fov) / 2.0))
        self._follow("_plan_set", self._chosen_plans())
        self._follow("num_plans", self.plan_set.num_plans)
        self._follow("most_walls", -(-self.plan_set.most_walls // 32) * 32)

    @property
    def plan_set(self) -> PlanSet:
        """The plans of all envs, packed for kernels; files are read once, when the parameters are made."""
        return self._plan_set

    def _chosen_plans(self) -> PlanSet:
        if self.plans == "homes":
            return _home_set(self.num_plans, self.min_rooms, self.max_rooms, self.plan_seed)
        if self.plans in TOYS:
            return _toy_set(self.plans, self.plan_seed)
        if names_file(self.plans):
            return self._own_set()
        here = f" To use the folder of that name, write './{self.plans}'." if Path(self.plans).is_dir() else ""
        raise DeclarationError(
            f"plans={self.plans!r}: expected homes, {', '.join(TOYS)}, or a file or folder of plans, such as "
            f"./{self.plans}.json.{here or suggest(self.plans, ['homes', *TOYS])}"
        )

    def _own_set(self) -> PlanSet:
        try:
            files = plan_files(self.plans)[: self.num_plans]
            written = tuple((file, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
            return _file_set(written, self.plan_seed)
        except PlanError as error:
            raise DeclarationError(f"plans={self.plans!r}: {error}") from error
        except OSError as error:
            raise DeclarationError(f"plans={self.plans!r}: cannot be read: {reason(error)}") from error

    def _follow(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


@functools.lru_cache(maxsize=4)
def _home_set(count: int, min_rooms: int, max_rooms: int, seed: int) -> PlanSet:
    return PlanSet(homes(seed, count, (min_rooms, max_rooms)), seed=seed)


@functools.lru_cache(maxsize=4)
def _toy_set(name: str, seed: int) -> PlanSet:
    return PlanSet([TOYS[name]()], seed=seed)


@functools.lru_cache(maxsize=4)
def _file_set(files: tuple[tuple[Path, int, int], ...], seed: int) -> PlanSet:
    """Files with the time and the size of what was written last: a file that has changed is another one."""
    return PlanSet([load_any(file) for file, _, _ in files], seed=seed)


def eye_bytes(res: int, most_walls: int, agents: int) -> int:
    """Bytes that the threads of an env share while a camera looks: ``raycast::Eye``."""
    return 28 * (FACETS * agents + most_walls) + 4 + 8 * (res + res // 32)


class Indoor(Environment):
    """An environment in floor plans; its kernels include ``indoor.cuh``, and write what cameras show as ``Pixel``."""

    compile_time: ClassVar[tuple[str, ...]] = ("res", "subsample", "pixels", "most_walls")
    file_params: ClassVar[tuple[str, ...]] = ("plans",)

    @dataclass(frozen=True)
    class Params(IndoorParams):
        """Parameters of all environments in floor plans."""

    @property
    def includes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The header that says what a ``Pixel`` is."""
        return (f"pixels/{self.params.dtype}.cuh",)

    def senses(self) -> dict[str, Box]:
        """Spaces of every agent's observations: its camera's linear colours and nearness, and its own motion."""
        return {"rgb": self.shown(3), "depth": self.shown(1), "imu": Box(-np.inf, np.inf, (3,))}

    def shown(self, rows: int) -> Box:
        """The space of what a camera shows: (rows, pixels) of ``dtype``, 0 to 1."""
        return Box(0.0, 1.0, (rows, self.params.pixels), np.dtype(self.params.dtype).type)

    def observation(self, **more: Box) -> Dict:
        """The space of ``senses`` and of what an environment adds to them."""
        return Dict({**self.senses(), **more})

    def arrays(self) -> Sequence[Array]:
        """The plans, the plan of each env, and where agents are and how they move."""
        self._check_size()
        return [
            *self.params.plan_set.arrays(),
            Array("plan", "int32", per="env", bounds=(0, self.params.num_plans - 1), doc="which plan the env has"),
            Array("positions", "float32", (2,), doc="metres"),
            Array("velocity", "float32", (2,), doc="metres a second, in the world's frame"),
            Array("angles", "float32", bounds=(-180.0, 180.0), doc="degrees, counter-clockwise from +x"),
            Array("angvelocity", "float32", doc="degrees a second"),
            Array("moved", "float32", (2,), doc="metres a second over the last step, contacts included"),
        ]

    def draw_sight(self, arrays: Mapping[str, np.ndarray], agent: int) -> Drawing | None:
        """Strips of the agent's camera: colours, and below them nearness and other agents."""
        return draw_sight(arrays, agent)

    def _check_size(self) -> None:
        """Refuse what a GPU has no memory for, on every device."""
        agents = sum(group.size for group in self.groups())
        asked = eye_bytes(self.params.res, self.params.most_walls, agents)
        most = SHARED_BYTES - OTHER_SHARED_BYTES - OTHER_SHARED_BYTES_PER_AGENT * agents
        if asked > most:
            largest = max(self.params.plan_set.plans, key=lambda plan: len(plan.walls))
            raise DeclarationError(
                f"{self.name}: {agents} agent{'s' * (agents != 1)}, res={self.params.res} and the {len(largest.walls)} "
                f"walls of plan '{largest.name}' take {asked:,} bytes of the {most:,} that the threads of an env share "
                "for a camera; use fewer rays, fewer agents, or plans with fewer walls"
            )


def camera_kernel(name: str) -> Kernel:
    """A kernel in which the threads of an env share the rays."""
    return Kernel(name, threads_per_env=(1, RAY_THREADS))
