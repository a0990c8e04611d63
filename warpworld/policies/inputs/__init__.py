"""Inputs of networks: observations and masks as rows or as a caller has them, checked, normalised and put together."""

from warpworld.policies.inputs.callers_masks import mask_rows
from warpworld.policies.inputs.callers_spaces import CallersSpaces, Observed, library_tensor
from warpworld.policies.inputs.central_inputs import CentralInputs
from warpworld.policies.inputs.normaliser import ObservationNormaliser
from warpworld.policies.inputs.observation_rows import ObservationRows
from warpworld.policies.inputs.preprocessing import Preprocessing

__all__ = [
    "CallersSpaces",
    "CentralInputs",
    "ObservationNormaliser",
    "ObservationRows",
    "Observed",
    "Preprocessing",
    "library_tensor",
    "mask_rows",
]
