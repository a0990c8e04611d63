"""`warpworld trace`: one env as a table, while a run's policies play."""
