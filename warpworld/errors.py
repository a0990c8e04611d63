"""The package's own exceptions: each says what was given, what was expected and what to do."""

from __future__ import annotations

from collections.abc import Iterable

from warpworld.near_names import nearest


class WarpworldError(Exception):
    """Base of every error that a user of warpworld can cause."""


class ConfigError(WarpworldError):
    """A run's YAML file or an override is wrong."""


class DeclarationError(WarpworldError):
    """An Environment declares something impossible, or is unknown."""


class StoreError(WarpworldError):
    """An array of the store is unknown, of another shape or dtype, or used at the wrong time."""


class ShortageError(StoreError):
    """Error for a store that memory is too small for."""


class BindError(WarpworldError):
    """A kernel's signature does not fit the arrays and parameters that it is to be bound to."""


class BuildError(WarpworldError):
    """A kernel source does not compile, or there is no compiler.

    Attributes:
        log: everything that the compiler printed; the message shows its first lines.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class DeviceError(WarpworldError):
    """A device was asked for that is not there."""


class KernelError(WarpworldError):
    """A kernel faulted while it ran: the message names kernel, env, agent and, where known, file and line."""


class PlanError(WarpworldError):
    """A floor plan is impossible, cannot be read or written, or does not fit the kernels."""


class RunError(WarpworldError):
    """A run folder or a checkpoint cannot be read or written."""


class LoggerError(RunError):
    """A logger failed; the run's own files and the other loggers have what it was given."""


class ExportError(WarpworldError):
    """A policy cannot be exported, or what was exported gives something else than the policy."""


class ProcessError(WarpworldError):
    """Error in a process that trains a run with others: it is missing or ended."""


class SweepError(WarpworldError):
    """Trials cannot be run: a package is missing, or the study is of another sweep."""


class TemplateError(WarpworldError):
    """A new environment cannot be written: its name will not do, or something is in the way."""


class TrainingError(WarpworldError):
    """A number that the training depends on is NaN or infinite."""


def suggest(name: str, candidates: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the candidate nearest to ``name``, or an empty string if none is near."""
    near = nearest(name, candidates)
    return f" Did you mean '{near}'?" if near is not None else ""


def said(error: BaseException) -> str:
    """One-line text of an exception, with its type if the message alone is unclear."""
    text = " ".join(str(error).split())
    telling = (WarpworldError, ImportError, AttributeError, SyntaxError, TypeError, ValueError, RuntimeError)
    return text if text and isinstance(error, telling) else f"{type(error).__name__}: {text}".removesuffix(": ")
