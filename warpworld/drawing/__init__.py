"""Drawings of envs as marks, and what shows them: colours, a painter, HTML and files.

An environment's ``draw`` puts marks together, once for each recorded step; replays, GIFs and videos show them.
"""

from warpworld.drawing.marks import (
    MARKS,
    Arrowheads,
    Discs,
    Drawing,
    Image,
    Mark,
    Polygon,
    Polyline,
    Rectangles,
    Segments,
    Text,
    Wedges,
    check_colours,
)

__all__ = [
    "MARKS",
    "Arrowheads",
    "Discs",
    "Drawing",
    "Image",
    "Mark",
    "Polygon",
    "Polyline",
    "Rectangles",
    "Segments",
    "Text",
    "Wedges",
    "check_colours",
]
