"""Hide and seek with boxes."""
