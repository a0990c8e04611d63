"""Several processes that train one run together: their rendezvous, their shares of the work, and their end."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.trainers.processes.distributed import ALONE as ALONE
    from warpworld.trainers.processes.distributed import ProcessGroup as ProcessGroup
    from warpworld.trainers.processes.saved_states import lacks_states as lacks_states
    from warpworld.trainers.processes.shards import Layout as Layout
    from warpworld.trainers.processes.shards import gather_store as gather_store
    from warpworld.trainers.processes.shards import restore_store as restore_store
else:
    __getattr__, __dir__ = lazy_names(__name__)
