"""Actors of groups in a world whose steps no algorithm records: for evaluations, replays and checks."""

from __future__ import annotations

from collections.abc import Mapping

from warpworld.config import LearnerConfig, RunConfig
from warpworld.policies import Policy
from warpworld.trainers.algorithms import get_algorithm
from warpworld.trainers.collecting import Actor, Player, player_of
from warpworld.world import World


def build_actors(world: World, config: RunConfig, policies: Mapping[str, Player], greedy: bool = False) -> list[Actor]:
    """Build one actor for each group of an unsealed world; they record nothing.

    Args:
        world: the world that they act in.
        config: knows which groups each policy plays.
        policies: by name, or who plays instead of one; None plays by its entry's script, or acts at random.
        greedy: take the likeliest actions instead of drawing; random ones stay random, and an entry's script draws.
    """
    actors = []
    for name, policy in policies.items():
        player = player_of(policy, config.policy[name], world.environment)
        likeliest = (greedy and player is policy) or acts_greedily(config, name)
        actors += [actor_of(world, group, player, likeliest) for group in config.policy[name].groups]
    return actors


def acts_greedily(config: RunConfig, name: str) -> bool:
    """Whether a policy's algorithm always takes the likeliest action outside of training."""
    entry = config.policy[name]
    return isinstance(entry, LearnerConfig) and get_algorithm(entry.algorithm).acts_greedily


def actor_of(world: World, group: str, player: Player, greedy: bool) -> Actor:
    """Build the actor of a group of an unsealed world; None plays at random."""
    if isinstance(player, Policy):
        player.to(world.device)
    return Actor(world, group, player, "act_greedily" if greedy and player is not None else "act")
