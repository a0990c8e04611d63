"""The commands of the command line, one a file; with ``sessions`` and the benchmark, all that prints."""
