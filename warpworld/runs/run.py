"""The run folder: resolved configuration, metrics, checkpoints and curve of one training run."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import shutil
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from warpworld.config import RunConfig, foreign_code, load_config
from warpworld.errors import ConfigError, LoggerError, RunError
from warpworld.files import open_to_append, read_file, reason, remove_unfinished, replace_text, replacing
from warpworld.runs.facts import facts_of
from warpworld.runs.folder import RunFolder, as_folder_name
from warpworld.runs.loggers import JsonLines, LoggersOfRun, is_timed
from warpworld.runs.machine import newer_version
from warpworld.runs.pretrained import check_spaces
from warpworld.version import __version__

logger = logging.getLogger(__name__)
LOCK_ATTEMPTS, LOCK_SECONDS = 5, 0.02

_HEADER = (
    "# The run's whole configuration, defaults and overrides included: `warpworld train config.yaml` repeats it.\n"
)


class Run(RunFolder):
    """A run folder. Made by ``Run.create`` or ``Run.open``; closed by ``close``.

    Attributes:
        path: the folder, ``<directory>/<name>-<YYYYmmdd-HHMMSS>``; the name is
            ``saving.name`` or the environment's.
        config: the run's resolved configuration.
    """

    def __init__(self, path: Path, config: RunConfig) -> None:
        super().__init__(path)
        self.config = config
        self._files: list[JsonLines] = []
        self._loggers: LoggersOfRun | None = None
        self._lock: BinaryIO | None = None

    def __repr__(self) -> str:
        return f"<Run '{self.path}': {self.config.title}>"

    def _repr_html_(self) -> str:
        """Key figures and the learning curve in a notebook."""
        from warpworld.runs.as_html import run_html  # which draws, and is loaded by notebooks alone

        return run_html(self)

    # ---- making and opening ------------------------------------------------------------------------------------------
    @classmethod
    def create(
        cls,
        config: RunConfig,
        directory: str | Path | None = None,
        first_state: dict[str, Any] | None = None,
        opponents: Mapping[str, bytes] | None = None,
        path: Path | None = None,
    ) -> Run:
        """Make and lock a new run folder with ``config.yaml`` in it; the folder appears complete or not at all.

        Args:
            config: what the run does.
            directory: where the folder is made; None takes ``config.saving.directory``.
            first_state: checkpoint of iteration 0, so that there never is a run without one.
            opponents: files that this checkpoint refers to; see ``save_opponents``.
            path: the folder itself, absent or empty; None takes a name with the time, in ``directory``.

        Raises:
            RunError: the folder cannot be made or written, or a logger's package is missing.
        """
        # packages of loggers, before anything is written
        wanted = path or Path(config.saving.directory if directory is None else directory) / _name_of(config)
        LoggersOfRun(wanted, config).check_available()
        # the folder, under another name until all is in it
        parent = wanted.parent
        unfinished = parent / f".{wanted.name}.{os.getpid()}.tmp"
        try:
            parent.mkdir(parents=True, exist_ok=True)
            unfinished.mkdir()
            try:
                run = cls(unfinished, config)
                run.lock()
                run.rewrite_config(config)
                (unfinished / "checkpoints").mkdir()
                run.save_opponents(opponents or {})
                if first_state is not None:
                    run.save_checkpoint(0, first_state)
                run.path = unfinished.rename(path) if path else _rename_to_free_name(unfinished, wanted)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        except (OSError, RunError) as error:
            what = f"run folder '{path}' cannot be made" if path else f"no run folder can be made in '{parent}'"
            option = "--run DIR" if path else "saving.directory=PATH"
            raise RunError(f"{what}: {reason(error)}; name another folder with {option}") from error
        return run

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open the folder of an earlier run, or with ``pretrained:NAME`` that of a policy of the package.

        Raises:
            RunError: not a run folder, or a pretrained policy that this version cannot play.
            ConfigError: its ``config.yaml`` is no longer valid.
        """
        folder = RunFolder.open(path)
        foreign = foreign_code(folder.config_path)
        if foreign:
            logger.info("run '%s' loads code from outside warpworld: %s", folder.path, ", ".join(foreign))
        try:
            run = cls(folder.path, load_config(folder.config_path))
        except ConfigError as error:
            newer = newer_version(folder.machine_path)
            if not newer:
                raise
            raise ConfigError(
                f"{error}; the run is of warpworld {newer}, and this is {__version__}: install that version"
            ) from error
        if run.is_pretrained:
            check_spaces(run.path, run.config)
        return run

    def lock(self) -> None:
        """Claim the folder for this process until ``close``, or until the process ends.

        Raises:
            RunError: another process trains this run, the folder cannot be written, or it comes with the package.
        """
        if self.is_pretrained:
            raise RunError(
                f"pretrained policy '{self.path.name}' comes with the package and is not trained on; start a run of "
                f"your own with policy.NAME.initial_weights=pretrained:{self.path.name}"
            )
        # the lock file
        path = self.path / ".lock"
        try:
            file = open_to_append(path, "a+b")
        except OSError as error:
            raise RunError(f"'{path}' cannot be written: {reason(error)}") from error
        # the claim on it
        try:
            _claim(file)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().decode(errors="replace").strip() or "unknown"
            file.close()
            raise RunError(
                f"run '{self.path}' is being trained by another process ({holder}); wait for it or end it"
            ) from None
        except OSError:
            pass  # a file system without locks: nothing can be claimed, and nothing is
        # this process's number, for the errors of others
        file.truncate(0)
        file.write(f"process {os.getpid()}".encode())
        file.flush()
        self._lock = file

    def rewrite_config(self, config: RunConfig) -> None:
        """Replace ``config.yaml`` atomically.

        Raises:
            RunError: it cannot be written.
        """
        path = self.config_path
        try:
            replace_text(path, _HEADER + config.to_yaml())
        except OSError as error:
            raise RunError(f"'{path}' cannot be written: {reason(error)}") from error
        self.config = config

    def add_session(self, session: Mapping[str, Any]) -> None:
        """Describe the machine of a training session in ``machine.json``, a list with one entry per session.

        A file with anything else in it is renamed to ``machine.json.damaged``, and a new list begins.

        Raises:
            RunError: it cannot be read or written.
        """
        path = self.machine_path
        try:
            sessions = _read_sessions(path) if path.exists() else []
            replace_text(path, json.dumps([*sessions, dict(session)], indent=2) + "\n")
        except OSError as error:
            raise RunError(f"'{path}' cannot be read or written: {reason(error)}") from error

    def close(self) -> None:
        """Close the loggers, which a later ``log`` opens again, leave a summary for listings, and release the lock."""
        for file in self._files:
            file.close()
        if self._loggers is not None:
            self._loggers.close()
        if self._lock is not None:
            with contextlib.suppress(ConfigError):
                facts_of(self, keep=True)
            self._lock.close()
            self._lock = None

    # ---- metrics -----------------------------------------------------------------------------------------------------
    def log(self, metrics: Mapping[str, Any]) -> None:
        """Write an iteration's metrics to the run's files, then pass them to every logger.

        Raises:
            RunError: the files cannot be written.
            LoggerError: a logger failed; the files and the other loggers have the metrics.
        """
        loggers = self._begin_logging()
        for file in self._files:
            file.log(metrics)
        loggers.log(metrics)

    @property
    def shows_pictures(self) -> bool:
        """Whether a logger takes pictures."""
        return self._begin_logging().show_pictures

    def show(self, picture: Path, iteration: int, env_steps: int) -> None:
        """Pass a picture of the policies at play to every logger that takes one.

        Args:
            picture: a GIF in the run folder.
            iteration: iterations done.
            env_steps: env steps done.

        Raises:
            LoggerError: a logger failed; the others have it.
        """
        self._begin_logging().show(picture, iteration, env_steps)

    def _begin_logging(self) -> LoggersOfRun:
        """The loggers; they and the files of metrics are those of the settings at the first call."""
        if self._loggers is None:
            self._files = [JsonLines(self.metrics_path, _of_the_seed), JsonLines(self.timing_path, _of_the_machine)]
            self._loggers = LoggersOfRun(self.path, self.config)
        return self._loggers

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def save_checkpoint(self, iteration: int, state: dict[str, Any]) -> Path:
        """Write a checkpoint atomically, and remove those that ``saving.keep_checkpoints`` does not keep.

        The metrics up to it are on the disk before it is: a run that is resumed from it finds them all.

        Args:
            iteration: iterations done.
            state: tensors, numbers, texts, and lists and dicts of these.

        Raises:
            RunError: it cannot be written.
            LoggerError: a logger failed; the checkpoint is written.
        """
        for file in self._files:
            file.sync()
        failure = self._sync_loggers()
        path = self._checkpoints.save(iteration, state)
        if self.config.saving.keep_checkpoints is not None:
            self._checkpoints.keep(self.config.saving.keep_checkpoints)
        if failure is not None:
            raise failure
        return path

    def _sync_loggers(self) -> LoggerError | None:
        try:
            if self._loggers is not None:
                self._loggers.sync()
        except LoggerError as error:
            return error
        return None

    def save_best(self, state: dict[str, Any]) -> None:
        """Write ``checkpoints/best.pt``, whole or not at all.

        Args:
            state: as ``save_checkpoint``'s.

        Raises:
            RunError: it cannot be written.
        """
        self._checkpoints.save_best(state)

    def save_ending(self, why: str) -> None:
        """Write why the run ended before its budget was used up; "" if it did not.

        Raises:
            RunError: it cannot be written.
        """
        path = self.ending_path
        try:
            if why:
                replace_text(path, why + "\n")
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise RunError(f"'{path}' cannot be written: {reason(error)}") from error

    def keep_past(self, names: Collection[str]) -> None:
        """Remove files of replays except some; call it after the checkpoint that does not need the others.

        Args:
            names: of the files that are needed.
        """
        for path in self.past_folder.glob("*.npz"):
            if path.name not in names:
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:  # no reason to end a run
                    logger.warning("replay '%s' cannot be removed: %s", path, reason(error))

    def save_opponents(self, files: Mapping[str, bytes]) -> None:
        """Write opponents' weights, each file atomically; call it before the checkpoint that refers to them.

        Args:
            files: contents by name.

        Raises:
            RunError: one cannot be written.
        """
        folder = self.opponents_folder
        for name, data in files.items():
            path = folder / name
            try:
                folder.mkdir(exist_ok=True)
                with replacing(path) as file:
                    file.write(data)
            except OSError as error:
                raise RunError(f"opponent '{path}' cannot be written: {reason(error)}") from error

    def rewind(self, iteration: int, env_steps: int) -> None:
        """Restore the folder as of the checkpoint of ``iteration``; for the holder of the lock.

        Metrics are cut back, damaged later checkpoints are renamed to ``*.damaged``, temporary files and later replays
        are removed.

        Raises:
            RunError: the folder cannot be written, or a logger's package is missing.
            LoggerError: a logger failed; all else is restored.
        """
        loggers = self._begin_logging()
        loggers.check_available()
        try:
            remove_unfinished(self.path)
            remove_unfinished(self.opponents_folder)
            remove_unfinished(self.past_folder)
            self.recorded.remove_after(iteration)
            self._checkpoints.set_aside_after(iteration)
        except OSError as error:
            raise RunError(f"run folder '{self.path}' cannot be written: {reason(error)}") from error
        for file in self._files:
            file.rewind(iteration, env_steps)
        loggers.rewind(iteration, env_steps)


