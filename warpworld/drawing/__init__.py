"""Drawings of envs as marks, and what shows them: colours, a painter, HTML and files.

An environment's ``draw`` puts marks together, once for each recorded step; replays, GIFs and videos show them.
"""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.drawing.array_drawing import ArrayDrawer as ArrayDrawer
    from warpworld.drawing.canvas import SMOOTH as SMOOTH
    from warpworld.drawing.canvas import font as font
    from warpworld.drawing.canvas import paint as paint
    from warpworld.drawing.figures import INK as INK
    from warpworld.drawing.figures import PAPER as PAPER
    from warpworld.drawing.figures import figure as figure
    from warpworld.drawing.html import card as card
    from warpworld.drawing.html import escaped as escaped
    from warpworld.drawing.html import image as image
    from warpworld.drawing.html import table as table
    from warpworld.drawing.marks import MARKS as MARKS
    from warpworld.drawing.marks import Arrowheads as Arrowheads
    from warpworld.drawing.marks import Discs as Discs
    from warpworld.drawing.marks import Drawing as Drawing
    from warpworld.drawing.marks import Image as Image
    from warpworld.drawing.marks import Mark as Mark
    from warpworld.drawing.marks import Polygon as Polygon
    from warpworld.drawing.marks import Polyline as Polyline
    from warpworld.drawing.marks import Rectangles as Rectangles
    from warpworld.drawing.marks import Segments as Segments
    from warpworld.drawing.marks import Text as Text
    from warpworld.drawing.marks import Wedges as Wedges
    from warpworld.drawing.marks import check_colours as check_colours
    from warpworld.drawing.palette import SERIES as SERIES
    from warpworld.drawing.palette import colour_table as colour_table
    from warpworld.drawing.palette import css_variables as css_variables
    from warpworld.drawing.palette import rgb as rgb
    from warpworld.drawing.png import drawing_png as drawing_png
    from warpworld.drawing.png import png_of as png_of
    from warpworld.drawing.writing import make_folder as make_folder
    from warpworld.drawing.writing import replacing as replacing
    from warpworld.drawing.writing import write_whole as write_whole
else:
    __getattr__, __dir__ = lazy_names(__name__)
