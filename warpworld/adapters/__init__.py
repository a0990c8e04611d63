"""Worlds by name, and as the environments of others: a file a protocol, which imports what that needs."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.adapters.making import make as make
    from warpworld.adapters.registration import register_all as register_all
    from warpworld.adapters.rules import frame as frame
else:
    __getattr__, __dir__ = lazy_names(__name__)
