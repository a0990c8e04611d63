"""A row of states of which only the far end pays."""
