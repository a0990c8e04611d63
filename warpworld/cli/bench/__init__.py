"""Speed of anybody's environments, side by side."""
