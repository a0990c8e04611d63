"""A session of training, for the command and for Python: from a trainer and its run folder to the end of training."""
