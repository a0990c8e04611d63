"""Arguments of commands: their types, and settings of a config as words and options."""

from warpworld.cli.arguments.settings import add_device, add_run_options, opened_run, option_overrides, unknown_words
from warpworld.cli.arguments.types import CHECKPOINT, MOST_EPISODES, at_least, seconds

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
