"""Walking to a place that was pointed out once."""
