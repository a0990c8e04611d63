"""Calls into a library's code: envs made, reset and stepped, and errors that name the call."""

from warpworld.adapters.external.calls.calling import Calling, attribute, of_env, quietly, row_of
from warpworld.adapters.external.calls.checked_env import LOAD_ERROR, STATE
from warpworld.adapters.external.calls.checked_making import checked_envs
from warpworld.adapters.external.calls.ends import NOT_YET, End, StepRows
from warpworld.adapters.external.calls.envs import Envs, Observations, Outcome
from warpworld.adapters.external.calls.making import environments_module, imported, made, making
from warpworld.adapters.external.calls.saved import EachHasAState, NoStates
from warpworld.adapters.external.states import fill

__all__ = [
    "LOAD_ERROR",
    "NOT_YET",
    "STATE",
    "Calling",
    "EachHasAState",
    "End",
    "Envs",
    "NoStates",
    "Observations",
    "Outcome",
    "StepRows",
    "attribute",
    "checked_envs",
    "environments_module",
    "fill",
    "imported",
    "made",
    "making",
    "of_env",
    "quietly",
    "row_of",
]
