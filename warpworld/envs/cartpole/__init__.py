"""Balance a pole on a cart."""
