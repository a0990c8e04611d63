"""Environments as a command line names them: by a registered name, a module, or a file."""

from warpworld.environment import get_environment as find_environment

__all__ = ["find_environment"]
