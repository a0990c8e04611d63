"""Templates of `warpworld new`: each folder is an environment that works as it lies there."""
