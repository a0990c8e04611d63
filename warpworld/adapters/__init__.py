"""Worlds by name, and as the environments of others: a file a protocol, which imports what that needs."""
