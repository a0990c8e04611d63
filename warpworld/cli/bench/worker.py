"""A process that steps one world with random actions, or trains, for as long as each line of its input says.

It is run as a script, so that another commit's warpworld, which may lack this file, is measured by the same code. Its
arguments are the file that times iterations, what it does, a name, and as JSON a number of envs, parameters or
settings, and a device. It answers a line of JSON at first, about the world, and one for each line that it reads:
seconds of a step or of an iteration. What an environment prints goes to standard error.

Older commits' folders hand on fewer names. So names are imported from the modules in which both older commits and this
one have them, and from a folder only where older commits have them there, too.
"""

import inspect
import json
import os
import runpy
import statistics
import sys
import time
from importlib import import_module
from typing import Any

CALLS = 8  # steps between two looks at the clock
DRAWS = 16  # sets of random actions, used in turn
WARM_UP = 2  # iterations that do not count


def main() -> None:
    """Build, warm up, and measure on request."""
    # answers alone on stdout; what other code prints is on stderr
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**values: Any) -> None:
        print(json.dumps(values), file=answers, flush=True)

    # the work, and facts about it
    _, what, name, *given = sys.argv[1:]
    try:
        kind: type[Stepping | Training] = Training if what == "train" else Stepping
        work = kind(name, *map(json.loads, given))
        world = work.world
        about = {"num_agents": world.num_agents, "nbytes": world.data.nbytes, "device": world.device.type}
        answer(**about, env_steps=work.env_steps, files=files_of(world, name))
        # a measurement for each line that is read
        for line in sys.stdin:
            answer(**work.measured(float(line)))
    except Exception as error:
        known = type(error).__module__ == "warpworld.errors"
        answer(error=str(error) if known else f"{type(error).__name__}: {error}")


def files_of(world: Any, name: str) -> list[str]:
    """Files of the environment, warpworld and the config."""
    import warpworld

    files = [inspect.getfile(type(world.environment)), warpworld.__file__, *([name] if os.path.isfile(name) else [])]
    return [os.path.realpath(file) for file in files]


class Stepping:
    """Steps a world with sets of random actions, which are put in place outside the clock."""

    def __init__(self, name: str, num_envs: int, params: dict[str, Any], device: str) -> None:
        import numpy as np

        from warpworld import World
        from warpworld.environment import get_environment

        self.world = World(get_environment(name)(**params), num_envs, device=device)
        self.world.reset()
        self.env_steps, self._done = num_envs, 0
        generator = np.random.default_rng(0)
        self._sets = [_drawn(self.world, generator) for _ in range(DRAWS)]
        self.measured(0.05)

    def measured(self, wanted: float) -> dict[str, float]:
        """Seconds of a step, over at least ``wanted``."""
        elapsed, steps = 0.0, 0
        while elapsed < wanted:
            for array, values in self._sets[self._done % DRAWS].items():
                self.world[array].copy_(values)
            self._done += 1
            self._wait()
            start = time.perf_counter()
            for _ in range(CALLS):
                self.world.step()
            self._wait()
            elapsed += time.perf_counter() - start
            steps += CALLS
        return {"seconds": elapsed / steps}

    def _wait(self) -> None:
        """Until the device has done all; on cpu it has."""
        if self.world.device.type != "cpu":
            self.world["clock"][0].item()


class Training:
    """Trains a config by iterations, which are a rollout and an update each; nothing is written."""

    def __init__(self, name: str, num_envs: int | None, settings: dict[str, Any], device: str | None) -> None:
        from warpworld import Trainer

        options = {"trainer.num_envs": num_envs, "trainer.device": device}
        given = {**settings, **{key: value for key, value in options.items() if value is not None}}
        config = _load_endless()(name, [f"{key}={value}" for key, value in given.items()])
        self._trainer = Trainer(config)
        import_module("warpworld.trainers.cpu_tuning").tune_for_cpu(self._trainer.world.device)
        self.world, self.env_steps = self._trainer.world, config.trainer.num_envs * config.trainer.num_steps
        self._timed_iterations = runpy.run_path(sys.argv[1])["timed_iterations"]
        self._timed_iterations(self._trainer, 0.0, WARM_UP)

    def measured(self, wanted: float) -> dict[str, float]:
        """Mean seconds of an iteration, and of its rollout, over at least ``wanted``."""
        times = self._timed_iterations(self._trainer, wanted)
        return {"seconds": statistics.mean(times.totals), "rollout": statistics.mean(times.rollouts)}


def _load_endless() -> Any:
    """The function that reads a config for a run without an end, which has moved."""
    try:
        from warpworld.config import load_endless
    except ImportError:
        return import_module("warpworld.config.endless").load_endless
    return load_endless


def _drawn(world: Any, generator: Any) -> dict[str, Any]:
    """Uniform actions for every action array; where a Box has no bounds, between -1 and 1."""
    import numpy as np
    import torch

    drawn: dict[str, Any] = {}
    for group in world.groups.values():
        first = world.action_array(group.name)[1]
        for name, heads, space in _parts_of_actions(world, group):
            values = drawn.setdefault(name, torch.zeros_like(world[name]))[:, first : first + group.size]
            if heads:
                uniform = generator.integers(0, heads, values.shape)
            else:
                low, high = space.low.ravel(), space.high.ravel()
                bounded = np.isfinite(low) & np.isfinite(high)
                uniform = generator.uniform(np.where(bounded, low, -1.0), np.where(bounded, high, 1.0), values.shape)
            values.copy_(torch.from_numpy(uniform))
    return drawn


def _parts_of_actions(world: Any, group: Any) -> list[tuple[str, Any, Any]]:
    """Array, numbers of choices and space of each part of a group's actions; in an older checkout there is one part."""
    try:
        from warpworld.environment import action_parts
    except ImportError:
        action_heads = import_module("warpworld.environment.spaces").action_heads
        return [(world.action_array(group.name)[0], action_heads(group.action), group.action)]
    names = world.action_names(group.name)
    return [(names[part.key], part.heads, part.space) for part in action_parts(group.action)]


if __name__ == "__main__":
    main()
