"""Histories in checkpoints: the files that hold what replays remember."""

from warpworld.trainers.histories.saved_histories import SavedHistories

__all__ = ["SavedHistories"]
