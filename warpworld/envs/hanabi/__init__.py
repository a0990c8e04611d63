"""Hanabi, a game of cards for a team whose players do not see their own."""
