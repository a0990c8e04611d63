"""Overcooked: two cooks in a kitchen."""
