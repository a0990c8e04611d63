"""Whether a config's texts can be written: a path may hold bytes that are no text, and YAML spells half characters."""

from __future__ import annotations

from typing import Any

from warpworld.config.documents.document import Document
from warpworld.config.documents.keys import KeyPath, dotted
from warpworld.errors import ConfigError


def check_encodable(data: Any, document: Document, path: KeyPath = ()) -> None:
    """Refuse texts that UTF-8 cannot encode.

    Args:
        data: plain nested values.
        document: knows where they came from.
        path: of ``data`` in the document.

    Raises:
        ConfigError: the first of them.
    """
    if isinstance(data, str):
        if not _is_encodable(data):
            where = document.where(path, path[:-1], path[:-2])
            raise ConfigError(
                f"{where}: {dotted(path)} is {data!r}, expected text in UTF-8; rename a folder that is not"
            )
    elif isinstance(data, dict):
        for key, value in data.items():
            if not _is_encodable(key):
                raise ConfigError(
                    f"{document.where((*path, key), path)}: the key {dotted((*path, key))!r} is not UTF-8"
                )
            check_encodable(value, document, (*path, key))
    elif isinstance(data, (list, tuple)):
        for i, value in enumerate(data):
            check_encodable(value, document, (*path, i))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
