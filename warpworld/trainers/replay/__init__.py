"""Replay: rings of past steps in the store, and how algorithms draw from them."""

from warpworld.trainers.replay.normals import Normals
from warpworld.trainers.replay.policy_agents import PolicyAgents
from warpworld.trainers.replay.priorities import FAN, Priorities, lanes_for
from warpworld.trainers.replay.replay_base import Replay
from warpworld.trainers.replay.size import settle_size
from warpworld.trainers.replay.team_replay import TeamReplay, TeamSizes
from warpworld.trainers.replay.team_transitions import TeamTransitions
from warpworld.trainers.replay.team_window_replay import TeamWindowReplay, TeamWindowSizes
from warpworld.trainers.replay.team_windows import TeamWindows
from warpworld.trainers.replay.transition_replay import ReplaySizes, TransitionReplay
from warpworld.trainers.replay.transitions import Transitions
from warpworld.trainers.replay.window_replay import WindowReplay, WindowSizes
from warpworld.trainers.replay.windows import Windows

__all__ = [
    "FAN",
    "Normals",
    "PolicyAgents",
    "Priorities",
    "Replay",
    "ReplaySizes",
    "TeamReplay",
    "TeamSizes",
    "TeamTransitions",
    "TeamWindowReplay",
    "TeamWindowSizes",
    "TeamWindows",
    "TransitionReplay",
    "Transitions",
    "WindowReplay",
    "WindowSizes",
    "Windows",
    "lanes_for",
    "settle_size",
]
