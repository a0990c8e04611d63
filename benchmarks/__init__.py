"""Speed of stepping worlds and of learning in them, beside peers in the same run. ``warpworld bench`` prints it."""
