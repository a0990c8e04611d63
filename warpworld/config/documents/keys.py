"""Names of a config's keys."""

from __future__ import annotations

KeyPath = tuple[str | int, ...]


def dotted(path: KeyPath) -> str:
    """``("policy", "tagger", "model")`` as ``policy.tagger.model``; list entries as ``[0]``."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")
