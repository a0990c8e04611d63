"""Documents: YAML text and overrides as plain values that remember their places, and errors that name these."""

from warpworld.config.documents.document import Document
from warpworld.config.documents.encodable import check_encodable
from warpworld.config.documents.keys import KeyPath, dotted
from warpworld.config.documents.validation import OTHER_NAMES, known, validated
from warpworld.config.documents.yaml_dialect import dump_value, dump_yaml

__all__ = [
    "OTHER_NAMES",
    "Document",
    "KeyPath",
    "check_encodable",
    "dotted",
    "dump_value",
    "dump_yaml",
    "known",
    "validated",
]
