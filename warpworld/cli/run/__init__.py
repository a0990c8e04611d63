"""`warpworld run`: a world stepped with random actions."""
