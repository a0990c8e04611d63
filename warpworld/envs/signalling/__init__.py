"""A sender and a receiver who have to agree on signals."""
