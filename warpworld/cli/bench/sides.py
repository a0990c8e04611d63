"""Sides of a comparison: environments or trainings, each in a process of its own, that are measured in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpworld.cli.bench.checkout import Checkout
from warpworld.errors import RunError
from warpworld.trainers import timing

WORKER = Path(__file__).with_name("worker.py")
TIMING = Path(timing.__file__)  # of this commit, for all


@dataclass(frozen=True)
class Side:
    """Side of a comparison: the environment or config to measure, and its checkout.

    Attributes:
        label: in the table.
        name: of the environment; of the config where it is trained.
        params: of the environment, those that differ from their defaults; of a config, overrides by dotted key.
        checkout: from which it is imported; None for what is here.
        is_trained: whether iterations of training are measured, and not steps with random actions.
    """

    label: str
    name: str
    params: Mapping[str, Any]
    checkout: Checkout | None = None
    is_trained: bool = False


@dataclass
class Measured:
    """Measurements of a side.

    Attributes:
        side: which.
        num_agents: in an env.
        nbytes: of the store.
        device: cpu or cuda.
        env_steps: that are timed together: a step of all envs, or an iteration.
        seconds: that they took, in each round.
        rollouts: seconds of an iteration's rollout, in each round; empty where nothing is trained.
    """

    side: Side
    num_agents: int
    nbytes: int
    device: str
    env_steps: int
    seconds: list[float] = field(default_factory=list)
    rollouts: list[float] = field(default_factory=list)


def measured(
    sides: Sequence[Side], num_envs: int | None, seconds: float, rounds: int, device: str | None
) -> list[Measured]:
    """Measure all sides in turn: one after the other in each round.

    Args:
        sides: at least one.
        num_envs: of each world; None leaves it to the config of what is trained.
        seconds: of each measurement.
        rounds: how many of each side.
        device: auto, cpu or cuda; None leaves it to the config of what is trained.

    Raises:
        RunError: an environment cannot be built or stepped.
    """
    with ExitStack() as stack:
        workers = [stack.enter_context(_Worker(side, num_envs, device)) for side in sides]
        found = [worker.about() for worker in workers]
        for _ in range(rounds):
            for worker, row in zip(workers, found, strict=True):
                worker.measure(seconds, row)
    return found


class _Worker:
    """A process that steps or trains one side."""

    def __init__(self, side: Side, num_envs: int | None, device: str | None) -> None:
        self._side = side
        # arguments of the worker
        what = "train" if side.is_trained else "step"
        words = [str(TIMING), what, side.name, json.dumps(num_envs), json.dumps(dict(side.params)), json.dumps(device)]
        # folder and modules of the side's own commit
        here = Path.cwd() if side.checkout is None else side.checkout.folder
        before = os.environ.get("PYTHONPATH")
        paths = [*_import_paths(here), *([before] if before else [])]
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"exec(compile(open({str(WORKER)!r}).read(), {str(WORKER)!r}, 'exec'))", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=here,
            start_new_session=True,  # Ctrl-C is for the command, which ends this process
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_WAIT_POLICY": "passive"},
        )

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def about(self) -> Measured:
        """Return the worker's description of its world, once it is ready.

        Raises:
            RunError: it has no such world, or of another commit neither its code nor warpworld's.
        """
        answer = self._answer()
        files, checkout = answer.pop("files"), self._side.checkout
        if checkout is not None and not any(Path(file).is_relative_to(checkout.top) for file in files):
            raise RunError(
                f"{self._side.label}: its code is {files[0]} in every commit, expected a file or module of the present "
                "repository, named relative to the present folder"
            )
        return Measured(self._side, **answer)

    def measure(self, seconds: float, row: Measured) -> None:
        """Add a round to the row."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{seconds}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, which its missing answer says
        answer = self._answer()
        row.seconds.append(float(answer["seconds"]))
        if "rollout" in answer:
            row.rollouts.append(float(answer["rollout"]))

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RunError(f"{self._side.label}: its process ended with status {self._process.wait()}; see above")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RunError(f"{self._side.label}: {answer['error']}")
        return answer


def _import_paths(folder: Path) -> Iterator[str]:
    """Folders of a worker's import path: the user's modules, and a checkout's own warpworld first."""
    yield str(folder)
    for parent in folder.parents:
        if (parent / "warpworld" / "__init__.py").exists() and (parent / ".git").exists():
            yield str(parent)
