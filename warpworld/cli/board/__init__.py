"""The board: a local page over all runs of a folder, live while they train. It starts and stops nothing."""
