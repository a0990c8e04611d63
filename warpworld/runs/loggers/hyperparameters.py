"""A run's settings by dotted key; and as TensorBoard shows them: a page of text, and a row in its table."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from warpworld.config import RunConfig
from warpworld.runs.differences import flat


def by_key(config: RunConfig) -> dict[str, Any]:
    """The settings of a run by dotted key, without those of ``saving``, which change no result."""
    return {key: value for key, value in flat(config.to_dict()) if not key.startswith("saving.")}


def described(settings: Mapping[str, Any], text: str) -> Any:
    """The summary that a run's first event file begins with.

    Args:
        settings: by dotted key; what is no number, text or truth value is shown as JSON.
        text: the whole configuration as YAML, shown as a block of code.
    """
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.types_pb2 import DT_STRING
    from tensorboard.plugins.hparams import metadata
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionStartInfo
    from tensorboard.plugins.text.metadata import create_summary_metadata

    # the configuration as text
    block = "".join(f"    {line}\n" for line in text.splitlines())
    config = TensorProto(dtype=DT_STRING, string_val=[block.encode()])
    # settings, as TensorBoard's table of runs reads them
    start = SessionStartInfo(start_time_secs=time.time())
    for key, value in settings.items():
        _set(start.hparams[key], value)
    about = metadata.create_summary_metadata(HParamsPluginData(session_start_info=start))
    return Summary(
        value=[
            Summary.Value(tag="config", metadata=create_summary_metadata("config", ""), tensor=config),
            Summary.Value(tag=metadata.SESSION_START_INFO_TAG, metadata=about, tensor=metadata.NULL_TENSOR),
        ]
    )


def _set(target: Any, value: Any) -> None:
    """Write a setting into a protobuf value."""
    if isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, (int, float)):
        target.number_value = value
    else:
        target.string_value = value if isinstance(value, str) else json.dumps(value)
