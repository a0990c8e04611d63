"""Rules of the protocols: what each needs of a world, which options and calls are allowed, copies and pictures."""

from warpworld.adapters.rules.deep_copies import Copied
from warpworld.adapters.rules.protocols import PROTOCOLS, Protocol, protocol_of
from warpworld.adapters.rules.rendering import check_render_mode, frame, rendered
from warpworld.adapters.rules.reset_options import check_names, set_options
from warpworld.adapters.rules.wrong_times import has_ended, is_closed, not_begun

__all__ = [
    "PROTOCOLS",
    "Copied",
    "Protocol",
    "check_names",
    "check_render_mode",
    "frame",
    "has_ended",
    "is_closed",
    "not_begun",
    "protocol_of",
    "rendered",
    "set_options",
]
