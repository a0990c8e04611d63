"""Networks: the packaged models, and those of values, critics and teams."""

from warpworld.policies.networks.actor_critics import ActorCritics, Critics, SquashedHead, TanhHead
from warpworld.policies.networks.central_critic import (
    ActorWithCritic,
    CriticThatRemembers,
    RecurrentActorAndCritic,
    RecurrentActorWithCritic,
)
from warpworld.policies.networks.mixing import Mixes, MonotonicMixer, RecurrentTeamQNetwork, Sum, TeamQNetwork
from warpworld.policies.networks.mlp import MLP
from warpworld.policies.networks.multi_input import MultiInput
from warpworld.policies.networks.q_network import DuelingHeads, QNetwork, RecurrentQNetwork, of_choices

__all__ = [
    "MLP",
    "ActorCritics",
    "ActorWithCritic",
    "CriticThatRemembers",
    "Critics",
    "DuelingHeads",
    "Mixes",
    "MonotonicMixer",
    "MultiInput",
    "QNetwork",
    "RecurrentActorAndCritic",
    "RecurrentActorWithCritic",
    "RecurrentQNetwork",
    "RecurrentTeamQNetwork",
    "SquashedHead",
    "Sum",
    "TanhHead",
    "TeamQNetwork",
    "of_choices",
]
