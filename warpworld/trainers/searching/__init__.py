"""Tree search over copies of envs: policies that look ahead in the world that they play in."""

from warpworld.trainers.searching.fitness import check_searchable
from warpworld.trainers.searching.measured import searched
from warpworld.trainers.searching.recorder import DRAWN, MOVER, POLICY, VALUE, SearchRecorder
from warpworld.trainers.searching.searching_policy import SearchingPolicy, SearchSettings, play_by_search
from warpworld.trainers.searching.simulation import LearntRewards

__all__ = [
    "DRAWN",
    "MOVER",
    "POLICY",
    "VALUE",
    "LearntRewards",
    "SearchRecorder",
    "SearchSettings",
    "SearchingPolicy",
    "check_searchable",
    "play_by_search",
    "searched",
]
