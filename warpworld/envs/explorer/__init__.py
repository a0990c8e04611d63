"""Exploring homes."""
