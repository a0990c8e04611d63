"""Games of MinAtar: a screen of 10 x 10 cells."""
