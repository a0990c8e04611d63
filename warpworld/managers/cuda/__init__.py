"""The backend that runs kernels on an NVIDIA GPU."""
