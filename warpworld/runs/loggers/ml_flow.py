"""Metrics for MLflow."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warpworld.config import RunConfig
from warpworld.errors import RunError
from warpworld.files import read_file, readable, reason, replace_text
from warpworld.runs.loggers.hyperparameters import by_key
from warpworld.runs.loggers.logger import Logger, Metrics, cannot_write, imported, numbers

_FORBIDDEN = re.compile(r"[^\w. /-]", re.ASCII)  # in names of metrics
_MOST_PARAMS, _LONGEST = 100, 500  # that MLflow takes at once, and of a value


class MLflow(Logger):
    """A run in MLflow, where ``MLFLOW_TRACKING_URI`` says; a resumed one continues under the id in ``mlflow_id``.

    The run belongs to the experiment ``saving.mlflow``, which is made where there is none of the name. The settings are
    kept as parameters, by dotted key. Nothing is rewound: a resumed run repeats the same numbers, and the first of each
    step are kept.
    """

    def __init__(self, folder: Path, config: RunConfig) -> None:
        super().__init__(folder, config)
        self._mlflow = imported("mlflow", "entities", "tracking")
        self._client: Any = None
        self._id, self._known = "", 0  # env steps whose numbers are there already

    @classmethod
    def check_available(cls, config: RunConfig) -> None:
        """Check that the package is installed. Raises RunError: it is not."""
        imported("mlflow", "entities", "tracking")

    def log(self, metrics: Metrics) -> None:
        """Send every finite number; steps that a killed session has sent already are left out."""
        step = int(metrics.get("env_steps", 0))
        entity, now = self._mlflow.entities.Metric, int(time.time() * 1000)
        sent = [entity(_FORBIDDEN.sub("_", name), value, now, step) for name, value in numbers(metrics)]

        def send() -> None:
            client = self._started()
            if step > self._known:
                client.log_batch(self._id, metrics=sent)

        self._do(send)

    def show(self, picture: Path, iteration: int, env_steps: int) -> None:
        """Put the picture among the run's artifacts, in ``replays``."""
        self._do(lambda: self._started().log_artifact(self._id, str(picture), "replays"))

    def close(self) -> None:
        """Mark the run as finished; a later ``log`` reopens it."""
        if self._client is not None:
            self._do(lambda: self._client.set_terminated(self._id))
            self._client = None

    def _started(self) -> Any:
        """The client, with the run begun or reopened."""
        if self._client is None:
            client, path = self._mlflow.tracking.MlflowClient(), self.folder / "mlflow_id"
            try:
                if path.exists():
                    self._id = read_file(path).decode().strip()
                    client.update_run(self._id, status="RUNNING")
                    sent = client.get_metric_history(self._id, "iteration")
                    self._known = max((point.step for point in sent), default=0)
                else:
                    self._id = self._begin(client)
                    replace_text(path, self._id + "\n")
            except OSError as error:
                raise cannot_write(path, error) from error
            self._client = client
        return self._client

    def _begin(self, client: Any) -> str:
        """Make a run with its settings; its id."""
        name = self.config.saving.mlflow
        found = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name) if found is None else found.experiment_id
        identity: str = client.create_run(experiment, run_name=readable(self.folder.name)).info.run_id
        params = [self._param(key, value) for key, value in by_key(self.config).items()]
        for first in range(0, len(params), _MOST_PARAMS):
            client.log_batch(identity, params=params[first : first + _MOST_PARAMS])
        return identity

    def _param(self, key: str, value: Any) -> Any:
        return self._mlflow.entities.Param(_FORBIDDEN.sub("_", key), str(value)[:_LONGEST])

    def _do(self, act: Callable[[], Any]) -> None:
        try:
            act()
        except RunError:
            raise
        except Exception as error:  # the package's own kinds, which only it knows
            raise RunError(
                f"MLflow cannot be reached or written: {reason(error)}; check MLFLOW_TRACKING_URI, or set "
                "saving.mlflow=null"
            ) from error
