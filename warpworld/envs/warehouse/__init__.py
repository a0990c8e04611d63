"""Robots bring requested shelves to where they are needed, and put them back."""
