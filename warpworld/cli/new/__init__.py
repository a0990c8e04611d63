"""What `warpworld new` writes: each folder is an environment that works as it lies there."""
