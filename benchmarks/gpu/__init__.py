"""The GPU suite: what the cuda backend must show on a machine with a GPU, right results first, then speed.

``python -m benchmarks.gpu`` runs it; main.py is where to begin reading, and parts.py lists what it does.
"""
