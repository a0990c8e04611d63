"""Checks the loggers that a configuration names."""

from __future__ import annotations

from typing import Any

from warpworld.config.documents import Document, KeyPath, dotted
from warpworld.config.named_classes import logger_class
from warpworld.config.sections import SavingConfig
from warpworld.errors import ConfigError

_LOGGERS: KeyPath = ("saving", "loggers")
# Keys of `saving` that add the logger of their name, and what they hold.
SWITCHES = {"wandb": "PROJECT", "mlflow": "EXPERIMENT"}


def check_loggers(saving: SavingConfig, document: Document) -> None:
    """Import each logger, and refuse what is none, what stands twice, and what lacks its project.

    Raises:
        ConfigError: names the entry, what was given and what was expected.
    """
    seen: dict[Any, int] = {}
    for number, name in enumerate(saving.loggers):
        key: KeyPath = (*_LOGGERS, number)
        where = f"{document.where(key, _LOGGERS, _LOGGERS[:1])}: {dotted(key)}"
        try:
            cls = logger_class(name)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from error
        if cls in seen:
            first = saving.loggers[seen[cls]]
            same = "" if first == name else f", as '{first}'"
            raise ConfigError(
                f"{where}: logger '{name}' is {dotted((*_LOGGERS, seen[cls]))} already{same}: leave one out"
            )
        seen[cls] = number
    for switch, what in SWITCHES.items():
        cls = logger_class(switch)
        if cls in seen and getattr(saving, switch) is None:
            key = (*_LOGGERS, seen[cls])
            where = f"{document.where(key, _LOGGERS, _LOGGERS[:1])}: {dotted(key)}"
            raise ConfigError(
                f"{where}: logger '{switch}' logs to saving.{switch}, which is null: set saving.{switch}={what}"
            )


def loggers_of(saving: SavingConfig) -> dict[str, Any]:
    """The classes of a run's loggers, by the names that its configuration has for them; checked before."""
    found = {name: logger_class(name) for name in saving.loggers}
    for switch in SWITCHES:
        if getattr(saving, switch) is not None and logger_class(switch) not in found.values():
            found[switch] = logger_class(switch)
    return found
