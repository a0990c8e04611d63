"""What Python programs and notebooks call, one function a file: ``warpworld.train``, ``load_policy``, ``rollout``."""
