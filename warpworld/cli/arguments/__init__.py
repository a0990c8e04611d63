"""Arguments of commands: their types, and settings of a config as words and options."""

from warpworld.cli.arguments.argument_types import CHECKPOINT, MOST_EPISODES, at_least, seconds
from warpworld.cli.arguments.override_options import (
    add_device,
    add_run_options,
    opened_run,
    option_overrides,
    unknown_words,
)

__all__ = [
    "CHECKPOINT",
    "MOST_EPISODES",
    "add_device",
    "add_run_options",
    "at_least",
    "opened_run",
    "option_overrides",
    "seconds",
    "unknown_words",
]
