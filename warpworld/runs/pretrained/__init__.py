"""Policies that come with the package: each folder here is a run folder that holds its last checkpoint alone."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.runs.pretrained.description import FILE as FILE
    from warpworld.runs.pretrained.description import FORMAT as FORMAT
    from warpworld.runs.pretrained.description import check_format as check_format
    from warpworld.runs.pretrained.resolving import is_pretrained as is_pretrained
    from warpworld.runs.pretrained.resolving import resolved_run as resolved_run
    from warpworld.runs.pretrained.spaces import check_spaces as check_spaces
    from warpworld.runs.pretrained.spaces import described_spaces as described_spaces
else:
    __getattr__, __dir__ = lazy_names(__name__)
