"""Walking to a place that is pointed out."""
