"""``warpworld check RUN``: a check in which a run's policies act."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from torch import Tensor

from warpworld.checking import NUM_ENVS, Report, check_with
from warpworld.config import load_config
from warpworld.runs import Run, Which
from warpworld.trainers.group_actors import build_actors
from warpworld.trainers.loaded_policies import load_policies
from warpworld.world import World


def check_run(
    run: str | Path | Run,
    num_envs: int = NUM_ENVS,
    steps: int | None = None,
    seed: int = 0,
    *,
    overrides: Iterable[str] = (),
    greedy: bool = False,
    checkpoint: Which = None,
) -> Report:
    """Look for faults in the kernels of a run's environment while the run's policies act, on a CPU.

    Args:
        run: the run, or its folder.
        num_envs: envs to step, 2 to 1000.
        steps: how many, 1 to 100,000; None as of ``check``.
        seed: of the world and of the actions drawn.
        overrides: of the run's settings, such as "env.num_taggers=8".
        greedy: take the likeliest actions instead of drawing; random ones stay random.
        checkpoint: of which iteration; None takes the latest, "best" each policy's weights with the best evaluation.

    Raises:
        RunError: no such run, or no such checkpoint.
        WarpworldError: the environment cannot be built.
    """
    opened = run if isinstance(run, Run) else Run.open(run)
    opened.config = load_config(opened.config_path, [*overrides, "trainer.device=cpu"])
    policies, config = load_policies(opened, checkpoint), opened.config

    def make(world: World, seed: int) -> PolicyActions:
        return PolicyActions(world, [actor.act for actor in build_actors(world, config, policies, greedy)])

    environment = config.make_environment()
    return check_with(environment, num_envs, steps, seed, make, str(opened.path))


class PolicyActions:
    """The actions of a run's policies, for a world and for those that follow it.

    Args:
        world: unsealed; its observations are what the policies see.
        acts: put each group's next actions into the world's store.
    """

    def __init__(self, world: World, acts: Sequence[Callable[[], object]]) -> None:
        self._world, self._acts = world, acts
        self._chosen: dict[str, dict[str, Tensor]] = {}  # by group, and by the keys of an action's parts

    def draw(self) -> None:
        """Choose the actions of every env."""
        for act in self._acts:
            act()
        self._chosen = {
            group: {key: part.clone() for key, part in self._world.actions(group).items()}
            for group in self._world.groups
        }

    def put(self, world: World, envs: slice) -> None:
        """Put the actions of some envs into the store of a world that has these envs."""
        for group, parts in self._chosen.items():
            for key, stored in world.actions(group).items():
                stored.copy_(parts[key][envs])
