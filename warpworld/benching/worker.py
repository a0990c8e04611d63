"""A process that steps one world with random actions, for as long as each line of its input says.

It is run as a script, so that another commit's warpworld, which may lack this file, is measured by the same code. Its
arguments are a name, a number of envs, parameters as JSON, and a device. It answers a line of JSON at first, about the
world, and one for each line that it reads: seconds of a step. What an environment prints goes to standard error.
"""

import inspect
import json
import os
import sys
import time
from typing import Any

CALLS = 8  # steps between two looks at the clock
DRAWS = 16  # sets of random actions, used in turn


def main() -> None:
    """Build, warm up, and measure on request."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**values: Any) -> None:
        print(json.dumps(values), file=answers, flush=True)

    name, num_envs, params, device = sys.argv[1:]
    try:
        world = made(name, int(num_envs), json.loads(params), device)
        step = Stepping(world)
        step.seconds(0.05)
        answer(num_agents=world.num_agents, nbytes=world.data.nbytes, device=world.device.type, files=files_of(world))
        for line in sys.stdin:
            answer(seconds=step.seconds(float(line)))
    except Exception as error:
        known = type(error).__module__ == "warpworld.errors"
        answer(error=str(error) if known else f"{type(error).__name__}: {error}")


def files_of(world: Any) -> list[str]:
    """Where the environment and warpworld come from."""
    import warpworld

    return [os.path.realpath(inspect.getfile(type(world.environment))), os.path.realpath(warpworld.__file__)]


def made(name: str, num_envs: int, params: dict[str, Any], device: str) -> Any:
    """A world that has been reset."""
    from warpworld import World
    from warpworld.environment import get_environment

    world = World(get_environment(name)(**params), num_envs, device=device)
    world.reset()
    return world


class Stepping:
    """Steps a world with sets of random actions, which are put in place outside the clock."""

    def __init__(self, world: Any) -> None:
        import numpy as np

        self._world, self._done = world, 0
        generator = np.random.default_rng(0)
        self._sets = [_drawn(world, generator) for _ in range(DRAWS)]

    def seconds(self, wanted: float) -> float:
        """Seconds of a step, over at least ``wanted``."""
        elapsed, steps = 0.0, 0
        while elapsed < wanted:
            for array, values in self._sets[self._done % DRAWS].items():
                self._world[array].copy_(values)
            self._done += 1
            self._wait()
            start = time.perf_counter()
            for _ in range(CALLS):
                self._world.step()
            self._wait()
            elapsed += time.perf_counter() - start
            steps += CALLS
        return elapsed / steps

    def _wait(self) -> None:
        """Until the device has done all; on cpu it has."""
        if self._world.device.type != "cpu":
            self._world["clock"][0].item()


def _drawn(world: Any, generator: Any) -> dict[str, Any]:
    """Uniform actions for every action array; where a Box has no bounds, between -1 and 1."""
    import numpy as np
    import torch

    from warpworld.environment.spaces import action_heads

    drawn: dict[str, Any] = {}
    for group in world.groups.values():
        name, first = world.action_array(group.name)
        values = drawn.setdefault(name, torch.zeros_like(world[name]))[:, first : first + group.size]
        heads = action_heads(group.action)
        if heads:
            uniform = generator.integers(0, heads, values.shape)
        else:
            low, high = group.action.low.ravel(), group.action.high.ravel()
            bounded = np.isfinite(low) & np.isfinite(high)
            uniform = generator.uniform(np.where(bounded, low, -1.0), np.where(bounded, high, 1.0), values.shape)
        values.copy_(torch.from_numpy(uniform))
    return drawn


if __name__ == "__main__":
    main()
