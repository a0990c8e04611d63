"""Run folders: their files, checkpoints and logs, and how a run is taken up again."""

from warpworld.runs.run import Run

__all__ = ["Run"]
