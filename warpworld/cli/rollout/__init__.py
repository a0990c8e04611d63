"""Whole episodes of a run's policies, written as data that other tools read."""
