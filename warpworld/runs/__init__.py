"""Run folders: their files, checkpoints and logs, and how a run is taken up again."""

from warpworld.runs.folder import RunFolder
from warpworld.runs.run import Run

__all__ = ["Run", "RunFolder"]
