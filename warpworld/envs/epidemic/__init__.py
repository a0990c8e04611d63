"""A government and regions in an epidemic."""
