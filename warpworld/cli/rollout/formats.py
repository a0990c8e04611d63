"""Episodes as files: NumPy's npz, Parquet, and data sets of Minari."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from warpworld.environment import Group
from warpworld.trainers.from_python import Episode
from warpworld.trainers.from_python.episode_arrays import KINDS, arrays_of_group, npz_of

Writer = Callable[[Sequence[Episode], Sequence[Group], Mapping[str, Any], Path], str]


# ---- npz -------------------------------------------------------------------------------------------------------------
def write_npz(episodes: Sequence[Episode], groups: Sequence[Group], about: Mapping[str, Any], target: Path) -> str:
    """Write one file of all episodes, see ``npz_of``."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(npz_of(episodes, groups, about))
    return f"numpy.load({str(target)!r})"


# ---- Parquet ---------------------------------------------------------------------------------------------------------
def write_parquet(episodes: Sequence[Episode], groups: Sequence[Group], about: Mapping[str, Any], target: Path) -> str:
    """Write one file for each group, with a row for each agent and step.

    The last row of an agent's episode has its last observation, and nothing else. Arrays of several numbers lie flat in
    lists; the schema's metadata has ``about`` and their shapes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    target.mkdir(parents=True)
    for group in groups:
        parts = [arrays_of_group(episode, group.name) for episode in episodes]
        shapes = {path: list(array.shape[2:]) for path, array in parts[0].items()}
        steps = [np.arange(len(episode) + 1) for episode in episodes]
        columns: dict[str, Any] = {
            "episode": np.repeat(np.arange(len(episodes)), [len(each) * group.size for each in steps]),
            "step": np.concatenate([np.repeat(each, group.size) for each in steps]),
            "agent": np.concatenate([np.tile(np.arange(group.size), len(each)) for each in steps]),
        }
        for path in parts[0]:
            arrays = [part[path] for part in parts]
            columns[path] = _column([array.reshape(*array.shape[:2], -1) for array in arrays], steps, shapes[path])
        described = {"about": json.dumps(about), "shapes": json.dumps(shapes)}
        pq.write_table(pa.table(columns).replace_schema_metadata(described), target / f"{group.name}.parquet")
    return f"pyarrow.parquet.read_table({str(target / f'{groups[0].name}.parquet')!r})"


def _column(arrays: Sequence[np.ndarray], steps: Sequence[np.ndarray], shape: Sequence[int]) -> Any:
    """A column of the rows of all steps; nothing where an array has no row for an episode's last."""
    import pyarrow as pa

    rows: list[Any] = []
    for array, of_episode in zip(arrays, steps, strict=True):
        own = array.reshape(-1, array.shape[-1])
        missing = len(of_episode) * array.shape[1] - len(own)
        rows += (own.tolist() if shape else own[:, 0].tolist()) + [None] * missing
    kind = pa.from_numpy_dtype(arrays[0].dtype)
    return pa.array(rows, pa.list_(kind) if shape else kind)


# ---- Minari ----------------------------------------------------------------------------------------------------------
def write_minari(episodes: Sequence[Episode], groups: Sequence[Group], about: Mapping[str, Any], target: Path) -> str:
    """Write a data set of Minari, whose form has one agent, for several.

    Spaces are a Dict of groups, and in it the batched space of the group's agents: (size, *shape). Minari's reward is
    the sum over all agents, its ends are those of the env. What each agent has lies in ``infos`` by kind and group:
    rewards, terminated, truncated, agent_mask and action_mask, with one entry of zeros in front, since Minari's infos
    begin with those of a reset.
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", str(about["environment"]))
    identity = f"warpworld/{name}/rollout-v0"
    with mock.patch.dict(os.environ, MINARI_DATASETS_PATH=str(target.absolute())), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # asks for authors, and for an environment of Gymnasium's
        import minari
        from minari.data_collector import EpisodeBuffer

        minari.create_dataset_from_buffers(
            identity,
            [EpisodeBuffer(id=i, **_minari_parts(episode, groups)) for i, episode in enumerate(episodes)],
            action_space=spaces.Dict({group.name: batch_space(group.callers_action, group.size) for group in groups}),
            observation_space=spaces.Dict({group.name: batch_space(group.observation, group.size) for group in groups}),
            algorithm_name="warpworld",
            description=json.dumps(about),
            requirements=[],
            jpeg_encoding=False,
        )
    return f"MINARI_DATASETS_PATH={target} python -c \"import minari; minari.load_dataset('{identity}')\""


def _minari_parts(episode: Episode, groups: Sequence[Group]) -> dict[str, Any]:
    """Arguments of an episode's buffer."""
    rewards = np.sum([episode.rewards[group.name].sum(1, dtype=np.float64) for group in groups], axis=0)
    kinds = {kind: getattr(episode, kind) for kind in KINDS[2:]}
    infos = {kind: {group: _from_reset(array) for group, array in kept.items()} for kind, kept in kinds.items() if kept}
    last = np.arange(len(episode)) == len(episode) - 1
    cut = all(episode.truncated[group.name][-1].all() for group in groups)
    return {
        "observations": dict(episode.observations),
        "actions": dict(episode.actions),
        "rewards": rewards.tolist(),
        "terminations": (last & (not cut)).tolist(),
        "truncations": (last & cut).tolist(),
        "infos": infos,
    }


def _from_reset(array: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros_like(array[:1]), array])


WRITERS: dict[str, Writer] = {"npz": write_npz, "parquet": write_parquet, "minari": write_minari}
