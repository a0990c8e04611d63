"""A world in steps: every player acts, the world steps, and what algorithms asked for is recorded."""

from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.episodes import EpisodeStatistics, Finished
from warpworld.trainers.collecting.finite import refuse_not_finite
from warpworld.trainers.collecting.history import History, Rows
from warpworld.trainers.collecting.memory import CUT, CUT_BEFORE, Memory, begun, state_array, state_sizes
from warpworld.trainers.collecting.metrics import EpisodeMetrics, OwnMetric, own_metrics
from warpworld.trainers.collecting.outcomes import OPTIONAL, ROW
from warpworld.trainers.collecting.players import Player, Scripted, Slot, player_of
from warpworld.trainers.collecting.recorder import AtTheEnd, Recorder
from warpworld.trainers.collecting.rollout import Rollout
from warpworld.trainers.collecting.teacher import Teacher
from warpworld.trainers.collecting.tensor_kernels import TensorKernels, needs_of
from warpworld.trainers.collecting.trajectories import TakenTrajectories, Trajectories

__all__ = [
    "CUT",
    "CUT_BEFORE",
    "OPTIONAL",
    "ROW",
    "Actor",
    "AtTheEnd",
    "Collector",
    "EpisodeMetrics",
    "EpisodeStatistics",
    "Finished",
    "History",
    "Memory",
    "OwnMetric",
    "Player",
    "Recorder",
    "Rollout",
    "Rows",
    "Scripted",
    "Slot",
    "TakenTrajectories",
    "Teacher",
    "TensorKernels",
    "Trajectories",
    "begun",
    "needs_of",
    "own_metrics",
    "player_of",
    "refuse_not_finite",
    "state_array",
    "state_sizes",
]
