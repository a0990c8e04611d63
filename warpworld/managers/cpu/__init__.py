"""The backend that runs kernels on the host's cores."""
