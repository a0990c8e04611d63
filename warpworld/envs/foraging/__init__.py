"""Players load food that may take several of them."""
