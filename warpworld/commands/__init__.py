"""The commands of the command line, one a file; with ``progress.py`` and the benchmark, all that prints."""
