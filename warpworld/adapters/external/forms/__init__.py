"""Forms of a library's actions, masks and observations in the store."""

from warpworld.adapters.external.forms.action_form import ActionForm
from warpworld.adapters.external.forms.action_masks import form_for, late_mask, mask_in, mask_row
from warpworld.adapters.external.forms.observation_form import Leaf, ObservationForm, shown

__all__ = [
    "ActionForm",
    "Leaf",
    "ObservationForm",
    "form_for",
    "late_mask",
    "mask_in",
    "mask_row",
    "shown",
]
