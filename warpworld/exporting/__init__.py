"""Policies as files that other programs run, without warpworld: ONNX, or torch's pt2."""

from warpworld.exporting.export import Exported, export_policy
from warpworld.exporting.formats import FORMATS
from warpworld.exporting.interface import Interface, Port

__all__ = ["FORMATS", "Exported", "Interface", "Port", "export_policy"]
