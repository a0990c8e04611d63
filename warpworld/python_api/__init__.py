"""What Python programs and notebooks call, one function a file: ``warpworld.train``, ``warpworld.load_policy``."""
