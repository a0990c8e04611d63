"""Prisoners who share a light."""
