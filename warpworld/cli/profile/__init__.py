"""Where the time of a training iteration goes."""
