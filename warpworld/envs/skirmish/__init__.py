"""Skirmish: units of several kinds against a scripted enemy."""
