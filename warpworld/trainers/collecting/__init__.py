"""A world in steps: every player acts, the world steps, and what algorithms asked for is recorded."""
