"""Name cues whose rewards arrive some steps later."""
