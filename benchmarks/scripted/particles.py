"""Rules for particles: walk to a place, and brake before it."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor

from warpworld.environment import Group

from .logits import surely

PUSHES = 5  # none, left, right, down, up
WORDS = 10  # of reference, in each of which an agent may push
COASTING = 0.3  # units of time in which a particle that is not pushed comes to rest, about
NEAR = 0.03  # closer than this it rests


def towards(position: Tensor, velocity: Tensor, place: Tensor) -> Tensor:
    """Pushes (...) of particles (..., 2) along the axis on which they would come to rest further from their place."""
    off = place - position - COASTING * velocity
    along_y = off[..., 1].abs() > off[..., 0].abs()
    forward = torch.where(along_y, off[..., 1], off[..., 0])
    push = 1 + 2 * along_y.long() + (forward > 0).long()
    return torch.where(forward.abs() < NEAR, 0, push)


def share_out(arrays: Any, group: Group) -> Tensor:
    """Spread: of all ways to share out the landmarks, the one with the shortest way in sum."""
    position, landmark = arrays["position"], arrays["landmark"]
    distance = torch.cdist(position, landmark)
    ways = torch.tensor(list(itertools.permutations(range(group.size))), device=position.device)
    agents = torch.arange(group.size, device=position.device)
    best = ways[distance[:, agents, ways].sum(-1).argmin(-1)]
    place = landmark.gather(1, best[..., None].expand(-1, -1, 2))
    return surely(towards(position, arrays["velocity"], place), PUSHES)


def to_the_goal(arrays: Any, group: Group) -> Tensor:
    """Push, adversary, speaker_listener: straight to the secret goal, and stay there."""
    own = group.slice
    envs = torch.arange(len(arrays["goal"]), device=arrays["goal"].device)
    place = arrays["landmark"][envs, arrays["goal"].long()][:, None]
    return surely(towards(arrays["position"][:, own], arrays["velocity"][:, own], place), PUSHES)


def to_the_others_wish(arrays: Any, group: Group) -> Tensor:
    """Reference: each straight to the landmark that the other wishes, without a word."""
    envs = torch.arange(len(arrays["goal"]), device=arrays["goal"].device)[:, None]
    place = arrays["landmark"][envs, arrays["goal"].flip(1).long()]
    return surely(towards(arrays["position"], arrays["velocity"], place), WORDS * PUSHES)


def to_the_middle(arrays: Any, group: Group) -> Tensor:
    """Adversary: between the landmarks, which is the best guess of who learns nothing about the goal."""
    own = group.slice
    place = arrays["landmark"].mean(1, keepdim=True)
    return surely(towards(arrays["position"][:, own], arrays["velocity"][:, own], place), PUSHES)


def chase(arrays: Any, group: Group) -> Tensor:
    """Pursuit: to where the nearest agent of the other side is about to be."""
    own, place, _ = _nearest(arrays, group)
    return surely(towards(arrays["position"][:, own], arrays["velocity"][:, own], place), PUSHES)


def flee(arrays: Any, group: Group) -> Tensor:
    """Pursuit: away from the nearest adversary, but back to the middle once it is further than one unit from it."""
    own, place, velocity = _nearest(arrays, group)
    position = arrays["position"][:, own]
    away = 2 * position - place - velocity * COASTING
    goal = torch.where(position.norm(dim=-1, keepdim=True) > 1.0, torch.zeros_like(away), away)
    return surely(towards(position, arrays["velocity"][:, own], goal), PUSHES)


def _nearest(arrays: Any, group: Group) -> tuple[slice, Tensor, Tensor]:
    """Whom a rule plays, and place and velocity of the nearest agent of the other side."""
    own, position, velocity = group.slice, arrays["position"], arrays["velocity"]
    others = slice(own.stop, None) if own.start == 0 else slice(0, own.start)
    nearest = torch.cdist(position[:, own], position[:, others]).argmin(-1)[..., None].expand(-1, -1, 2)
    place, speed = position[:, others].gather(1, nearest), velocity[:, others].gather(1, nearest)
    return own, place + COASTING * speed, speed
