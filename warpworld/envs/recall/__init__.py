"""Remember a cue until it is asked for."""
