"""An iteration as a picture: a bar for each part, as long as its time."""

from __future__ import annotations

from pathlib import Path

from warpworld.cli.profile.profile import Profile
from warpworld.drawing import SERIES, figure

SMALLEST = 0.005  # share of an iteration below which a part has no bar


def draw_profile(profile: Profile, name: str, path: Path) -> Path:
    """Draw the parts, the longest on top, in a colour for each policy.

    Args:
        profile: what was measured.
        name: of the config.
        path: the PNG; it appears complete or not at all.

    Returns:
        ``path``.

    Raises:
        RunError: it cannot be written.
    """
    # parts that are long enough to see
    rows = [row for row in profile.rows if row.seconds > SMALLEST * profile.seconds]
    policies = list(dict.fromkeys(row.part.policy for row in rows))
    colours = dict(zip(policies, SERIES, strict=False))
    title = f"{name}, {profile.env_steps:,} env steps an iteration"
    # a bar for each
    with figure(path, 6.4, 0.9 + 0.3 * len(rows), title) as drawn:
        axes = drawn.subplots()
        for place, row in enumerate(rows):
            axes.barh(place, 1e3 * row.seconds, color=colours.get(row.part.policy, SERIES[0]))
            axes.text(1e3 * row.seconds, place, f" {row.seconds / profile.seconds:.1%}", va="center", fontsize=8)
        # axes
        axes.set_yticks(range(len(rows)), [", ".join(filter(None, (row.part.name, row.part.policy))) for row in rows])
        axes.invert_yaxis()
        axes.set(xlim=(0, 1.12e3 * rows[0].seconds), xlabel="ms in an iteration")
        axes.grid(axis="y", visible=False)
    return path
