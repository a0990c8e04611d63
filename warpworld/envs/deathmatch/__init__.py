"""Deathmatch in homes."""
