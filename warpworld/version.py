"""The package's version, which stands below whatever shows or records it."""

__version__ = "1.0.0"
