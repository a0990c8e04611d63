"""Tag on a plane."""
