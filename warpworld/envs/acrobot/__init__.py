"""Acrobot: two links that hang from a bar."""
