"""States of a library's envs: taken as bytes of plain data, and put back without running code that they name."""

from warpworld.adapters.external.states.bytes_of import StateError
from warpworld.adapters.external.states.kinds import states_itself
from warpworld.adapters.external.states.parts_of import check_lists, fill, of_an_env
from warpworld.adapters.external.states.putting import put
from warpworld.adapters.external.states.taking import taken

__all__ = [
    "StateError",
    "check_lists",
    "fill",
    "of_an_env",
    "put",
    "states_itself",
    "taken",
]
