"""Speed of stepping worlds and of learning in them, beside peers in the same run: ``python -m benchmarks``."""
