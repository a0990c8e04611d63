"""Swing a pendulum up and keep it there."""
