"""Worlds as the environments of others: each file lets a World speak one protocol, and imports what that needs."""
