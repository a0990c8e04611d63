"""A world in steps: every player acts, the world steps, and what algorithms asked for is recorded."""

from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.history import History
from warpworld.trainers.collecting.memory import begun
from warpworld.trainers.collecting.rollout import Rollout
from warpworld.trainers.collecting.trajectories import Trajectories

__all__ = [
    "Collector",
    "History",
    "Rollout",
    "Trajectories",
    "begun",
]
