"""What the latest episodes of a training came to."""

from __future__ import annotations

from typing import Any

RECENT_EPISODES = 100


class RecentReturn:
    """Mean return of the first policy over the last 100 episodes or somewhat more: whole iterations are taken."""

    def __init__(self) -> None:
        self._iterations: list[tuple[int, float]] = []

    def after(self, metrics: dict[str, Any]) -> float | None:
        """With one more iteration; None before there have been as many episodes."""
        value = next(value for key, value in metrics.items() if key.endswith("/episodic_return"))
        if metrics["charts/episodes"]:
            self._iterations.append((metrics["charts/episodes"], value))
        count, total = 0, 0.0
        for episodes, mean in reversed(self._iterations):
            count, total = count + episodes, total + episodes * mean
            if count >= RECENT_EPISODES:
                return total / count
        return None
