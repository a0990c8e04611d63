"""``warpworld.train``: what the command ``warpworld train`` does, as a function."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import ConfigError, ProcessError
from warpworld.managers.cuda import explain_torch_error
from warpworld.runs import Run
from warpworld.trainers.session import begin_run, make_trainer, run_session


def train(
    config: str | Path | Mapping[str, Any] | RunConfig,
    overrides: Iterable[str] = (),
    *,
    on_iteration: Callable[[dict[str, Any]], Any] | None = None,
    directory: str | Path | None = None,
) -> Run:
    """Train the policies of a configuration, to the same weights and metrics as ``warpworld train``.

    The first Ctrl-C, or SIGTERM, ends the training after its iteration, with a checkpoint, and the second at once; both
    then raise the signal's exception. ``warpworld train --resume RUN`` continues it. Torch's global generator,
    precision and number of threads are restored afterwards.

    Args:
        config: a YAML file, the name of a packaged config, nested dicts, or the result of ``load_config``.
        overrides: of its values, such as "trainer.num_envs=64".
        on_iteration: called with each iteration's metrics: counters, and all others if it is logged or saved.
        directory: where the run folder is made; None takes the config's ``saving.directory``.

    Returns:
        The finished run, closed: its folder, metrics and checkpoints.

    Raises:
        WarpworldError: of the kinds that the command reports; ConfigError before anything is written.
        KeyboardInterrupt: Ctrl-C.
        SystemExit: SIGTERM, with status 143.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ProcessError(
            "warpworld.train() runs in one process; under torchrun use the command: warpworld train CONFIG"
        )
    with _torch_as_it_was(), _torch_errors_explained():
        trainer = make_trainer(_config(config, overrides))
        run = begin_run(trainer, directory)
        assert run is not None  # this process is the only one
        with contextlib.closing(run):
            status = run_session(trainer, run, on_iteration=on_iteration)
    if status:
        raise KeyboardInterrupt if status == 130 else SystemExit(status)
    return run


def _config(given: str | Path | Mapping[str, Any] | RunConfig, overrides: Iterable[str]) -> RunConfig:
    if isinstance(overrides, str):
        raise ConfigError(f"overrides={overrides!r}: expected a list of texts such as trainer.seed=3")
    if isinstance(given, RunConfig):
        overrides = list(overrides)
        return config_from_dict(given.to_dict(), overrides=overrides) if overrides else given
    if isinstance(given, Mapping):
        return config_from_dict(given, overrides=overrides)
    if isinstance(given, (str, Path)):
        return load_config(given, overrides)
    raise ConfigError(
        f"config is {type(given).__name__}, expected a YAML file's path, the name of a packaged config, a dict or a "
        "RunConfig"
    )


@contextlib.contextmanager
def _torch_errors_explained() -> Iterator[None]:
    """Raise what the command would say where torch meets what kernels did on a GPU."""
    try:
        yield
    except RuntimeError as error:
        explained = explain_torch_error(error)
        if explained is None:
            raise
        raise explained from error


@contextlib.contextmanager
def _torch_as_it_was() -> Iterator[None]:
    """Give torch back as the caller had it."""
    precision, threads = torch.get_float32_matmul_precision(), torch.get_num_threads()
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
        torch.set_num_threads(threads)
