"""Speed of stepping worlds, beside peers in the same run. ``warpworld bench`` prints the table."""
