"""A run's settings by dotted key; and as TensorBoard shows them: a page of text, and a row in its table."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from warpworld.config import RunConfig
from warpworld.runs.differences import flat

SETTINGS_TAG = "_hparams_/session_start_info"  # where TensorBoard's table of runs looks for settings


def by_key(config: RunConfig) -> dict[str, Any]:
    """The settings of a run by dotted key, without those of ``saving``, which change no result."""
    return {key: value for key, value in flat(config.to_dict()) if not key.startswith("saving.")}


def described(settings: Mapping[str, Any], text: str) -> Any:
    """The summary that a run's first event file begins with.

    Args:
        settings: by dotted key; what is no number, text or truth value is shown as JSON.
        text: the whole configuration as YAML, shown as a block of code.
    """
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData, SessionStartInfo
    from tensorboardX.proto.summary_pb2 import Summary
    from tensorboardX.proto.tensor_pb2 import TensorProto
    from tensorboardX.proto.types_pb2 import DT_FLOAT, DT_STRING

    # the configuration as text
    block = "".join(f"    {line}\n" for line in text.splitlines())
    config = TensorProto(dtype=DT_STRING, string_val=[block.encode()])
    # settings, as TensorBoard's table of runs reads them
    start = SessionStartInfo(start_time_secs=time.time())
    for key, value in settings.items():
        _set(start.hparams[key], value)
    row = HParamsPluginData(version=0, session_start_info=start).SerializeToString()
    nothing = TensorProto(dtype=DT_FLOAT, float_val=[0.0])  # TensorBoard drops summaries without a value
    return Summary(
        value=[
            Summary.Value(tag="config", metadata=_of_plugin("text", b""), tensor=config),
            Summary.Value(tag=SETTINGS_TAG, metadata=_of_plugin("hparams", row), tensor=nothing),
        ]
    )


def _of_plugin(name: str, content: bytes) -> Any:
    """Metadata by which one of TensorBoard's plugins finds a summary."""
    from tensorboardX.proto.summary_pb2 import SummaryMetadata

    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=content))


def _set(target: Any, value: Any) -> None:
    """Write a setting into a protobuf value."""
    if isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, (int, float)):
        target.number_value = value
    else:
        target.string_value = value if isinstance(value, str) else json.dumps(value)
