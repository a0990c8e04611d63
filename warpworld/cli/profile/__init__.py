"""Profiles a training iteration: the time of each of its parts."""
