"""Atari 2600 games by the Arcade Learning Environment."""
