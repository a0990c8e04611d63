"""Particles on a plane: games of the multi-agent particle environments."""
