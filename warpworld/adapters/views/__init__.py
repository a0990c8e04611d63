"""Arrays of a world as adapters read and write them: by batches and by agents, with actions, infos and masks."""

from warpworld.adapters.views.actions import as_batch, in_batches_of_one, in_order
from warpworld.adapters.views.agent_batches import AgentBatch, InfosOfAgents, SeenByAgents, agent_batches
from warpworld.adapters.views.agent_views import agent_views
from warpworld.adapters.views.host_arrays import HostArrays
from warpworld.adapters.views.infos import Infos, names_of_lives
from warpworld.adapters.views.world_batch import Batch

__all__ = [
    "AgentBatch",
    "Batch",
    "HostArrays",
    "Infos",
    "InfosOfAgents",
    "SeenByAgents",
    "agent_batches",
    "agent_views",
    "as_batch",
    "in_batches_of_one",
    "in_order",
    "names_of_lives",
]