def _claim(file: BinaryIO) -> None:
    """Lock a file, which a listing of runs may hold for the moment in which it looks; OSError if it stays locked."""
    for _ in range(LOCK_ATTEMPTS - 1):
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_SECONDS)
    return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _read_sessions(path: Path) -> list[Any]:
    """The entries of a ``machine.json``; none where it holds no list of entries, and then it is set aside."""
    try:
        sessions = json.loads(read_file(path))
    except (ValueError, RecursionError):
        sessions = None
    if isinstance(sessions, list) and all(isinstance(session, dict) for session in sessions):
        return sessions
    kept = path.with_name(f"{path.name}.damaged")
    path.replace(kept)
    logger.warning("'%s' is not a JSON list of sessions; it is kept as %s, and a new one begins", path, kept.name)
    return []


def _of_the_seed(metrics: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in metrics.items() if not is_timed(name)}


def _of_the_machine(metrics: Mapping[str, Any]) -> Mapping[str, Any]:
    timed = {name: value for name, value in metrics.items() if is_timed(name)}
    return {name: metrics[name] for name in ("iteration", "env_steps") if name in metrics} | timed if timed else {}


def _name_of(config: RunConfig) -> str:
    """Name of a run folder that starts now."""
    begins = config.saving.name or as_folder_name(config.title)
    return f"{begins}-{time.strftime('%Y%m%d-%H%M%S')}"


def _rename_to_free_name(unfinished: Path, wanted: Path) -> Path:
    """Rename a folder to ``wanted``, or ``wanted-2`` and so on; a folder with files in it is never overwritten."""
    path, n = wanted, 1
    while True:
        try:
            return unfinished.rename(path)
        except OSError:
            if not path.exists():
                raise
        n += 1
        path = wanted.with_name(f"{wanted.name}-{n}")
