"""Where a run's metrics go: JSON lines, TensorBoard, Weights & Biases, MLflow. All loggers have one silhouette."""

from warpworld.runs.loggers.json_lines import JsonLines
from warpworld.runs.loggers.logger import Logger, is_timed
from warpworld.runs.loggers.ml_flow import MLflow, import_mlflow
from warpworld.runs.loggers.tensorboard import TensorBoard
from warpworld.runs.loggers.weights_and_biases import WeightsAndBiases, import_wandb

__all__ = [
    "JsonLines",
    "Logger",
    "MLflow",
    "TensorBoard",
    "WeightsAndBiases",
    "import_mlflow",
    "import_wandb",
    "is_timed",
]
