"""Two agents who each gain by taking coins, and lose by the other taking theirs."""
