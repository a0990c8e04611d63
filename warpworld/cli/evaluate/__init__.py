"""`warpworld eval`: how a run's policies play."""
