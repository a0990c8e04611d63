"""Loggers of a run's metrics: JSON lines, and what ``saving.loggers`` names. All loggers have one silhouette."""

from warpworld.runs.loggers.json_lines import JsonLines
from warpworld.runs.loggers.logger import Logger, is_timed
from warpworld.runs.loggers.ml_flow import MLflow
from warpworld.runs.loggers.of_run import LoggersOfRun
from warpworld.runs.loggers.tensorboard import TensorBoard
from warpworld.runs.loggers.weights_and_biases import WeightsAndBiases

__all__ = [
    "JsonLines",
    "Logger",
    "LoggersOfRun",
    "MLflow",
    "TensorBoard",
    "WeightsAndBiases",
    "is_timed",
]
