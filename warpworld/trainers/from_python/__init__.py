"""Functions that Python programs and notebooks call, one a file: ``warpworld.train``, ``load_policy``, ``rollout``."""
