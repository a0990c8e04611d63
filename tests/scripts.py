"""Outputs of scripts that are kernels, in the present state of a world in which nobody acts."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from torch import Tensor

from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.players import Scripted
from warpworld.world import World

_WITH_ACTORS: WeakKeyDictionary[World, dict[tuple[str, str], tuple[World, Actor]]] = WeakKeyDictionary()


def script_outputs(world: World, script: str, group: str) -> Tensor:
    """What a script of the environment says for a group: (num_envs, group size, outputs) float32."""
    made = _WITH_ACTORS.setdefault(world, {})
    if (script, group) not in made:
        made[script, group] = _with_actor(world, script, group)
    other, actor = made[script, group]
    for name in other.data.names("state"):
        other[name].copy_(world[name])
    actor.act()
    return actor.sampler.outputs.clone()


def _with_actor(world: World, script: str, group: str) -> tuple[World, Actor]:
    """A world like another, in which a script plays a group."""
    other = World(world.environment, world.num_envs, world.device.type)
    actor = Actor(other, group, Scripted(script, world.environment.scripts()[script]))
    other.reset()
    return other, actor
