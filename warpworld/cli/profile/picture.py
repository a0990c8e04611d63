"""An iteration as a picture: a bar for each part, as long as its time."""

from __future__ import annotations

from pathlib import Path

from warpworld.cli.profile.profile import Profile
from warpworld.drawing.palette import ROLES, SERIES
from warpworld.drawing.writing import replacing
from warpworld.private_folder import keep_matplotlib_quiet

_INK, _GRID = ROLES["ink"][0], ROLES["grid"][0]
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
    keep_matplotlib_quiet()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [row for row in profile.rows if row.seconds > SMALLEST * profile.seconds]
    policies = list(dict.fromkeys(row.part.policy for row in rows))
    colours = dict(zip(policies, SERIES, strict=False))
    figure = Figure(figsize=(6.4, 0.9 + 0.3 * len(rows)), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for place, row in enumerate(rows):
        axes.barh(place, 1e3 * row.seconds, color=colours.get(row.part.policy, SERIES[0]))
        label = f" {row.seconds / profile.seconds:.1%}"
        axes.text(1e3 * row.seconds, place, label, va="center", color=_INK, fontsize=8)
    axes.set_yticks(
        range(len(rows)), [", ".join(filter(None, (row.part.name, row.part.policy))) for row in rows], fontsize=8
    )
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12e3 * rows[0].seconds)
    axes.set_xlabel("ms in an iteration", color=_INK)
    axes.set_title(f"{name}, {profile.env_steps:,} env steps an iteration", color=_INK, fontsize=11)
    axes.grid(axis="x", color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    with replacing(path) as unfinished:
        figure.savefig(unfinished, format="png")
    return path
