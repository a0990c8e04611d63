"""Policies as files that other programs run, without warpworld: ONNX, or torch's pt2."""

from warpworld.policies.exporting.export import Exported, export_policy
from warpworld.policies.exporting.formats import FORMATS
from warpworld.policies.exporting.interface import Interface, Port

__all__ = ["FORMATS", "Exported", "Interface", "Port", "export_policy"]
