"""Worlds with eyes: floor plans, cameras and bodies, and blocks to build environments of."""
