"""Games of poker for two, whose equilibria are known."""
