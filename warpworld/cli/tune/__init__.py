"""Sizes of a run that suit a machine, found by measuring."""
