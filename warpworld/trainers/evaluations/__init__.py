"""Evaluations during training: fixed games, the best weights so far, when the training may end; and replays."""

from warpworld.trainers.evaluations.evaluations import Evaluations
from warpworld.trainers.evaluations.measures import measures_of
from warpworld.trainers.evaluations.recordings import Recordings
from warpworld.trainers.evaluations.rival_files import read_rivals
from warpworld.trainers.evaluations.rivals import build_rivals
from warpworld.trainers.searching import play_by_search  # evaluations' switch, for those who evaluate

__all__ = ["Evaluations", "Recordings", "build_rivals", "measures_of", "play_by_search", "read_rivals"]
