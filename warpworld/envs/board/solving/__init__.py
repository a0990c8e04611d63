"""Connect four solved: exact values of positions, in C++, and what policies make of positions with known values."""
